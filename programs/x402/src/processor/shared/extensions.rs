//! The Token-2022 extensions that are accepted. All others are refused, including future ones.

/// The result of checking a list of extensions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Found {
    Allowed,
    Refused,
    Malformed,
}

const TRANSFER_HOOK: u16 = 14;

/// Walks the extensions behind the account type: two bytes of type, two of length, the value.
/// Type 0 ends them.
pub fn scan(trailer: &[u8], allows: impl Fn(u16, &[u8]) -> bool) -> Found {
    let mut rest = trailer;
    loop {
        let Some((kind, after)) = rest.split_first_chunk::<2>() else {
            let is_padding = rest.iter().all(|byte| *byte == 0);
            return if is_padding {
                Found::Allowed
            } else {
                Found::Malformed
            };
        };
        let kind = u16::from_le_bytes(*kind);
        if kind == 0 {
            return Found::Allowed;
        }
        let Some((length, after)) = after.split_first_chunk::<2>() else {
            return Found::Malformed;
        };
        let parts = after.split_at_checked(usize::from(u16::from_le_bytes(*length)));
        if !allows(kind, parts.map_or(&[], |(value, _)| value)) {
            return Found::Refused;
        }
        let Some((_, after)) = parts else {
            return Found::Malformed;
        };
        rest = after;
    }
}

/// For mints of tokens that the program holds: pointers and metadata only (18 MetadataPointer to 23
/// TokenGroupMember). All else can take, freeze, tax or block what stands in escrow.
pub fn mint_in_escrow(kind: u16, _value: &[u8]) -> bool {
    matches!(kind, 18..=23)
}

/// For token accounts that the program pays from or to: 7 ImmutableOwner, which associated token
/// accounts have.
pub fn account_in_escrow(kind: u16, _value: &[u8]) -> bool {
    kind == 7
}

/// For token accounts to which a transfer can be made without a memo or a proof: 2 TransferFeeAmount, 7
/// ImmutableOwner, 8 MemoTransfer while it is off, 11 CpiGuard, 15 TransferHookAccount, 27
/// PausableAccount.
pub fn account_takes(kind: u16, value: &[u8]) -> bool {
    match kind {
        2 | 7 | 11 | 15 | 27 => true,
        8 => value.first() == Some(&0),
        _ => false,
    }
}

/// As `mint_in_transfer`, and nothing of the mint stops or taxes a transfer at the moment: the fee of
/// 1 TransferFeeConfig is 0 in both epochs that it names, and 26 Pausable is not paused.
pub fn mint_in_transfer_now(kind: u16, value: &[u8]) -> bool {
    // authority and withdraw authority (64 bytes), withheld amount (8), then twice: epoch (8), largest
    // fee (8), basis points (2)
    let is_free = |at: usize| value.get(at..).and_then(|rest| rest.first_chunk()) == Some(&[0, 0]);
    let moves = match kind {
        1 => is_free(88) && is_free(106),
        26 => value.get(32) == Some(&0),
        _ => true,
    };
    moves && mint_in_transfer(kind, value)
}

/// For mints of tokens that only pass from one wallet to another. The transfer either moves exactly
/// the amount, which is measured, or fails; so what concerns custody does not matter here.
///
/// Taken: 1 TransferFeeConfig (with a fee of 0; more is FeeTaken), 3 MintCloseAuthority, 4
/// ConfidentialTransferMint, 6 DefaultAccountState, 10 InterestBearingConfig, 12 PermanentDelegate,
/// 16 ConfidentialTransferFeeConfig, 18 to 23 pointers and metadata, 25 ScaledUiAmount, 26 Pausable,
/// and 14 TransferHook as long as no program is set. Refused: 9 NonTransferable, a hook with a
/// program, and all others.
pub fn mint_in_transfer(kind: u16, value: &[u8]) -> bool {
    match kind {
        1 | 3 | 4 | 6 | 10 | 12 | 16 | 18..=23 | 25 | 26 => true,
        // authority (32 bytes), then the hook's program: zero is none
        TRANSFER_HOOK => value
            .get(32..64)
            .is_some_and(|program| program.iter().all(|byte| *byte == 0)),
        _ => false,
    }
}

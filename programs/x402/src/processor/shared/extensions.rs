//! The Token-2022 extensions that are accepted. All others are refused, including future ones.

/// The result of checking a list of extensions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Found {
    Allowed,
    Refused,
    Malformed,
}

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

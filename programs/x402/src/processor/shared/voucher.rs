//! Vouchers: 50 bytes that the Ed25519 program verified in the instruction directly before this one.
//!
//! ```text
//! Ed25519 instruction, 162 bytes          voucher, 50 bytes
//! +0   1 signature, 0                     +0   0x56 0x01
//! +2   offsets, seven u16                 +2   channel
//! +16  public key                         +34  cumulative amount, u64
//! +48  signature                          +42  expires at, i64; 0 never
//! +112 message
//! ```

use {
    crate::{checks::ensure, error::X402Error, state::Channel},
    pinocchio::{error::ProgramError, sysvars::instructions::Instructions, AccountView, Address},
};

// Ed25519SigVerify111111111111111111111111111
const ED25519_PROGRAM: Address = Address::new_from_array([
    0x03, 0x7d, 0x46, 0xd6, 0x7c, 0x93, 0xfb, 0xbe, 0x12, 0xf9, 0x42, 0x8f, 0x83, 0x8d, 0x40, 0xff,
    0x05, 0x70, 0x74, 0x49, 0x27, 0xf4, 0x8a, 0x64, 0xfc, 0xca, 0x70, 0x44, 0x80, 0x00, 0x00, 0x00,
]);

/// The first bytes of the instruction: one signature, whose key, signature and message are all in this
/// same instruction (index 0xffff), at exactly these offsets. With another layout, the verified bytes
/// could differ from those that are read below.
const HEAD: [u8; 16] = [
    1, 0, // one signature, padding
    48, 0, 0xff, 0xff, // signature: offset, instruction
    16, 0, 0xff, 0xff, // public key: offset, instruction
    112, 0, 50, 0, 0xff, 0xff, // message: offset, size, instruction
];
const MAGIC: [u8; 2] = [0x56, 0x01];

struct Voucher<'a> {
    signer: &'a [u8; 32],
    magic: &'a [u8; 2],
    channel: &'a [u8; 32],
    cumulative: u64,
    expires_at: i64,
}

impl<'a> Voucher<'a> {
    fn read(data: &'a [u8]) -> Option<Self> {
        let (head, rest) = data.split_first_chunk()?;
        let (signer, rest) = rest.split_first_chunk()?;
        let (_signature, rest) = rest.split_first_chunk::<64>()?;
        let (magic, rest) = rest.split_first_chunk()?;
        let (channel, rest) = rest.split_first_chunk()?;
        let (cumulative, rest) = rest.split_first_chunk()?;
        let (expires_at, rest) = rest.split_first_chunk()?;
        (*head == HEAD && rest.is_empty()).then(|| Self {
            signer,
            magic,
            channel,
            cumulative: u64::from_le_bytes(*cumulative),
            expires_at: i64::from_le_bytes(*expires_at),
        })
    }
}

/// The cumulative amount of the voucher in the instruction directly before this one. It must be for
/// this channel, by its signer, not expired, within the deposit, and higher than the settled sum.
pub fn verified(
    channel: &Channel,
    address: &Address,
    sysvar: &AccountView,
    now: i64,
) -> Result<u64, ProgramError> {
    let missing = X402Error::MissingEd25519Verification;
    let sysvar = Instructions::try_from(sysvar)?;
    let before = sysvar.load_current_index().checked_sub(1).ok_or(missing)?;
    let instruction = sysvar
        .load_instruction_at(usize::from(before))
        .map_err(|_| missing)?;
    ensure(instruction.get_program_id() == &ED25519_PROGRAM, missing)?;
    let voucher = Voucher::read(instruction.get_instruction_data())
        .ok_or(X402Error::MalformedEd25519Instruction)?;

    ensure(*voucher.magic == MAGIC, X402Error::VoucherBadMagic)?;
    ensure(
        voucher.channel == address.as_array(),
        X402Error::VoucherChannelMismatch,
    )?;
    ensure(
        voucher.expires_at == 0 || now < voucher.expires_at,
        X402Error::VoucherExpired,
    )?;
    ensure(
        voucher.cumulative <= channel.deposit.get(),
        X402Error::VoucherOverDeposit,
    )?;
    ensure(
        voucher.cumulative > channel.settled.get(),
        X402Error::VoucherWatermarkNotMonotonic,
    )?;
    ensure(
        voucher.signer == channel.authorized_signer.as_array(),
        X402Error::VoucherSignerMismatch,
    )?;
    Ok(voucher.cumulative)
}

// Rendered by idl2mcp from spec.py; edit the source. [8f166e765a443b2d]
//! Open a channel: put tokens in that vouchers of the authorized signer give to the payee bit
//! by bit.
//!
//! When to use: Before many small payments to one payee, so that each needs only a signed
//! voucher and no transaction.

use crate::codec::{Output, Reader};
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::{Check, X402Error};
use crate::state::Channel;
use crate::types::DistributionEntry;
use crate::{checks, processor};
use alloc::vec::Vec;
use pinocchio::cpi::{Seed, Signer};
use pinocchio::error::ProgramError;
use pinocchio::{AccountView, Address, ProgramResult};

// TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA
const TOKEN_PROGRAM_0: Address = Address::new_from_array([
    0x06, 0xdd, 0xf6, 0xe1, 0xd7, 0x65, 0xa1, 0x93, 0xd9, 0xcb, 0xe1, 0x46, 0xce, 0xeb, 0x79, 0xac,
    0x1c, 0xb4, 0x85, 0xed, 0x5f, 0x5b, 0x37, 0x91, 0x3a, 0x8c, 0xf5, 0x85, 0x7e, 0xff, 0x00, 0xa9,
]);

// TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb
const TOKEN_PROGRAM_1: Address = Address::new_from_array([
    0x06, 0xdd, 0xf6, 0xe1, 0xee, 0x75, 0x8f, 0xde, 0x18, 0x42, 0x5d, 0xbc, 0xe4, 0x6c, 0xcd, 0xda,
    0xb6, 0x1a, 0xfc, 0x4d, 0x83, 0xb9, 0x0d, 0x27, 0xfe, 0xbd, 0xf9, 0x28, 0xd8, 0xa1, 0x8b, 0xfc,
]);

// SysvarRent111111111111111111111111111111111
const RENT: Address = Address::new_from_array([
    0x06, 0xa7, 0xd5, 0x17, 0x19, 0x2c, 0x5c, 0x51, 0x21, 0x8c, 0xc9, 0x4c, 0x3d, 0x4a, 0xf1, 0x7f,
    0x58, 0xda, 0xee, 0x08, 0x9b, 0xa1, 0xfd, 0x44, 0xe3, 0xdb, 0xd9, 0x8a, 0x00, 0x00, 0x00, 0x00,
]);

// ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL
const ASSOCIATED_TOKEN_PROGRAM: Address = Address::new_from_array([
    0x8c, 0x97, 0x25, 0x8f, 0x4e, 0x24, 0x89, 0xf1, 0xbb, 0x3d, 0x10, 0x29, 0x14, 0x8e, 0x0d, 0x83,
    0x0b, 0x5a, 0x13, 0x99, 0xda, 0xff, 0x10, 0x84, 0x04, 0x8e, 0x7b, 0xd8, 0xdb, 0xe9, 0xf8, 0x59,
]);

// 8nQhkjXpoGbhdNGys4oBbMT926kyNa5SsDoxjWXWnicz
const SELF_PROGRAM: Address = Address::new_from_array([
    0x73, 0xa3, 0xbe, 0xdd, 0xbc, 0x78, 0x8f, 0x33, 0xbc, 0x04, 0xb8, 0xf3, 0x93, 0x1d, 0x76, 0xc8,
    0x01, 0xb2, 0x6c, 0xdc, 0x6f, 0x9a, 0xc2, 0xdf, 0x23, 0x33, 0xe0, 0x4c, 0xe3, 0xd2, 0x20, 0xc3,
]);

// ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL
const PAYER_TOKEN_ACCOUNT_SEEDS_PROGRAM: Address = Address::new_from_array([
    0x8c, 0x97, 0x25, 0x8f, 0x4e, 0x24, 0x89, 0xf1, 0xbb, 0x3d, 0x10, 0x29, 0x14, 0x8e, 0x0d, 0x83,
    0x0b, 0x5a, 0x13, 0x99, 0xda, 0xff, 0x10, 0x84, 0x04, 0x8e, 0x7b, 0xd8, 0xdb, 0xe9, 0xf8, 0x59,
]);

// ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL
const CHANNEL_TOKEN_ACCOUNT_SEEDS_PROGRAM: Address = Address::new_from_array([
    0x8c, 0x97, 0x25, 0x8f, 0x4e, 0x24, 0x89, 0xf1, 0xbb, 0x3d, 0x10, 0x29, 0x14, 0x8e, 0x0d, 0x83,
    0x0b, 0x5a, 0x13, 0x99, 0xda, 0xff, 0x10, 0x84, 0x04, 0x8e, 0x7b, 0xd8, 0xdb, 0xe9, 0xf8, 0x59,
]);

/// Data expected by this instruction:
///
/// 0. salt: u64 Any number; another one gives another channel of the same parties.
/// 1. deposit: u64 How many tokens.
/// 2. grace_period: u32 How long the payee has for a last voucher after the payer asks to close.
/// 3. open_slot: u64 A recent slot, not in the future.
/// 4. recipients: Vec\<DistributionEntry\> Who gets parts of what the payee earns; empty gives the
///    payee all.
pub struct Args {
    /// Any number; another one gives another channel of the same parties.
    pub salt: u64,
    /// How many tokens.
    pub deposit: u64,
    /// How long the payee has for a last voucher after the payer asks to close.
    pub grace_period: u32,
    /// A recent slot, not in the future.
    pub open_slot: u64,
    /// Who gets parts of what the payee earns; empty gives the payee all.
    pub recipients: Vec<DistributionEntry>,
}

impl Args {
    /// The arguments in instruction data that has all of them and nothing else.
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        let r = &mut Reader::new(data);
        let salt = u64::from_le_bytes(*r.array()?);
        let deposit = u64::from_le_bytes(*r.array()?);
        let grace_period = u32::from_le_bytes(*r.array()?);
        let open_slot = u64::from_le_bytes(*r.array()?);
        let recipients = {
            let count = r.length::<4>()?;
            r.list(count, 34, DistributionEntry::decode)?
        };
        r.end()?;
        Ok(Self {
            salt,
            deposit,
            grace_period,
            open_slot,
            recipients,
        })
    }

    /// The arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&self.salt.to_le_bytes())?;
        w.put(&self.deposit.to_le_bytes())?;
        w.put(&self.grace_period.to_le_bytes())?;
        w.put(&self.open_slot.to_le_bytes())?;
        w.length::<4>(self.recipients.len())?;
        for item in self.recipients.iter() {
            item.encode(w)?;
        }
        Ok(())
    }
}

/// Accounts expected by this instruction:
///
/// 0. `[writable, signer]` payer Who puts the tokens in.
/// 1. `[writable, signer]` rent_payer Who pays for the accounts; may be the payer.
/// 2. `[]` payee Who gets what the entries leave.
/// 3. `[]` mint The mint of the tokens.
/// 4. `[]` authorized_signer Whose Ed25519 signature makes a voucher.
/// 5. `[writable]` channel The new channel.
/// 6. `[writable]` payer_token_account The payer's associated token account.
/// 7. `[writable]` channel_token_account The channel's associated token account; it is created.
/// 8. `[]` token_program
/// 9. `[]` system_program
/// 10. `[]` rent
/// 11. `[]` associated_token_program
/// 12. `[]` event_authority
/// 13. `[]` self_program
pub struct Accounts<'a> {
    /// This program.
    pub program_id: &'a Address,
    /// Who puts the tokens in.
    pub payer: &'a mut AccountView,
    /// Who pays for the accounts; may be the payer.
    pub rent_payer: &'a mut AccountView,
    /// Who gets what the entries leave.
    pub payee: &'a AccountView,
    /// The mint of the tokens.
    pub mint: &'a AccountView,
    /// Whose Ed25519 signature makes a voucher.
    pub authorized_signer: &'a AccountView,
    /// The new channel.
    pub channel: &'a mut AccountView,
    /// The payer's associated token account.
    pub payer_token_account: &'a mut AccountView,
    /// The channel's associated token account; it is created.
    pub channel_token_account: &'a mut AccountView,
    pub token_program: &'a AccountView,
    pub system_program: &'a AccountView,
    pub rent: &'a AccountView,
    pub associated_token_program: &'a AccountView,
    pub event_authority: &'a AccountView,
    pub self_program: &'a AccountView,
    /// The bump of channel's address.
    pub channel_bump: u8,
    /// A seed of channel.
    pub channel_seed_5: [u8; 8],
    /// A seed of channel.
    pub channel_seed_6: [u8; 8],
    /// The bump of event_authority's address.
    pub event_authority_bump: u8,
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, and creates those that are to be created. The cheapest checks come
    /// first, and nothing is changed before all of them hold.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
        args: &Args,
    ) -> Result<Self, ProgramError> {
        let [payer, rent_payer, payee, mint, authorized_signer, channel, payer_token_account, channel_token_account, token_program, system_program, rent, associated_token_program, event_authority, self_program, ..] =
            accounts
        else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::signer_or(payer, X402Error::MissingRequiredSignature)?;
        checks::writable(payer)?;
        checks::signer_or(rent_payer, X402Error::MissingRequiredSignature)?;
        checks::writable(rent_payer)?;
        checks::writable(channel)?;
        checks::writable(payer_token_account)?;
        checks::writable(channel_token_account)?;
        checks::one_of(
            token_program.address(),
            &[&TOKEN_PROGRAM_0, &TOKEN_PROGRAM_1],
            X402Error::InvalidMintTokenProgram,
        )?;
        checks::equal(
            system_program.address(),
            &checks::SYSTEM_PROGRAM,
            Check::InvalidProgramId,
        )?;
        checks::equal(rent.address(), &RENT, Check::AccountSysvarMismatch)?;
        checks::equal(
            associated_token_program.address(),
            &ASSOCIATED_TOKEN_PROGRAM,
            Check::InvalidProgramId,
        )?;
        checks::equal(
            self_program.address(),
            &SELF_PROGRAM,
            Check::InvalidProgramId,
        )?;
        let channel_seed_5 = args.salt.to_le_bytes();
        let channel_seed_6 = args.open_slot.to_le_bytes();
        let channel_bump = checks::found(
            channel,
            &[
                b"channel".as_slice(),
                payer.address().as_ref(),
                payee.address().as_ref(),
                mint.address().as_ref(),
                authorized_signer.address().as_ref(),
                channel_seed_5.as_slice(),
                channel_seed_6.as_slice(),
            ],
            program_id,
            X402Error::ChannelAddressMismatch,
        )?;
        checks::found(
            payer_token_account,
            &[
                payer.address().as_ref(),
                token_program.address().as_ref(),
                mint.address().as_ref(),
            ],
            &PAYER_TOKEN_ACCOUNT_SEEDS_PROGRAM,
            X402Error::PayerAccountMismatch,
        )?;
        checks::found(
            channel_token_account,
            &[
                channel.address().as_ref(),
                token_program.address().as_ref(),
                mint.address().as_ref(),
            ],
            &CHANNEL_TOKEN_ACCOUNT_SEEDS_PROGRAM,
            X402Error::ChannelAccountMismatch,
        )?;
        let event_authority_bump = checks::found(
            event_authority,
            &[b"event_authority".as_slice()],
            program_id,
            X402Error::InvalidEventAuthority,
        )?;

        // channel: created, paid by rent_payer
        checks::Create {
            account: channel,
            payer: rent_payer,
            space: Channel::LEN,
            owner: program_id,
            signers: &[Signer::from(&[
                Seed::from(b"channel".as_slice()),
                Seed::from(payer.address().as_ref()),
                Seed::from(payee.address().as_ref()),
                Seed::from(mint.address().as_ref()),
                Seed::from(authorized_signer.address().as_ref()),
                Seed::from(channel_seed_5.as_slice()),
                Seed::from(channel_seed_6.as_slice()),
                Seed::from(core::slice::from_ref(&channel_bump)),
            ])],
        }
        .invoke()?;
        Channel::create(&mut channel.try_borrow_mut()?)?.bump = channel_bump;

        Ok(Self {
            program_id,
            payer,
            rent_payer,
            payee,
            mint,
            authorized_signer,
            channel,
            payer_token_account,
            channel_token_account,
            token_program,
            system_program,
            rent,
            associated_token_program,
            event_authority,
            self_program,
            channel_bump,
            channel_seed_5,
            channel_seed_6,
            event_authority_bump,
        })
    }

    /// The seeds of `channel`, to sign for it.
    #[inline(always)]
    pub fn channel_seeds(&self) -> [Seed<'_>; 8] {
        [
            Seed::from(b"channel".as_slice()),
            Seed::from(self.payer.address().as_ref()),
            Seed::from(self.payee.address().as_ref()),
            Seed::from(self.mint.address().as_ref()),
            Seed::from(self.authorized_signer.address().as_ref()),
            Seed::from(self.channel_seed_5.as_slice()),
            Seed::from(self.channel_seed_6.as_slice()),
            Seed::from(core::slice::from_ref(&self.channel_bump)),
        ]
    }

    /// The seeds of `event_authority`, to sign for it.
    #[inline(always)]
    pub fn event_authority_seeds(&self) -> [Seed<'_>; 2] {
        [
            Seed::from(b"event_authority".as_slice()),
            Seed::from(core::slice::from_ref(&self.event_authority_bump)),
        ]
    }
}

/// `run`, as the entry wants it: what goes in and comes out stands in registers.
#[inline(never)]
pub fn dispatch(accounts: &mut [AccountView], call: Call<1>) -> u64 {
    let (program_id, arguments) = call.parts();
    exit_code(run(Context {
        program_id,
        accounts,
        arguments,
    }))
}

/// Decodes and checks, then lets the handler work.
#[inline(always)]
fn run(context: Context) -> ProgramResult {
    let Context {
        program_id,
        accounts,
        arguments,
    } = context;
    let args = Args::decode(arguments)?;
    let mut accounts = Accounts::validate(program_id, accounts, &args)?;
    processor::open::process(&mut accounts, &args)?;
    Ok(())
}

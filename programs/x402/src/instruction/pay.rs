// Rendered by idl2mcp from spec.py; edit the source. [44cb67c96508d71c]
//! Pay for one call, and leave a receipt: the same payment id is never paid twice.
//!
//! When to use: For one payment of a known amount; put it into the same transaction as the
//! call that it pays for, or show the receipt. A repeated call fails with AlreadyPaid and
//! moves nothing.

use crate::codec::{Output, Reader};
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::{Check, X402Error};
use crate::{checks, processor};
use pinocchio::cpi::Seed;
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

// ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL
const DESTINATION_SEEDS_PROGRAM: Address = Address::new_from_array([
    0x8c, 0x97, 0x25, 0x8f, 0x4e, 0x24, 0x89, 0xf1, 0xbb, 0x3d, 0x10, 0x29, 0x14, 0x8e, 0x0d, 0x83,
    0x0b, 0x5a, 0x13, 0x99, 0xda, 0xff, 0x10, 0x84, 0x04, 0x8e, 0x7b, 0xd8, 0xdb, 0xe9, 0xf8, 0x59,
]);

/// Data expected by this instruction:
///
/// 0. payment_id: \[u8; 32\] The payment's id; its first 8 bytes are expires_at, big-endian.
/// 1. call_hash: \[u8; 32\] Hash of the resource or the tool call.
/// 2. amount: u64 How many tokens.
/// 3. expires_at: i64 From then on the payment cannot be made; at most 30 days away.
pub struct Args<'a> {
    /// The payment's id; its first 8 bytes are expires_at, big-endian.
    pub payment_id: &'a [u8; 32],
    /// Hash of the resource or the tool call.
    pub call_hash: &'a [u8; 32],
    /// How many tokens.
    pub amount: u64,
    /// From then on the payment cannot be made; at most 30 days away.
    pub expires_at: i64,
}

impl<'a> Args<'a> {
    /// The arguments in instruction data that has all of them and nothing else.
    #[inline(always)]
    pub fn decode(data: &'a [u8]) -> Result<Self, ProgramError> {
        if data.len() != 80 {
            return Err(Check::InstructionDidNotDeserialize.into());
        }
        let r = &mut Reader::new(data);
        let payment_id = r.array()?;
        let call_hash = r.array()?;
        let amount = u64::from_le_bytes(*r.array()?);
        let expires_at = i64::from_le_bytes(*r.array()?);
        Ok(Self {
            payment_id,
            call_hash,
            amount,
            expires_at,
        })
    }

    /// The arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.payment_id.as_slice())?;
        w.put(self.call_hash.as_slice())?;
        w.put(&self.amount.to_le_bytes())?;
        w.put(&self.expires_at.to_le_bytes())?;
        Ok(())
    }
}

/// Accounts expected by this instruction:
///
/// 0. `[signer]` authority The owner of the source, or its delegate.
/// 1. `[writable, signer]` rent_payer Who pays for the receipt; gets it back when the receipt is closed.
/// 2. `[]` payer The owner of the source.
/// 3. `[]` payee The wallet that is paid.
/// 4. `[]` mint The mint of the tokens.
/// 5. `[writable]` source The token account that pays.
/// 6. `[writable]` destination The payee's associated token account, which must exist.
/// 7. `[writable]` receipt The new receipt.
/// 8. `[]` token_program
/// 9. `[]` system_program
pub struct Accounts<'a> {
    /// This program.
    pub program_id: &'a Address,
    /// The owner of the source, or its delegate.
    pub authority: &'a AccountView,
    /// Who pays for the receipt; gets it back when the receipt is closed.
    pub rent_payer: &'a mut AccountView,
    /// The owner of the source.
    pub payer: &'a AccountView,
    /// The wallet that is paid.
    pub payee: &'a AccountView,
    /// The mint of the tokens.
    pub mint: &'a AccountView,
    /// The token account that pays.
    pub source: &'a mut AccountView,
    /// The payee's associated token account, which must exist.
    pub destination: &'a mut AccountView,
    /// The new receipt.
    pub receipt: &'a mut AccountView,
    pub token_program: &'a AccountView,
    pub system_program: &'a AccountView,
    /// The bump of receipt's address.
    pub receipt_bump: u8,
    /// A seed of receipt.
    pub receipt_seed_3: [u8; 32],
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, and creates those that are to be created. The cheapest checks come
    /// first, and nothing is changed before all of them hold.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
        args: &Args<'a>,
    ) -> Result<Self, ProgramError> {
        let [authority, rent_payer, payer, payee, mint, source, destination, receipt, token_program, system_program, ..] =
            accounts
        else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::signer(authority)?;
        checks::signer(rent_payer)?;
        checks::writable(rent_payer)?;
        checks::writable(source)?;
        checks::writable(destination)?;
        checks::writable(receipt)?;
        checks::one_of(
            token_program.address(),
            &[&TOKEN_PROGRAM_0, &TOKEN_PROGRAM_1],
            X402Error::WrongTokenProgram,
        )?;
        checks::equal(
            system_program.address(),
            &checks::SYSTEM_PROGRAM,
            Check::InvalidProgramId,
        )?;
        checks::different(source, destination)?;
        checks::mint_account(mint, None, None, Some(token_program.address()))?;
        checks::token_account(
            source,
            Some(mint.address()),
            Some(payer.address()),
            Some(token_program.address()),
        )?;
        checks::token_account(
            destination,
            Some(mint.address()),
            Some(payee.address()),
            Some(token_program.address()),
        )?;
        checks::found(
            destination,
            &[
                payee.address().as_ref(),
                token_program.address().as_ref(),
                mint.address().as_ref(),
            ],
            &DESTINATION_SEEDS_PROGRAM,
            Check::ConstraintAssociated,
        )?;
        let receipt_seed_3 = *args.payment_id;
        let receipt_bump = checks::found(
            receipt,
            &[
                b"receipt".as_slice(),
                payer.address().as_ref(),
                payee.address().as_ref(),
                receipt_seed_3.as_slice(),
            ],
            program_id,
            X402Error::ReceiptAddressMismatch,
        )?;

        Ok(Self {
            program_id,
            authority,
            rent_payer,
            payer,
            payee,
            mint,
            source,
            destination,
            receipt,
            token_program,
            system_program,
            receipt_bump,
            receipt_seed_3,
        })
    }

    /// The seeds of `receipt`, to sign for it.
    #[inline(always)]
    pub fn receipt_seeds(&self) -> [Seed<'_>; 5] {
        [
            Seed::from(b"receipt".as_slice()),
            Seed::from(self.payer.address().as_ref()),
            Seed::from(self.payee.address().as_ref()),
            Seed::from(self.receipt_seed_3.as_slice()),
            Seed::from(core::slice::from_ref(&self.receipt_bump)),
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
    processor::pay::process(&mut accounts, &args)?;
    Ok(())
}

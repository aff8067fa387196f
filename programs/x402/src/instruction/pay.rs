// Rendered by idl2mcp from spec.py; edit the source. [251364893d3fff83]
//! Pay for one call and leave a receipt. A payment id is never paid twice.
//!
//! When to use: For one payment of a known amount. Put it into the transaction of the call
//! that it pays for, or show the receipt. A repeated call fails with AlreadyPaid and moves no
//! tokens.

use {
    crate::{
        checks,
        codec::{Output, Reader},
        entrypoint::{exit_code, Call},
        error::{Check, X402Error},
        ids, processor,
    },
    pinocchio::{cpi::Seed, error::ProgramError, AccountView, Address, ProgramResult},
};

pub struct Args<'a> {
    /// The payment's id. Its first 8 bytes are expires_at, big-endian.
    pub payment_id: &'a [u8; 32],
    /// Hash of the resource or the tool call.
    pub call_hash: &'a [u8; 32],
    /// Number of tokens.
    pub amount: u64,
    /// The time from which the payment is refused; at most 30 days away.
    pub expires_at: i64,
}

impl<'a> Args<'a> {
    #[inline(always)]
    pub fn decode(data: &'a [u8]) -> Result<Self, ProgramError> {
        checks::ensure(data.len() == 80, Check::InstructionDidNotDeserialize)?;
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

    /// Writes the arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.payment_id.as_slice())?;
        w.put(self.call_hash.as_slice())?;
        w.put(&self.amount.to_le_bytes())?;
        w.put(&self.expires_at.to_le_bytes())?;
        Ok(())
    }
}

pub struct Accounts<'a> {
    pub program_id: &'a Address,
    /// The owner of the source, or its delegate.
    pub authority: &'a AccountView,
    /// The wallet that pays for the receipt. It gets the rent back when the receipt is closed.
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
    pub receipt_seed_4: [u8; 32],
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, the cheapest checks first.
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
            &[&ids::TOKEN_PROGRAM, &ids::TOKEN_2022_PROGRAM],
            X402Error::WrongTokenProgram,
        )?;
        checks::equal(
            system_program.address(),
            &ids::SYSTEM_PROGRAM,
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
            &ids::ASSOCIATED_TOKEN_PROGRAM,
            Check::ConstraintAssociated,
        )?;
        let receipt_seed_4 = *args.payment_id;
        let receipt_bump = checks::found(
            receipt,
            &[
                b"receipt".as_slice(),
                payer.address().as_ref(),
                payee.address().as_ref(),
                mint.address().as_ref(),
                receipt_seed_4.as_slice(),
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
            receipt_seed_4,
        })
    }

    /// The seeds of `receipt`, to sign for it.
    #[inline(always)]
    pub fn receipt_seeds(&self) -> [Seed<'_>; 6] {
        [
            Seed::from(b"receipt".as_slice()),
            Seed::from(self.payer.address().as_ref()),
            Seed::from(self.payee.address().as_ref()),
            Seed::from(self.mint.address().as_ref()),
            Seed::from(self.receipt_seed_4.as_slice()),
            Seed::from(core::slice::from_ref(&self.receipt_bump)),
        ]
    }
}

/// Runs the instruction. Returns the exit code.
#[inline(never)]
pub fn dispatch(accounts: &mut [AccountView], call: Call<1>) -> u64 {
    exit_code(run(accounts, call))
}

/// Decodes and checks, then calls the handler.
#[inline]
fn run(accounts: &mut [AccountView], call: Call<1>) -> ProgramResult {
    let (program_id, arguments) = call.parts();
    let args = Args::decode(arguments)?;
    let mut accounts = Accounts::validate(program_id, accounts, &args)?;
    processor::pay::process(&mut accounts, &args)
}

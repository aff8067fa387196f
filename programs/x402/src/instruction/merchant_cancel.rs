// Rendered by idl2mcp from spec.py; edit the source. [bca6de5f27bfe9a1]
//! Cancel a subscription as its merchant, and refund the unused part of the paid period. If
//! the subscriber's
//! account cannot take a refund, the subscriber keeps the paid time instead.

use {
    crate::{
        checks,
        codec::Output,
        entrypoint::{exit_code, Call},
        error::{Check, X402Error},
        ids, processor,
        state::Subscription,
    },
    pinocchio::{cpi::Seed, error::ProgramError, AccountView, Address, ProgramResult},
};

pub struct Args {}

impl Args {
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        checks::ensure(data.is_empty(), Check::InstructionDidNotDeserialize)?;
        Ok(Self {})
    }

    /// Writes the arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&[])
    }
}

pub struct Accounts<'a> {
    pub program_id: &'a Address,
    /// The subscription.
    pub subscription: &'a mut AccountView,
    /// The merchant.
    pub merchant: &'a AccountView,
    pub subscriber: &'a AccountView,
    pub mint: &'a AccountView,
    /// The merchant's associated token account.
    pub source: &'a mut AccountView,
    /// The subscriber's associated token account.
    pub destination: &'a mut AccountView,
    pub delegate: &'a AccountView,
    pub token_program: &'a AccountView,
    /// The bump of delegate's address.
    pub delegate_bump: u8,
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, the cheapest checks first.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
    ) -> Result<Self, ProgramError> {
        let [subscription, merchant, subscriber, mint, source, destination, delegate, token_program, ..] =
            accounts
        else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(subscription)?;
        checks::signer(merchant)?;
        checks::writable(source)?;
        checks::writable(destination)?;
        checks::one_of(
            token_program.address(),
            &[&ids::TOKEN_PROGRAM, &ids::TOKEN_2022_PROGRAM],
            X402Error::WrongTokenProgram,
        )?;
        // subscription: its state, and what its fields must equal
        checks::state(subscription, program_id)?;
        {
            let data = checks::data(subscription)?;
            let state = Subscription::load(data)?;
            checks::equal(
                &state.subscriber,
                subscriber.address(),
                X402Error::NotSubscriber,
            )?;
            checks::equal(&state.merchant, merchant.address(), X402Error::NotMerchant)?;
            checks::equal(&state.mint, mint.address(), X402Error::SubscriptionMismatch)?;
        }
        checks::found(
            source,
            &[
                merchant.address().as_ref(),
                token_program.address().as_ref(),
                mint.address().as_ref(),
            ],
            &ids::ASSOCIATED_TOKEN_PROGRAM,
            Check::ConstraintSeeds,
        )?;
        checks::found(
            destination,
            &[
                subscriber.address().as_ref(),
                token_program.address().as_ref(),
                mint.address().as_ref(),
            ],
            &ids::ASSOCIATED_TOKEN_PROGRAM,
            Check::ConstraintSeeds,
        )?;
        let delegate_bump = checks::found(
            delegate,
            &[b"delegate".as_slice(), subscriber.address().as_ref()],
            program_id,
            Check::ConstraintSeeds,
        )?;

        Ok(Self {
            program_id,
            subscription,
            merchant,
            subscriber,
            mint,
            source,
            destination,
            delegate,
            token_program,
            delegate_bump,
        })
    }

    /// The seeds of `delegate`, to sign for it.
    #[inline(always)]
    pub fn delegate_seeds(&self) -> [Seed<'_>; 3] {
        [
            Seed::from(b"delegate".as_slice()),
            Seed::from(self.subscriber.address().as_ref()),
            Seed::from(core::slice::from_ref(&self.delegate_bump)),
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
    let mut accounts = Accounts::validate(program_id, accounts)?;
    processor::merchant_cancel::process(&mut accounts, &args)
}

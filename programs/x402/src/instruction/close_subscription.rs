// Rendered by idl2mcp from spec.py; edit the source. [c7b44243cb4c1741]
//! Close a cancelled or expired subscription after its paid time, and return its rent. Anyone
//! may call it. The
//! program's allowance for it is taken back first.

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
    /// The wallet that paid for it.
    pub rent_payer: &'a mut AccountView,
    /// The subscriber.
    pub subscriber: &'a AccountView,
    pub mint: &'a AccountView,
    /// The subscriber's associated token account.
    pub source: &'a mut AccountView,
    pub delegate: &'a AccountView,
    pub token_program: &'a AccountView,
    /// Other ended subscriptions of this subscriber and mint, in the order of their addresses.
    pub remaining: &'a mut [AccountView],
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
        let [subscription, rent_payer, subscriber, mint, source, delegate, token_program, rest @ ..] =
            accounts
        else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(subscription)?;
        checks::writable(rent_payer)?;
        checks::writable(source)?;
        checks::one_of(
            token_program.address(),
            &[&ids::TOKEN_PROGRAM, &ids::TOKEN_2022_PROGRAM],
            X402Error::WrongTokenProgram,
        )?;
        for account in rest.iter() {
            checks::state(account, program_id)?;
            {
                let data = checks::data(account)?;
                Subscription::load(data)?;
            }
        }
        // subscription: its state, and what its fields must equal
        checks::state(subscription, program_id)?;
        {
            let data = checks::data(subscription)?;
            let state = Subscription::load(data)?;
            checks::equal(
                &state.rent_payer,
                rent_payer.address(),
                X402Error::SubscriptionMismatch,
            )?;
            checks::equal(
                &state.subscriber,
                subscriber.address(),
                X402Error::NotSubscriber,
            )?;
            checks::equal(&state.mint, mint.address(), X402Error::SubscriptionMismatch)?;
        }
        checks::found(
            source,
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
            rent_payer,
            subscriber,
            mint,
            source,
            delegate,
            token_program,
            remaining: rest,
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
    processor::close_subscription::process(&mut accounts, &args)?;
    checks::close(accounts.subscription, accounts.rent_payer)?;
    Ok(())
}

// Rendered by idl2mcp from spec.py; edit the source. [3d05532e3d658e95]
//! Agree to another plan of the same merchant and mint, or to more periods of the same plan,
//! from the next
//! charge on.

use {
    crate::{
        checks,
        codec::{Output, Reader},
        entrypoint::{exit_code, Call},
        error::{Check, X402Error},
        ids, processor,
        state::{Plan, Subscription},
    },
    pinocchio::{cpi::Seed, error::ProgramError, AccountView, Address, ProgramResult},
};

pub struct Args {
    /// The agreed price. It must be the plan's.
    pub price: u64,
    /// The agreed period. It must be the plan's.
    pub period: u32,
    /// The agreed grace period. It must be the plan's.
    pub grace: u32,
    /// The most charges from now on.
    pub periods: u32,
}

impl Args {
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        checks::ensure(data.len() == 20, Check::InstructionDidNotDeserialize)?;
        let r = &mut Reader::new(data);
        let price = u64::from_le_bytes(*r.array()?);
        let period = u32::from_le_bytes(*r.array()?);
        let grace = u32::from_le_bytes(*r.array()?);
        let periods = u32::from_le_bytes(*r.array()?);
        Ok(Self {
            price,
            period,
            grace,
            periods,
        })
    }

    /// Writes the arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&self.price.to_le_bytes())?;
        w.put(&self.period.to_le_bytes())?;
        w.put(&self.grace.to_le_bytes())?;
        w.put(&self.periods.to_le_bytes())?;
        Ok(())
    }
}

pub struct Accounts<'a> {
    pub program_id: &'a Address,
    /// The subscription.
    pub subscription: &'a mut AccountView,
    /// The plan with the new terms.
    pub plan: &'a AccountView,
    /// The subscriber.
    pub subscriber: &'a AccountView,
    pub merchant: &'a AccountView,
    pub mint: &'a AccountView,
    pub source: &'a mut AccountView,
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
        let [subscription, plan, subscriber, merchant, mint, source, delegate, token_program, ..] =
            accounts
        else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(subscription)?;
        checks::signer(subscriber)?;
        checks::writable(source)?;
        checks::one_of(
            token_program.address(),
            &[&ids::TOKEN_PROGRAM, &ids::TOKEN_2022_PROGRAM],
            X402Error::WrongTokenProgram,
        )?;
        checks::different(subscription, source)?;
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
        // plan: its state, and what its fields must equal
        checks::state(plan, program_id)?;
        {
            let data = checks::data(plan)?;
            let state = Plan::load(data)?;
            checks::equal(&state.merchant, merchant.address(), X402Error::PlanMismatch)?;
            checks::equal(&state.mint, mint.address(), X402Error::PlanMismatch)?;
        }
        checks::mint_account(mint, None, None, Some(token_program.address()))?;
        checks::token_account(
            source,
            Some(mint.address()),
            Some(subscriber.address()),
            Some(token_program.address()),
        )?;
        checks::found(
            source,
            &[
                subscriber.address().as_ref(),
                token_program.address().as_ref(),
                mint.address().as_ref(),
            ],
            &ids::ASSOCIATED_TOKEN_PROGRAM,
            Check::ConstraintAssociated,
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
            plan,
            subscriber,
            merchant,
            mint,
            source,
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
    processor::change_plan::process(&mut accounts, &args)
}

// Rendered by idl2mcp from spec.py; edit the source. [d47a24f61097bad6]
//! Subscribe to a plan. Without a trial, the first period is charged at once. Later charges
//! can take no more
//! than the agreed number of periods.

use {
    crate::{
        checks,
        codec::{Output, Reader},
        entrypoint::{exit_code, Call},
        error::{Check, X402Error},
        ids, processor,
        state::{Plan, Subscription},
    },
    pinocchio::{
        cpi::{Seed, Signer},
        error::ProgramError,
        AccountView, Address, ProgramResult,
    },
};

pub struct Args {
    /// The agreed price. It must be the plan's.
    pub price: u64,
    /// The agreed period. It must be the plan's.
    pub period: u32,
    /// The agreed trial. It must be the plan's.
    pub trial: u32,
    /// The agreed grace period. It must be the plan's.
    pub grace: u32,
    /// The most charges.
    pub periods: u32,
}

impl Args {
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        checks::ensure(data.len() == 24, Check::InstructionDidNotDeserialize)?;
        let r = &mut Reader::new(data);
        let price = u64::from_le_bytes(*r.array()?);
        let period = u32::from_le_bytes(*r.array()?);
        let trial = u32::from_le_bytes(*r.array()?);
        let grace = u32::from_le_bytes(*r.array()?);
        let periods = u32::from_le_bytes(*r.array()?);
        Ok(Self {
            price,
            period,
            trial,
            grace,
            periods,
        })
    }

    /// Writes the arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&self.price.to_le_bytes())?;
        w.put(&self.period.to_le_bytes())?;
        w.put(&self.trial.to_le_bytes())?;
        w.put(&self.grace.to_le_bytes())?;
        w.put(&self.periods.to_le_bytes())?;
        Ok(())
    }
}

pub struct Accounts<'a> {
    pub program_id: &'a Address,
    /// The new subscription.
    pub subscription: &'a mut AccountView,
    /// The plan.
    pub plan: &'a AccountView,
    /// The wallet that pays.
    pub subscriber: &'a AccountView,
    /// The wallet that pays for the account; may be the subscriber.
    pub rent_payer: &'a mut AccountView,
    /// The plan's merchant.
    pub merchant: &'a AccountView,
    /// The plan's mint.
    pub mint: &'a AccountView,
    /// The subscriber's associated token account.
    pub source: &'a mut AccountView,
    /// The merchant's associated token account.
    pub destination: &'a mut AccountView,
    /// The program's delegate for this subscriber.
    pub delegate: &'a AccountView,
    pub token_program: &'a AccountView,
    pub system_program: &'a AccountView,
    /// The bump of subscription's address.
    pub subscription_bump: u8,
    /// The bump of delegate's address.
    pub delegate_bump: u8,
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, the cheapest checks first, then creates or resizes accounts.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
    ) -> Result<Self, ProgramError> {
        let [subscription, plan, subscriber, rent_payer, merchant, mint, source, destination, delegate, token_program, system_program, ..] =
            accounts
        else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(subscription)?;
        checks::signer(subscriber)?;
        checks::signer(rent_payer)?;
        checks::writable(rent_payer)?;
        checks::writable(source)?;
        checks::writable(destination)?;
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
        checks::different(subscription, source)?;
        checks::different(subscription, destination)?;
        checks::different(source, destination)?;
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
        checks::token_account(
            destination,
            Some(mint.address()),
            Some(merchant.address()),
            Some(token_program.address()),
        )?;
        let subscription_bump = checks::found(
            subscription,
            &[
                b"subscription".as_slice(),
                plan.address().as_ref(),
                subscriber.address().as_ref(),
            ],
            program_id,
            Check::ConstraintSeeds,
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
        checks::found(
            destination,
            &[
                merchant.address().as_ref(),
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

        // subscription: created, paid by rent_payer
        checks::Create {
            account: subscription,
            payer: rent_payer,
            space: Subscription::LEN,
            owner: program_id,
            signers: &[Signer::from(&[
                Seed::from(b"subscription".as_slice()),
                Seed::from(plan.address().as_ref()),
                Seed::from(subscriber.address().as_ref()),
                Seed::from(core::slice::from_ref(&subscription_bump)),
            ])],
        }
        .invoke()?;
        Subscription::create(&mut subscription.try_borrow_mut()?)?.bump = subscription_bump;

        Ok(Self {
            program_id,
            subscription,
            plan,
            subscriber,
            rent_payer,
            merchant,
            mint,
            source,
            destination,
            delegate,
            token_program,
            system_program,
            subscription_bump,
            delegate_bump,
        })
    }

    /// The seeds of `subscription`, to sign for it.
    #[inline(always)]
    pub fn subscription_seeds(&self) -> [Seed<'_>; 4] {
        [
            Seed::from(b"subscription".as_slice()),
            Seed::from(self.plan.address().as_ref()),
            Seed::from(self.subscriber.address().as_ref()),
            Seed::from(core::slice::from_ref(&self.subscription_bump)),
        ]
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
    processor::subscribe::process(&mut accounts, &args)
}

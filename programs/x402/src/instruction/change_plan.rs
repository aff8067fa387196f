// Rendered by idl2mcp from spec.py; edit the source. [e7e68a9354c2affe]
//! Agree to the terms of another plan of the same merchant, from the next charge on; or to
//! more periods of the
//! same plan.

use crate::codec::{Output, Reader};
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::{Check, X402Error};
use crate::state::{Plan, Subscription};
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
const SOURCE_SEEDS_PROGRAM: Address = Address::new_from_array([
    0x8c, 0x97, 0x25, 0x8f, 0x4e, 0x24, 0x89, 0xf1, 0xbb, 0x3d, 0x10, 0x29, 0x14, 0x8e, 0x0d, 0x83,
    0x0b, 0x5a, 0x13, 0x99, 0xda, 0xff, 0x10, 0x84, 0x04, 0x8e, 0x7b, 0xd8, 0xdb, 0xe9, 0xf8, 0x59,
]);

/// Data expected by this instruction:
///
/// 0. price: u64 The price that was agreed to; another one fails.
/// 1. period: u32 The period that was agreed to; another one fails.
/// 2. grace: u32 The grace period that was agreed to; another one fails.
/// 3. periods: u32 How many charges at most from now on.
pub struct Args {
    /// The price that was agreed to; another one fails.
    pub price: u64,
    /// The period that was agreed to; another one fails.
    pub period: u32,
    /// The grace period that was agreed to; another one fails.
    pub grace: u32,
    /// How many charges at most from now on.
    pub periods: u32,
}

impl Args {
    /// The arguments in instruction data that has all of them and nothing else.
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        if data.len() != 20 {
            return Err(Check::InstructionDidNotDeserialize.into());
        }
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

    /// The arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&self.price.to_le_bytes())?;
        w.put(&self.period.to_le_bytes())?;
        w.put(&self.grace.to_le_bytes())?;
        w.put(&self.periods.to_le_bytes())?;
        Ok(())
    }
}

/// Accounts expected by this instruction:
///
/// 0. `[writable]` subscription The subscription.
/// 1. `[]` plan The plan with the new terms.
/// 2. `[signer]` subscriber The subscriber.
/// 3. `[]` merchant
/// 4. `[]` mint
/// 5. `[writable]` source
/// 6. `[]` delegate
/// 7. `[]` token_program
pub struct Accounts<'a> {
    /// This program.
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
    /// Checks all accounts, and creates those that are to be created. The cheapest checks come
    /// first, and nothing is changed before all of them hold.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
        _args: &Args,
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
            &[&TOKEN_PROGRAM_0, &TOKEN_PROGRAM_1],
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
            &SOURCE_SEEDS_PROGRAM,
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
    processor::change_plan::process(&mut accounts, &args)?;
    Ok(())
}

// Rendered by idl2mcp from spec.py; edit the source. [118765be7797c4b6]
//! Give the rent of a subscription back that is cancelled or expired, once what is paid has
//! ended. Anyone may.

use crate::codec::Output;
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::{Check, X402Error};
use crate::state::Subscription;
use crate::{checks, processor};
use pinocchio::error::ProgramError;
use pinocchio::{AccountView, Address, ProgramResult};

/// This instruction expects no data.
pub struct Args {}

impl Args {
    /// The arguments in instruction data that has all of them and nothing else.
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        if !data.is_empty() {
            return Err(Check::InstructionDidNotDeserialize.into());
        }
        Ok(Self {})
    }

    /// The arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&[])
    }
}

/// Accounts expected by this instruction:
///
/// 0. `[writable]` subscription The subscription.
/// 1. `[writable]` rent_payer Who paid for it.
pub struct Accounts<'a> {
    /// This program.
    pub program_id: &'a Address,
    /// The subscription.
    pub subscription: &'a mut AccountView,
    /// Who paid for it.
    pub rent_payer: &'a mut AccountView,
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
        let [subscription, rent_payer, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(subscription)?;
        checks::writable(rent_payer)?;
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
        }

        Ok(Self {
            program_id,
            subscription,
            rent_payer,
        })
    }

    /// Closes what this instruction closes.
    #[inline(always)]
    fn finish(self) -> ProgramResult {
        checks::close(self.subscription, self.rent_payer)?;
        Ok(())
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
    processor::close_subscription::process(&mut accounts, &args)?;
    accounts.finish()
}

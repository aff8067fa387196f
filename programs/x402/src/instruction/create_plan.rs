// Rendered by idl2mcp from spec.py; edit the source. [25516bb040a13321]
//! Offer a plan that others can subscribe to.

use crate::codec::{Output, Reader};
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::{Check, X402Error};
use crate::state::Plan;
use crate::{checks, processor};
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

/// Data expected by this instruction:
///
/// 0. plan_id: u64 Any number; another one gives another plan.
/// 1. price: u64 Tokens for each period.
/// 2. period: u32 Length of a period.
/// 3. trial: u32 Time before the first charge; 0 charges at once.
/// 4. grace: u32 How long after it is due a charge can still be made.
/// 5. max_charges: u32 How many charges a subscriber can agree to at most.
pub struct Args {
    /// Any number; another one gives another plan.
    pub plan_id: u64,
    /// Tokens for each period.
    pub price: u64,
    /// Length of a period.
    pub period: u32,
    /// Time before the first charge; 0 charges at once.
    pub trial: u32,
    /// How long after it is due a charge can still be made.
    pub grace: u32,
    /// How many charges a subscriber can agree to at most.
    pub max_charges: u32,
}

impl Args {
    /// The arguments in instruction data that has all of them and nothing else.
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        if data.len() != 32 {
            return Err(Check::InstructionDidNotDeserialize.into());
        }
        let r = &mut Reader::new(data);
        let plan_id = u64::from_le_bytes(*r.array()?);
        let price = u64::from_le_bytes(*r.array()?);
        let period = u32::from_le_bytes(*r.array()?);
        let trial = u32::from_le_bytes(*r.array()?);
        let grace = u32::from_le_bytes(*r.array()?);
        let max_charges = u32::from_le_bytes(*r.array()?);
        Ok(Self {
            plan_id,
            price,
            period,
            trial,
            grace,
            max_charges,
        })
    }

    /// The arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&self.plan_id.to_le_bytes())?;
        w.put(&self.price.to_le_bytes())?;
        w.put(&self.period.to_le_bytes())?;
        w.put(&self.trial.to_le_bytes())?;
        w.put(&self.grace.to_le_bytes())?;
        w.put(&self.max_charges.to_le_bytes())?;
        Ok(())
    }
}

/// Accounts expected by this instruction:
///
/// 0. `[writable]` plan The new plan.
/// 1. `[writable, signer]` merchant Who is paid; pays the rent.
/// 2. `[]` mint The mint of the tokens.
/// 3. `[]` token_program
/// 4. `[]` system_program
pub struct Accounts<'a> {
    /// This program.
    pub program_id: &'a Address,
    /// The new plan.
    pub plan: &'a mut AccountView,
    /// Who is paid; pays the rent.
    pub merchant: &'a mut AccountView,
    /// The mint of the tokens.
    pub mint: &'a AccountView,
    pub token_program: &'a AccountView,
    pub system_program: &'a AccountView,
    /// The bump of plan's address.
    pub plan_bump: u8,
    /// A seed of plan.
    pub plan_seed_2: [u8; 8],
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
        let [plan, merchant, mint, token_program, system_program, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(plan)?;
        checks::signer(merchant)?;
        checks::writable(merchant)?;
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
        checks::mint_account(mint, None, None, Some(token_program.address()))?;
        let plan_seed_2 = args.plan_id.to_le_bytes();
        let plan_bump = checks::found(
            plan,
            &[
                b"plan".as_slice(),
                merchant.address().as_ref(),
                plan_seed_2.as_slice(),
            ],
            program_id,
            Check::ConstraintSeeds,
        )?;

        // plan: created, paid by merchant
        checks::Create {
            account: plan,
            payer: merchant,
            space: Plan::LEN,
            owner: program_id,
            signers: &[Signer::from(&[
                Seed::from(b"plan".as_slice()),
                Seed::from(merchant.address().as_ref()),
                Seed::from(plan_seed_2.as_slice()),
                Seed::from(core::slice::from_ref(&plan_bump)),
            ])],
        }
        .invoke()?;
        Plan::create(&mut plan.try_borrow_mut()?)?.bump = plan_bump;

        Ok(Self {
            program_id,
            plan,
            merchant,
            mint,
            token_program,
            system_program,
            plan_bump,
            plan_seed_2,
        })
    }

    /// The seeds of `plan`, to sign for it.
    #[inline(always)]
    pub fn plan_seeds(&self) -> [Seed<'_>; 4] {
        [
            Seed::from(b"plan".as_slice()),
            Seed::from(self.merchant.address().as_ref()),
            Seed::from(self.plan_seed_2.as_slice()),
            Seed::from(core::slice::from_ref(&self.plan_bump)),
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
    processor::create_plan::process(&mut accounts, &args)?;
    Ok(())
}

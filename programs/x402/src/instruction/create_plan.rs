// Rendered by idl2mcp from spec.py; edit the source. [6b0e16270c74e612]
//! Create a plan, to which others can subscribe.

use {
    crate::{
        checks,
        codec::{Output, Reader},
        entrypoint::{exit_code, Call},
        error::{Check, X402Error},
        ids, processor,
        state::Plan,
    },
    pinocchio::{
        cpi::{Seed, Signer},
        error::ProgramError,
        AccountView, Address, ProgramResult,
    },
};

pub struct Args {
    /// Any number. Another number gives another plan.
    pub plan_id: u64,
    /// Tokens for each period.
    pub price: u64,
    /// Length of a period.
    pub period: u32,
    /// Time before the first charge; 0 charges at once.
    pub trial: u32,
    /// Time after a charge is due within which it can still be made; no longer than the period.
    pub grace: u32,
    /// The most charges that a subscriber can agree to.
    pub max_charges: u32,
}

impl Args {
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        checks::ensure(data.len() == 32, Check::InstructionDidNotDeserialize)?;
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

    /// Writes the arguments as instruction data, without the discriminator.
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

pub struct Accounts<'a> {
    pub program_id: &'a Address,
    /// The new plan.
    pub plan: &'a mut AccountView,
    /// The wallet that is paid. It pays the rent.
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
    /// Checks all accounts, the cheapest checks first, then creates or resizes accounts.
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
            &[&ids::TOKEN_PROGRAM, &ids::TOKEN_2022_PROGRAM],
            X402Error::WrongTokenProgram,
        )?;
        checks::equal(
            system_program.address(),
            &ids::SYSTEM_PROGRAM,
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
    processor::create_plan::process(&mut accounts, &args)
}

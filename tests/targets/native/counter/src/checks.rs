// Rendered by idl2mcp from spec.py; edit the source. [996326e38236a286]
//! Checks of accounts. Each fails with the error that names the fault, and logs it.

use {
    crate::{error::Check, ids},
    solana_program::{
        account_info::AccountInfo,
        entrypoint::ProgramResult,
        instruction::{AccountMeta, Instruction},
        program::{invoke, invoke_signed},
        program_error::ProgramError,
        pubkey::{Pubkey as Address, MAX_SEED_LEN},
        rent::Rent,
        sysvar::Sysvar,
    },
};

/// Returns the error unless `condition` holds.
pub fn ensure<E: Into<ProgramError>>(condition: bool, otherwise: E) -> ProgramResult {
    if condition {
        Ok(())
    } else {
        Err(otherwise.into())
    }
}

pub fn signer(account: &AccountInfo) -> ProgramResult {
    ensure(account.is_signer, Check::AccountNotSigner)
}

pub fn writable(account: &AccountInfo) -> ProgramResult {
    ensure(account.is_writable, Check::ConstraintMut)
}

pub fn equal<E: Into<ProgramError>>(
    found: &Address,
    wanted: &Address,
    otherwise: E,
) -> ProgramResult {
    ensure(found == wanted, otherwise)
}

/// This program owns the account.
pub fn state(account: &AccountInfo, program_id: &Address) -> ProgramResult {
    if account.owner == program_id {
        return Ok(());
    }
    Err(wrong_owner(account))
}

/// The account does not exist yet. It may have lamports already.
pub fn is_new(account: &AccountInfo) -> bool {
    account.data_is_empty() && *account.owner == ids::SYSTEM_PROGRAM
}

fn wrong_owner(account: &AccountInfo) -> ProgramError {
    if is_new(account) {
        Check::AccountNotInitialized.into()
    } else {
        Check::AccountOwnedByWrongProgram.into()
    }
}

/// Is a seed longer than the SVM takes? It would stop the program without a name for the fault.
fn are_long(seeds: &[&[u8]]) -> bool {
    seeds.iter().any(|seed| seed.len() > MAX_SEED_LEN)
}

/// The account's address is derived from these seeds and this bump, which the program stored.
pub fn derived<const N: usize, E: Into<ProgramError>>(
    account: &AccountInfo,
    seeds: &[&[u8]; N],
    bump: u8,
    program_id: &Address,
    otherwise: E,
) -> ProgramResult {
    if are_long(seeds) {
        return Err(otherwise.into());
    }
    let bump = [bump];
    let mut all = seeds.to_vec();
    all.push(&bump);
    match Address::create_program_address(&all, program_id) {
        Ok(address) => equal(account.key, &address, otherwise),
        Err(_) => Err(otherwise.into()),
    }
}

/// The account's address is derived from these seeds. Returns the canonical bump.
pub fn found<const N: usize, E: Into<ProgramError>>(
    account: &AccountInfo,
    seeds: &[&[u8]; N],
    program: &Address,
    otherwise: E,
) -> Result<u8, ProgramError> {
    if are_long(seeds) {
        return Err(otherwise.into());
    }
    match Address::try_find_program_address(seeds, program) {
        Some((address, bump)) if *account.key == address => Ok(bump),
        _ => Err(otherwise.into()),
    }
}

fn call(program: &Address, accounts: Vec<AccountMeta>, data: Vec<u8>) -> Instruction {
    Instruction {
        program_id: *program,
        accounts,
        data,
    }
}

/// Joins the parts of instruction data.
fn parts(head: &[u8], rest: &[&[u8]]) -> Vec<u8> {
    let mut data = head.to_vec();
    rest.iter().for_each(|part| data.extend_from_slice(part));
    data
}

/// Creates an account with its rent, even if somebody sent lamports to its address before.
pub struct Create<'a, 'info> {
    pub account: &'a AccountInfo<'info>,
    pub payer: &'a AccountInfo<'info>,
    pub space: usize,
    pub owner: &'a Address,
    pub signers: &'a [&'a [&'a [u8]]],
}

impl Create<'_, '_> {
    pub fn invoke(self) -> ProgramResult {
        ensure(is_new(self.account), Check::AccountDiscriminatorAlreadySet)?;
        let (account, payer) = (self.account, self.payer);
        let space = (self.space as u64).to_le_bytes();
        let rent = Rent::get()?.minimum_balance(self.space);
        let owner = self.owner.to_bytes();
        let both = [payer.clone(), account.clone()];
        let metas = vec![
            AccountMeta::new(*payer.key, true),
            AccountMeta::new(*account.key, true),
        ];
        if account.lamports() == 0 {
            let data = parts(&0_u32.to_le_bytes(), &[&rent.to_le_bytes(), &space, &owner]);
            return invoke_signed(
                &call(&ids::SYSTEM_PROGRAM, metas, data),
                &both,
                self.signers,
            );
        }
        let missing = rent.saturating_sub(account.lamports());
        if missing > 0 {
            transfer(payer, account, missing)?;
        }
        let own = vec![AccountMeta::new(*account.key, true)];
        let allocate = call(
            &ids::SYSTEM_PROGRAM,
            own.clone(),
            parts(&8_u32.to_le_bytes(), &[&space]),
        );
        invoke_signed(&allocate, &both, self.signers)?;
        let assign = call(
            &ids::SYSTEM_PROGRAM,
            own,
            parts(&1_u32.to_le_bytes(), &[&owner]),
        );
        invoke_signed(&assign, &both, self.signers)
    }
}

/// Transfers lamports from a signer.
pub fn transfer<'info>(
    from: &AccountInfo<'info>,
    to: &AccountInfo<'info>,
    lamports: u64,
) -> ProgramResult {
    let metas = vec![
        AccountMeta::new(*from.key, true),
        AccountMeta::new(*to.key, false),
    ];
    let data = parts(&2_u32.to_le_bytes(), &[&lamports.to_le_bytes()]);
    let accounts = [from.clone(), to.clone()];
    invoke(&call(&ids::SYSTEM_PROGRAM, metas, data), &accounts)
}

/// Closes an account of this program: moves its lamports to `destination`, empties it and gives
/// it back to the system program, so that it cannot be revived in the same transaction.
pub fn close(account: &AccountInfo, destination: &AccountInfo) -> ProgramResult {
    ensure(account.key != destination.key, Check::ConstraintClose)?;
    let total = destination
        .lamports()
        .checked_add(account.lamports())
        .ok_or(ProgramError::ArithmeticOverflow)?;
    account.try_borrow_mut_data()?.fill(0);
    **destination.try_borrow_mut_lamports()? = total;
    **account.try_borrow_mut_lamports()? = 0;
    account.assign(&ids::SYSTEM_PROGRAM);
    account.resize(0)
}

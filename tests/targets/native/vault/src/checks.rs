// Rendered by idl2mcp from spec.py; edit the source. [39702340f90aca6a]
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

const TOKEN_ACCOUNT_SIZE: usize = 165;

const MINT_SIZE: usize = 82;

const MULTISIG_SIZE: usize = 355;

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

/// Two writable accounts must not be the same account.
pub fn different(one: &AccountInfo, other: &AccountInfo) -> ProgramResult {
    ensure(
        one.key != other.key,
        Check::ConstraintDuplicateMutableAccount,
    )
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

/// The bytes at `offset`.
fn at<const N: usize>(data: &[u8], offset: usize) -> Option<&[u8; N]> {
    data.get(offset..)?.first_chunk()
}

/// `program` owns the account, or if it is None, one of the two token programs.
fn token_program(account: &AccountInfo, program: Option<&Address>) -> ProgramResult {
    let right = match program {
        Some(program) => account.owner == program,
        None => *account.owner == ids::TOKEN_PROGRAM || *account.owner == ids::TOKEN_2022_PROGRAM,
    };
    if right {
        return Ok(());
    }
    Err(wrong_owner(account))
}

/// Token-2022 stores the kind of an account with extensions behind byte 165: 1 for a mint, 2 for
/// a token account. A multisig has no kind: there it holds a key that anyone may choose.
fn is_kind(data: &[u8], size: usize, kind: u8) -> bool {
    data.len() == size
        || (data.len() != MULTISIG_SIZE && data.get(TOKEN_ACCOUNT_SIZE) == Some(&kind))
}

/// The account is an initialized token account of this mint and this authority.
pub fn token_account(
    account: &AccountInfo,
    mint: Option<&Address>,
    authority: Option<&Address>,
    program: Option<&Address>,
) -> ProgramResult {
    token_program(account, program)?;
    let data = account.try_borrow_data()?;
    ensure(
        is_kind(&data, TOKEN_ACCOUNT_SIZE, 2) && data.get(108).is_some_and(|state| *state != 0),
        Check::AccountDidNotDeserialize,
    )?;
    if let Some(mint) = mint {
        ensure(
            at(&data, 0) == Some(mint.as_array()),
            Check::ConstraintTokenMint,
        )?;
    }
    if let Some(authority) = authority {
        ensure(
            at(&data, 32) == Some(authority.as_array()),
            Check::ConstraintTokenOwner,
        )?;
    }
    Ok(())
}

/// The account is an initialized mint with this mint authority and these decimals.
pub fn mint_account(
    account: &AccountInfo,
    authority: Option<&Address>,
    decimals: Option<u8>,
    program: Option<&Address>,
) -> ProgramResult {
    token_program(account, program)?;
    let data = account.try_borrow_data()?;
    ensure(
        is_kind(&data, MINT_SIZE, 1) && data.get(45).is_some_and(|state| *state == 1),
        Check::AccountDidNotDeserialize,
    )?;
    if let Some(authority) = authority {
        let is_set = at(&data, 0) == Some(&[1, 0, 0, 0]);
        ensure(
            is_set && at(&data, 4) == Some(authority.as_array()),
            Check::ConstraintMintMintAuthority,
        )?;
    }
    if let Some(decimals) = decimals {
        ensure(
            data.get(44) == Some(&decimals),
            Check::ConstraintMintDecimals,
        )?;
    }
    Ok(())
}

/// The number of tokens in a token account.
pub fn token_amount(account: &AccountInfo) -> Result<u64, ProgramError> {
    let data = account.try_borrow_data()?;
    match at(&data, 64) {
        Some(amount) => Ok(u64::from_le_bytes(*amount)),
        None => Err(Check::AccountDidNotDeserialize.into()),
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

/// Calls a token program. `others`: accounts, and whether it writes them. The authority is its last account and signs,
/// with seeds if it is an address of this program.
pub fn call_tokens<'info>(
    program: &AccountInfo<'info>,
    others: &[(&AccountInfo<'info>, bool)],
    authority: &AccountInfo<'info>,
    data: &[&[u8]],
    signers: &[&[&[u8]]],
) -> ProgramResult {
    let mut metas = Vec::new();
    let mut accounts = Vec::new();
    for (account, is_written) in others {
        metas.push(AccountMeta {
            pubkey: *account.key,
            is_signer: false,
            is_writable: *is_written,
        });
        accounts.push((*account).clone());
    }
    metas.push(AccountMeta::new_readonly(*authority.key, true));
    accounts.push(authority.clone());
    invoke_signed(&call(program.key, metas, data.concat()), &accounts, signers)
}

/// Transfers tokens. The authority signs, with seeds if it is an address of this program.
pub fn transfer_tokens<'info>(
    program: &AccountInfo<'info>,
    [from, to, authority]: [&AccountInfo<'info>; 3],
    amount: u64,
    signers: &[&[&[u8]]],
) -> ProgramResult {
    call_tokens(
        program,
        &[(from, true), (to, true)],
        authority,
        &[&[3], &amount.to_le_bytes()],
        signers,
    )
}

/// Creates a token account.
pub fn create_token_account<'info>(
    mut create: Create<'_, 'info>,
    mint: &AccountInfo<'info>,
    authority: &Address,
) -> ProgramResult {
    let (account, program) = (create.account, create.owner);
    create.space = TOKEN_ACCOUNT_SIZE;
    create.invoke()?;
    let metas = vec![
        AccountMeta::new(*account.key, false),
        AccountMeta::new_readonly(*mint.key, false),
    ];
    let accounts = [account.clone(), mint.clone()];
    invoke(
        &call(program, metas, parts(&[18], &[&authority.to_bytes()])),
        &accounts,
    )
}

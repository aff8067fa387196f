// Rendered by idl2mcp from spec.py; edit the source. [e21bb455b68504d0]
//! What accounts are checked for. Each check says by its error what was wrong; the error is
//! logged where it is made.

use crate::error::Check;
use solana_program::account_info::AccountInfo;
use solana_program::entrypoint::{ProgramResult, MAX_PERMITTED_DATA_INCREASE};
use solana_program::instruction::{AccountMeta, Instruction};
use solana_program::program::{invoke, invoke_signed};
use solana_program::program_error::ProgramError;
use solana_program::pubkey::Pubkey as Address;
use solana_program::rent::Rent;
use solana_program::sysvar::Sysvar;

/// The system program.
pub const SYSTEM_PROGRAM: Address = Address::new_from_array([0; 32]);

/// SPL Token.
// TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA
pub const TOKEN_PROGRAM: Address = Address::new_from_array([
    0x06, 0xdd, 0xf6, 0xe1, 0xd7, 0x65, 0xa1, 0x93, 0xd9, 0xcb, 0xe1, 0x46, 0xce, 0xeb, 0x79, 0xac,
    0x1c, 0xb4, 0x85, 0xed, 0x5f, 0x5b, 0x37, 0x91, 0x3a, 0x8c, 0xf5, 0x85, 0x7e, 0xff, 0x00, 0xa9,
]);

/// SPL Token-2022.
// TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb
const TOKEN_2022_PROGRAM: Address = Address::new_from_array([
    0x06, 0xdd, 0xf6, 0xe1, 0xee, 0x75, 0x8f, 0xde, 0x18, 0x42, 0x5d, 0xbc, 0xe4, 0x6c, 0xcd, 0xda,
    0xb6, 0x1a, 0xfc, 0x4d, 0x83, 0xb9, 0x0d, 0x27, 0xfe, 0xbd, 0xf9, 0x28, 0xd8, 0xa1, 0x8b, 0xfc,
]);

/// The associated token account program.
// ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL
const ASSOCIATED_TOKEN_PROGRAM: Address = Address::new_from_array([
    0x8c, 0x97, 0x25, 0x8f, 0x4e, 0x24, 0x89, 0xf1, 0xbb, 0x3d, 0x10, 0x29, 0x14, 0x8e, 0x0d, 0x83,
    0x0b, 0x5a, 0x13, 0x99, 0xda, 0xff, 0x10, 0x84, 0x04, 0x8e, 0x7b, 0xd8, 0xdb, 0xe9, 0xf8, 0x59,
]);

const TOKEN_ACCOUNT_SIZE: usize = 165;
const MINT_SIZE: usize = 82;
const MULTISIG_SIZE: usize = 355;

/// `condition`, or the error.
pub fn ensure<E: Into<ProgramError>>(condition: bool, otherwise: E) -> ProgramResult {
    if condition {
        Ok(())
    } else {
        Err(otherwise.into())
    }
}

/// The first of the accounts that are left, if there is one.
pub fn next<'a, 'info>(rest: &mut &'a [AccountInfo<'info>]) -> Option<&'a AccountInfo<'info>> {
    let (first, others) = rest.split_first()?;
    *rest = others;
    Some(first)
}

pub fn signer(account: &AccountInfo) -> ProgramResult {
    ensure(account.is_signer, Check::AccountNotSigner)
}

/// As `signer`, with the program's own error.
pub fn signer_or<E: Into<ProgramError>>(account: &AccountInfo, otherwise: E) -> ProgramResult {
    ensure(account.is_signer, otherwise)
}

pub fn writable(account: &AccountInfo) -> ProgramResult {
    ensure(account.is_writable, Check::ConstraintMut)
}

pub fn executable(account: &AccountInfo) -> ProgramResult {
    ensure(account.executable, Check::InvalidProgramExecutable)
}

/// Two addresses are the same.
pub fn equal<E: Into<ProgramError>>(
    found: &Address,
    wanted: &Address,
    otherwise: E,
) -> ProgramResult {
    ensure(found == wanted, otherwise)
}

/// An address is one of these.
pub fn one_of<E: Into<ProgramError>>(
    found: &Address,
    wanted: &[&Address],
    otherwise: E,
) -> ProgramResult {
    ensure(wanted.contains(&found), otherwise)
}

/// Two accounts that are both written are not the same one.
pub fn different(one: &AccountInfo, other: &AccountInfo) -> ProgramResult {
    ensure(
        one.key != other.key,
        Check::ConstraintDuplicateMutableAccount,
    )
}

pub fn owner<E: Into<ProgramError>>(
    account: &AccountInfo,
    program: &Address,
    otherwise: E,
) -> ProgramResult {
    ensure(account.owner == program, otherwise)
}

/// The account is state of this program.
pub fn state(account: &AccountInfo, program_id: &Address) -> ProgramResult {
    if account.owner == program_id {
        return Ok(());
    }
    Err(
        if *account.owner == SYSTEM_PROGRAM && account.data_is_empty() {
            Check::AccountNotInitialized.into()
        } else {
            Check::AccountOwnedByWrongProgram.into()
        },
    )
}

/// Nothing was made at this address yet; lamports may stand there already.
pub fn is_new(account: &AccountInfo) -> bool {
    account.data_is_empty() && *account.owner == SYSTEM_PROGRAM
}

/// The address is derived from these seeds, with a bump that this program found and kept.
pub fn derived<const N: usize, E: Into<ProgramError>>(
    account: &AccountInfo,
    seeds: &[&[u8]; N],
    bump: u8,
    program_id: &Address,
    otherwise: E,
) -> ProgramResult {
    let bump = [bump];
    let mut all = seeds.to_vec();
    all.push(&bump);
    match Address::create_program_address(&all, program_id) {
        Ok(address) => equal(account.key, &address, otherwise),
        Err(_) => Err(otherwise.into()),
    }
}

/// The address is derived from these seeds; the bump is the first that gives an address off the
/// curve.
pub fn found<const N: usize, E: Into<ProgramError>>(
    account: &AccountInfo,
    seeds: &[&[u8]; N],
    program: &Address,
    otherwise: E,
) -> Result<u8, ProgramError> {
    match Address::try_find_program_address(seeds, program) {
        Some((address, bump)) if *account.key == address => Ok(bump),
        _ => Err(otherwise.into()),
    }
}

/// The bytes at `offset`.
fn at<const N: usize>(data: &[u8], offset: usize) -> Option<&[u8; N]> {
    data.get(offset..)?.first_chunk()
}

/// The account belongs to `program`, or to one of the two token programs.
fn token_program(account: &AccountInfo, program: Option<&Address>) -> ProgramResult {
    let right = match program {
        Some(program) => account.owner == program,
        None => *account.owner == TOKEN_PROGRAM || *account.owner == TOKEN_2022_PROGRAM,
    };
    if right {
        return Ok(());
    }
    Err(if is_new(account) {
        Check::AccountNotInitialized.into()
    } else {
        Check::AccountOwnedByWrongProgram.into()
    })
}

/// Token-2022 says behind an account of 165 bytes what it is: 1 a mint, 2 an account. A multisig has
/// a key of its maker's choice there, and is neither.
fn is_kind(data: &[u8], size: usize, kind: u8) -> bool {
    data.len() == size
        || (data.len() != MULTISIG_SIZE && data.get(TOKEN_ACCOUNT_SIZE) == Some(&kind))
}

/// An initialized token account, of this mint and this authority.
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

/// An initialized mint, with this mint authority and these decimals.
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

/// The number of tokens that an account holds.
pub fn token_amount(account: &AccountInfo) -> Result<u64, ProgramError> {
    let data = account.try_borrow_data()?;
    match at(&data, 64) {
        Some(amount) => Ok(u64::from_le_bytes(*amount)),
        None => Err(Check::AccountDidNotDeserialize.into()),
    }
}

/// A call of another program.
fn call(program: &Address, accounts: Vec<AccountMeta>, data: Vec<u8>) -> Instruction {
    Instruction {
        program_id: *program,
        accounts,
        data,
    }
}

/// Instruction data: a number, then parts.
fn parts(head: &[u8], rest: &[&[u8]]) -> Vec<u8> {
    let mut data = head.to_vec();
    rest.iter().for_each(|part| data.extend_from_slice(part));
    data
}

/// A new account, with its rent; whoever sent lamports to its address before cannot hinder it.
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
            return invoke_signed(&call(&SYSTEM_PROGRAM, metas, data), &both, self.signers);
        }
        let missing = rent.saturating_sub(account.lamports());
        if missing > 0 {
            transfer(payer, account, missing)?;
        }
        let own = vec![AccountMeta::new(*account.key, true)];
        let allocate = call(
            &SYSTEM_PROGRAM,
            own.clone(),
            parts(&8_u32.to_le_bytes(), &[&space]),
        );
        invoke_signed(&allocate, &both, self.signers)?;
        let assign = call(&SYSTEM_PROGRAM, own, parts(&1_u32.to_le_bytes(), &[&owner]));
        invoke_signed(&assign, &both, self.signers)
    }
}

/// Lamports from a signer.
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
    invoke(&call(&SYSTEM_PROGRAM, metas, data), &accounts)
}

/// Tokens from an account whose authority signs, with seeds if it is an address of this program.
pub fn transfer_tokens<'info>(
    program: &AccountInfo<'info>,
    [from, to, authority]: [&AccountInfo<'info>; 3],
    amount: u64,
    signers: &[&[&[u8]]],
) -> ProgramResult {
    let metas = vec![
        AccountMeta::new(*from.key, false),
        AccountMeta::new(*to.key, false),
        AccountMeta::new_readonly(*authority.key, true),
    ];
    let data = parts(&[3], &[&amount.to_le_bytes()]);
    let accounts = [from.clone(), to.clone(), authority.clone()];
    invoke_signed(&call(program.key, metas, data), &accounts, signers)
}

/// A new associated token account.
pub struct CreateAssociated<'a, 'info> {
    pub account: &'a AccountInfo<'info>,
    pub payer: &'a AccountInfo<'info>,
    pub wallet: &'a AccountInfo<'info>,
    pub mint: &'a AccountInfo<'info>,
    pub system_program: &'a AccountInfo<'info>,
    pub token_program: &'a AccountInfo<'info>,
}

impl CreateAssociated<'_, '_> {
    pub fn invoke(self) -> ProgramResult {
        ensure(is_new(self.account), Check::AccountDiscriminatorAlreadySet)?;
        let others = [
            self.wallet,
            self.mint,
            self.system_program,
            self.token_program,
        ];
        let mut metas = vec![
            AccountMeta::new(*self.payer.key, true),
            AccountMeta::new(*self.account.key, false),
        ];
        metas.extend(others.map(|account| AccountMeta::new_readonly(*account.key, false)));
        let mut accounts = vec![self.payer.clone(), self.account.clone()];
        accounts.extend(others.map(AccountInfo::clone));
        invoke(&call(&ASSOCIATED_TOKEN_PROGRAM, metas, vec![0]), &accounts)
    }
}

/// A new token account.
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

/// A new mint without a freeze authority.
pub fn create_mint(mut create: Create, authority: &Address, decimals: u8) -> ProgramResult {
    let (account, program) = (create.account, create.owner);
    create.space = MINT_SIZE;
    create.invoke()?;
    let metas = vec![AccountMeta::new(*account.key, false)];
    let data = parts(&[20, decimals], &[&authority.to_bytes(), &[0]]);
    invoke(&call(program, metas, data), core::slice::from_ref(account))
}

/// Takes all lamports out of an account of this program and gives it back to the system program, without data: it cannot be
/// used again in the same transaction either.
pub fn close(account: &AccountInfo, destination: &AccountInfo) -> ProgramResult {
    ensure(account.key != destination.key, Check::ConstraintClose)?;
    let total = destination
        .lamports()
        .checked_add(account.lamports())
        .ok_or(ProgramError::ArithmeticOverflow)?;
    account.try_borrow_mut_data()?.fill(0);
    **destination.try_borrow_mut_lamports()? = total;
    **account.try_borrow_mut_lamports()? = 0;
    account.assign(&SYSTEM_PROGRAM);
    account.resize(0)
}

/// Gives an account of this program `space` bytes; `payer` pays for growth, and gets what shrinking frees.
pub fn resize<'info>(
    account: &AccountInfo<'info>,
    payer: &AccountInfo<'info>,
    space: usize,
) -> ProgramResult {
    let before = account.data_len();
    if space == before {
        return Ok(());
    }
    let rent = Rent::get()?.minimum_balance(space);
    ensure(
        space.saturating_sub(before) <= MAX_PERMITTED_DATA_INCREASE,
        Check::AccountReallocExceedsLimit,
    )?;
    let has = account.lamports();
    if rent > has {
        transfer(payer, account, rent.saturating_sub(has))?;
    } else if space < before {
        let freed = has.saturating_sub(rent);
        let total = payer
            .lamports()
            .checked_add(freed)
            .ok_or(ProgramError::ArithmeticOverflow)?;
        **payer.try_borrow_mut_lamports()? = total;
        **account.try_borrow_mut_lamports()? = rent;
    }
    account.resize(space)
}

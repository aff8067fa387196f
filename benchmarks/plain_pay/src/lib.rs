//! The x402 program's `pay` as one would write it by hand in plain pinocchio: the same accounts and data, the same
//! receipt, transfer and event, the checks that safety needs, nothing rendered. The peer of bench_x402_program.py.

#![no_std]

use pinocchio::{
    address::address_eq,
    cpi::{Seed, Signer},
    default_allocator,
    entrypoint::process_entrypoint,
    error::ProgramError,
    nostd_panic_handler,
    sysvars::{clock::Clock, Sysvar},
    AccountView, Address, ProgramResult,
};
use pinocchio_token::instructions::TransferChecked;

default_allocator!();
nostd_panic_handler!();

/// # Safety
///
/// `input` is the buffer that the loader lays out.
#[no_mangle]
pub unsafe extern "C" fn entrypoint(input: *mut u8) -> u64 {
    // SAFETY: the loader's buffer, passed on.
    unsafe { process_entrypoint::<10>(input, process) }
}

const TOKEN_2022: Address = Address::new_from_array([
    0x06, 0xdd, 0xf6, 0xe1, 0xee, 0x75, 0x8f, 0xde, 0x18, 0x42, 0x5d, 0xbc, 0xe4, 0x6c, 0xcd, 0xda, 0xb6, 0x1a, 0xfc,
    0x4d, 0x83, 0xb9, 0x0d, 0x27, 0xfe, 0xbd, 0xf9, 0x28, 0xd8, 0xa1, 0x8b, 0xfc,
]);
const PAY: u8 = 0x10;
const RECEIPT: u8 = 0x10;
const RECEIPT_SIZE: usize = 226;
const MAX_TIME: i64 = 2_592_000;
const PAID: [u8; 8] = [0; 8];

fn need(condition: bool, code: u32) -> ProgramResult {
    if condition {
        Ok(())
    } else {
        Err(ProgramError::Custom(code))
    }
}

fn amount(account: &AccountView) -> Result<u64, ProgramError> {
    let data = account.try_borrow()?;
    let bytes: Option<&[u8; 8]> = data.get(64..).and_then(|rest| rest.first_chunk());
    bytes
        .map(|b| u64::from_le_bytes(*b))
        .ok_or(ProgramError::InvalidAccountData)
}

fn token(account: &AccountView, program: &Address, mint: &Address, owner: &Address) -> ProgramResult {
    need(account.owned_by(program), 1)?;
    let data = account.try_borrow()?;
    need(data.len() == 165 || data.get(165) == Some(&2), 2)?;
    need(
        data.get(..32) == Some(mint.as_ref()) && data.get(32..64) == Some(owner.as_ref()),
        3,
    )?;
    need(data.get(108) == Some(&1), 4)
}

fn process(program_id: &Address, accounts: &mut [AccountView], data: &[u8]) -> ProgramResult {
    let [authority, rent_payer, payer, payee, mint, source, destination, receipt, token_program, _system, ..] =
        accounts
    else {
        return Err(ProgramError::NotEnoughAccountKeys);
    };
    let [PAY, arguments @ ..] = data else {
        return Err(ProgramError::InvalidInstructionData);
    };
    need(arguments.len() == 80, 5)?;
    let (id, rest) = arguments
        .split_first_chunk::<32>()
        .ok_or(ProgramError::InvalidInstructionData)?;
    let (hash, rest) = rest
        .split_first_chunk::<32>()
        .ok_or(ProgramError::InvalidInstructionData)?;
    let (paid, rest) = rest
        .split_first_chunk::<8>()
        .ok_or(ProgramError::InvalidInstructionData)?;
    let (expiry, _) = rest
        .split_first_chunk::<8>()
        .ok_or(ProgramError::InvalidInstructionData)?;
    let (price, expires_at) = (u64::from_le_bytes(*paid), i64::from_le_bytes(*expiry));

    need(authority.is_signer() && rent_payer.is_signer(), 6)?;
    let program = token_program.address();
    need(
        address_eq(program, &pinocchio_token::ID) || address_eq(program, &TOKEN_2022),
        7,
    )?;
    need(mint.owned_by(program), 8)?;
    let decimals = {
        let data = mint.try_borrow()?;
        need(data.len() == 82, 9)?; // no extensions here
        data.get(44).copied().ok_or(ProgramError::InvalidAccountData)?
    };
    token(source, program, mint.address(), payer.address())?;
    token(destination, program, mint.address(), payee.address())?;
    need(price > 0 && !address_eq(payer.address(), payee.address()), 10)?;
    let clock = Clock::get()?;
    let now = clock.unix_timestamp;
    need(id.first_chunk() == Some(&expires_at.to_be_bytes()), 11)?;
    need(now < expires_at && expires_at.saturating_sub(now) <= MAX_TIME, 12)?;
    let associated = Address::derive_program_address(
        &[payee.address().as_ref(), program.as_ref(), mint.address().as_ref()],
        &pinocchio_associated_token_account::ID,
    );
    need(
        associated.is_some_and(|(key, _)| address_eq(&key, destination.address())),
        13,
    )?;
    let seeds: [&[u8]; 5] = [
        b"receipt",
        payer.address().as_ref(),
        payee.address().as_ref(),
        mint.address().as_ref(),
        id,
    ];
    let Some((key, bump)) = Address::derive_program_address(&seeds, program_id) else {
        return Err(ProgramError::InvalidSeeds);
    };
    need(address_eq(&key, receipt.address()) && receipt.is_data_empty(), 14)?;

    let bump = [bump];
    let seeds = [
        Seed::from(b"receipt".as_slice()),
        Seed::from(payer.address().as_ref()),
        Seed::from(payee.address().as_ref()),
        Seed::from(mint.address().as_ref()),
        Seed::from(id.as_slice()),
        Seed::from(bump.as_slice()),
    ];
    pinocchio_system::create_account_with_minimum_balance_signed(
        receipt,
        RECEIPT_SIZE,
        program_id,
        rent_payer,
        None,
        &[Signer::from(&seeds)],
    )?;
    {
        let mut data = receipt.try_borrow_mut()?;
        let mut at = 0usize;
        for part in [
            [RECEIPT, bump[0]].as_slice(),
            payer.address().as_ref(),
            payee.address().as_ref(),
            mint.address().as_ref(),
            rent_payer.address().as_ref(),
            id,
            hash,
            paid,
            &now.to_le_bytes(),
            &clock.slot.to_le_bytes(),
            expiry,
        ] {
            let end = at.saturating_add(part.len());
            data.get_mut(at..end)
                .ok_or(ProgramError::AccountDataTooSmall)?
                .copy_from_slice(part);
            at = end;
        }
    }
    let before = amount(destination)?;
    TransferChecked::new(source, mint, destination, authority, price, decimals).invoke_with_program(program)?;
    need(amount(destination)?.checked_sub(before) == Some(price), 15)?;
    let mut event = [0u8; 208];
    let mut at = 0usize;
    for part in [
        PAID.as_slice(),
        receipt.address().as_ref(),
        payer.address().as_ref(),
        payee.address().as_ref(),
        mint.address().as_ref(),
        paid,
        id,
        hash,
    ] {
        let end = at.saturating_add(part.len());
        event
            .get_mut(at..end)
            .ok_or(ProgramError::AccountDataTooSmall)?
            .copy_from_slice(part);
        at = end;
    }
    let parts = [event.as_slice()];
    #[cfg(any(target_os = "solana", target_arch = "bpf"))]
    // SAFETY: the syscall reads one slice, an address and a length.
    unsafe {
        pinocchio::syscalls::sol_log_data(parts.as_ptr().cast(), 1);
    }
    #[cfg(not(any(target_os = "solana", target_arch = "bpf")))]
    core::hint::black_box(parts);
    Ok(())
}

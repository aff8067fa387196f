//! A program that does what the data of its second account says: its owner changes that between a simulation and the
//! transaction. The data is a list of calls; each is the program's place among the accounts u8, the number of accounts
//! u8, their places u8 each, the length of the instruction data u8, and that data.
#![no_std]

use pinocchio::{
    cpi::invoke_with_bounds,
    error::ProgramError,
    instruction::{InstructionAccount, InstructionView},
    no_allocator, nostd_panic_handler, program_entrypoint, AccountView, Address, ProgramResult,
};

/// Accounts of one call.
const MOST: usize = 5;

program_entrypoint!(process, 16);
no_allocator!();
nostd_panic_handler!();

fn process(_program: &Address, accounts: &mut [AccountView], _data: &[u8]) -> ProgramResult {
    let script = accounts.get(1).ok_or(ProgramError::NotEnoughAccountKeys)?;
    // SAFETY: nobody writes the script, which is a readonly account.
    let mut rest = unsafe { script.borrow_unchecked() };
    while let [program, count, tail @ ..] = rest {
        let (places, tail) = tail
            .split_at_checked((*count).into())
            .ok_or(ProgramError::InvalidAccountData)?;
        let [length, tail @ ..] = tail else {
            return Err(ProgramError::InvalidAccountData);
        };
        let (data, tail) = tail
            .split_at_checked((*length).into())
            .ok_or(ProgramError::InvalidAccountData)?;
        call(accounts, *program, places, data)?;
        rest = tail;
    }
    Ok(())
}

/// Makes one call with all the signatures and rights that this program was given.
fn call(accounts: &[AccountView], program: u8, places: &[u8], data: &[u8]) -> ProgramResult {
    let at = |place: u8| {
        accounts
            .get(usize::from(place))
            .ok_or(ProgramError::NotEnoughAccountKeys)
    };
    let first = at(0)?;
    let mut views = [first; MOST];
    let mut metas = [const { None }; MOST];
    let count = places.len().min(MOST);
    for (index, place) in places.iter().take(MOST).enumerate() {
        let view = at(*place)?;
        views[index] = view;
        metas[index] = Some(InstructionAccount::new(
            view.address(),
            view.is_writable(),
            view.is_signer(),
        ));
    }
    let metas = metas.map(|meta| meta.unwrap_or(InstructionAccount::readonly(first.address())));
    invoke_with_bounds::<MOST, _>(
        &InstructionView {
            program_id: at(program)?.address(),
            data,
            accounts: &metas[..count],
        },
        &views[..count],
    )
}

//! A CPI that a PDA signs: creates the account at seeds [b"canary", question] through the system program.
#![no_std]

use pinocchio::{
    cpi::{Seed, Signer},
    error::ProgramError,
    no_allocator, nostd_panic_handler, program_entrypoint, AccountView, Address, ProgramResult,
};

program_entrypoint!(process, 8);
no_allocator!();
nostd_panic_handler!();

fn process(program: &Address, accounts: &mut [AccountView], question: &[u8]) -> ProgramResult {
    let [payer, created, _system] = accounts else {
        return Err(ProgramError::NotEnoughAccountKeys);
    };
    let (address, bump) = Address::find_program_address(&[b"canary", question], program);
    if address != *created.address() {
        return Err(ProgramError::InvalidSeeds);
    }
    let bump = [bump];
    let seeds = [
        Seed::from(b"canary"),
        Seed::from(question),
        Seed::from(&bump),
    ];
    pinocchio_system::instructions::CreateAccount::with_minimum_balance(
        payer, created, 24, program, None,
    )?
    .invoke_signed(&[Signer::from(&seeds)])?;
    harness::return_data(created.address().as_ref());
    Ok(())
}

//! The program's own call to itself that carries an event. Nobody else can make it.

use {
    crate::instruction::emit_event::{Accounts, Args},
    pinocchio::ProgramResult,
};

/// The event is the instruction's data; that the event authority signed was checked before this.
pub fn process(_accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    Ok(())
}

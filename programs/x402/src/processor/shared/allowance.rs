//! What the program's delegate may take from a subscriber's token account: together what all
//! subscriptions of that account have left. Each subscription alone is bounded by its own terms.

use {
    super::tokens,
    crate::error::X402Error,
    pinocchio::{error::ProgramError, AccountView, ProgramResult},
    pinocchio_token::instructions::{Approve, Revoke},
};

pub struct Allowance<'a> {
    pub source: &'a AccountView,
    pub delegate: &'a AccountView,
    pub subscriber: &'a AccountView,
    pub token_program: &'a AccountView,
}

impl Allowance<'_> {
    /// What the delegate may take now. Another delegate with an allowance of its own is not pushed
    /// aside.
    fn current(&self) -> Result<u64, ProgramError> {
        match tokens::delegate(self.source)? {
            Some(found) if &found.address == self.delegate.address() => Ok(found.amount),
            Some(found) if found.amount > 0 => Err(X402Error::OtherDelegate.into()),
            _ => Ok(0),
        }
    }

    /// Takes `less` off the allowance and adds `more` to it.
    pub fn change(&self, less: u64, more: u64) -> ProgramResult {
        let amount = self
            .current()?
            .saturating_sub(less)
            .checked_add(more)
            .ok_or(X402Error::Overflow)?;
        let program = self.token_program.address();
        if amount == 0 {
            return Revoke::new(self.source, self.subscriber).invoke_with_program(program);
        }
        Approve::new(self.source, self.delegate, self.subscriber, amount)
            .invoke_with_program(program)
    }
}

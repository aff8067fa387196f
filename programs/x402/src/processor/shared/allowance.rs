//! The allowance of the program's delegate on a subscriber's token account: the sum that all
//! subscriptions of that account have left. Each subscription is also bounded by its own terms.

use {
    super::tokens,
    crate::error::X402Error,
    pinocchio::{cpi::Signer, error::ProgramError, AccountView, ProgramResult},
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

    /// Takes `less` off the allowance and adds `more` to it. The subscriber signed.
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

    /// What the delegate may take now, if the account is the subscriber's: 0 for an account that is
    /// closed, was given to another owner, or has another delegate.
    fn left(&self) -> Result<u64, ProgramError> {
        let is_theirs = self.source.owned_by(self.token_program.address())
            && tokens::is_of(self.source, self.subscriber.address())?;
        if !is_theirs {
            return Ok(0);
        }
        Ok(tokens::delegate(self.source)?
            .filter(|found| &found.address == self.delegate.address())
            .map_or(0, |found| found.amount))
    }

    /// Takes what an ended subscription was allowed off the allowance, if the token program lets the
    /// subscriber do so now. Returns whether nothing of it is left.
    pub fn take_back(&self, outstanding: u64) -> Result<bool, ProgramError> {
        if self.left()? == 0 {
            return Ok(true);
        }
        if !tokens::is_usable(self.source)? || tokens::is_guarded(self.source)? {
            return Ok(false);
        }
        self.change(outstanding, 0)?;
        Ok(true)
    }

    /// The same without the subscriber: a delegate can only give up its whole allowance, so it does
    /// that when no more is left than ended subscriptions were allowed.
    pub fn give_up(&self, outstanding: u64, signer: &[Signer]) -> Result<bool, ProgramError> {
        let left = self.left()?;
        if left == 0 {
            return Ok(true);
        }
        if left > outstanding || !tokens::is_usable(self.source)? {
            return Ok(false);
        }
        Revoke::new(self.source, self.delegate)
            .invoke_signed_with_program(signer, self.token_program.address())?;
        Ok(true)
    }
}

//! A program as one finds them: written by hand for Anchor, long before it told its tools. The lines about list_tools were added
//! as list_tools.md says.

use anchor_lang::prelude::*;

pub mod list_tools;
pub use list_tools::*;

declare_id!("6FmGZBQ4ptBrkCUPVSRkWUk2yzGtmN31sGnDbJDP66zA");

#[program]
pub mod notes {
    use super::*;

    pub fn write(ctx: Context<Write>, text: String) -> Result<()> {
        require!(text.len() <= 100, NotesError::TooLong);
        let note = &mut ctx.accounts.note;
        note.author = ctx.accounts.author.key();
        note.text = text;
        Ok(())
    }

    pub fn erase(_ctx: Context<Erase>) -> Result<()> {
        Ok(())
    }

    pub fn list_tools(_ctx: Context<ListTools>, cursor: Cursor) -> Result<()> {
        crate::list_tools::answer(cursor)
    }
}

#[derive(Accounts)]
pub struct Write<'info> {
    #[account(init, payer = author, space = 8 + 32 + 4 + 100, seeds = [b"note", author.key().as_ref()], bump)]
    pub note: Account<'info, Note>,
    #[account(mut)]
    pub author: Signer<'info>,
    pub system_program: Program<'info, System>,
}

#[derive(Accounts)]
pub struct Erase<'info> {
    #[account(mut, has_one = author, close = author, seeds = [b"note", author.key().as_ref()], bump)]
    pub note: Account<'info, Note>,
    #[account(mut)]
    pub author: Signer<'info>,
}

#[account]
pub struct Note {
    pub author: Pubkey,
    pub text: String,
}

#[error_code]
pub enum NotesError {
    #[msg("A note has 100 bytes at most")]
    TooLong,
}

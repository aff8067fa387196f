// Rendered by idl2mcp from idl.json; edit the source. [01ae9d3dbbd79235]
//! `list_tools`: what this program's tools are, told page by page as return data. The pages stand in
//! list_tools.bin, one behind the other.
//!
//! An Anchor program has it with these lines in its lib.rs (the function's name gives its
//! discriminator):
//!
//! ```ignore
//! pub mod list_tools;
//! pub use list_tools::*;
//!
//! #[program]
//! pub mod my_program {
//!     pub fn list_tools(_ctx: Context<ListTools>, cursor: Cursor) -> Result<()> {
//!         crate::list_tools::answer(cursor)
//!     }
//! }
//! ```

use anchor_lang::prelude::*;

const PAGES: &[u8] = include_bytes!("list_tools.bin");

/// Where each JSON page ends, by its cursor.
static ENDS: [usize; 1] = [729];

/// The cursor of the first page behind them: the whole model, compressed, in pages of 1,024 bytes.
const STREAM_BASE: usize = 32_768;
const STREAM_PAGE: usize = 1_024;

/// It is asked without accounts.
#[derive(Accounts)]
pub struct ListTools {}

/// Which page: nothing (the first), one byte, or two, low first.
#[derive(AnchorSerialize)]
pub struct Cursor {
    pub page: u16,
}

impl AnchorDeserialize for Cursor {
    fn deserialize_reader<R: std::io::Read>(reader: &mut R) -> std::io::Result<Self> {
        let mut bytes = [0; 3];
        let mut length = 0;
        while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
            match reader.read(rest)? {
                0 => break,
                more => length = length.saturating_add(more),
            }
        }
        let [low, high, _] = bytes;
        match length {
            3 => Err(std::io::ErrorKind::InvalidData.into()),
            _ => Ok(Self {
                page: u16::from_le_bytes([low, high]),
            }),
        }
    }
}

/// The page at `cursor`, if there is one.
fn page(cursor: usize) -> Option<&'static [u8]> {
    if let Some(end) = ENDS.get(cursor) {
        let start = cursor
            .checked_sub(1)
            .and_then(|before| ENDS.get(before))
            .unwrap_or(&0);
        return PAGES.get(*start..*end);
    }
    let skipped = cursor.checked_sub(STREAM_BASE)?.checked_mul(STREAM_PAGE)?;
    let stream = PAGES.get(*ENDS.last()?..)?;
    stream.get(skipped..)?.chunks(STREAM_PAGE).next()
}

/// Returns the page to the caller. Fails for an unknown page.
pub fn answer(cursor: Cursor) -> Result<()> {
    let found = page(usize::from(cursor.page)).ok_or(ProgramError::InvalidInstructionData)?;
    anchor_lang::solana_program::program::set_return_data(found);
    Ok(())
}

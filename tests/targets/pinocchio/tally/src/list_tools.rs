// Rendered by idl2mcp from tally.json; edit the source. [61782624b5df66d9]
//! `list_tools`: answers what this program's tools are, page by page, as return data. The pages stand
//! in list_tools.bin, one behind the other.
//!
//! The program has it with one line beside the other modules of lib.rs, and three at the start of its
//! `process_instruction` (`data` is the instruction data):
//!
//! ```ignore
//! mod list_tools;
//!
//! if let Some(answer) = list_tools::answer(data) {
//!     return answer;
//! }
//! ```

use pinocchio::{error::ProgramError, ProgramResult};

/// sha256("global:list_tools")[..8]
const LIST_TOOLS: [u8; 8] = [0x42, 0x19, 0x5e, 0x6a, 0x55, 0xfd, 0x41, 0xc0];

const PAGES: &[u8] = include_bytes!("list_tools.bin");

/// Where each JSON page ends, by its cursor.
static ENDS: [usize; 1] = [405];

/// The cursor of the first page behind them: the whole model, compressed, in pages of 1,024 bytes.
const STREAM_BASE: usize = 32_768;
const STREAM_PAGE: usize = 1_024;

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

/// Answers `list_tools`; None for every other instruction. Fails for an unknown page.
#[inline(always)]
pub fn answer(data: &[u8]) -> Option<ProgramResult> {
    data.strip_prefix(&LIST_TOOLS).map(return_page)
}

/// Returns the page at the cursor: nothing (the first), one byte, or two, low first.
///
/// A function apart, so that other instructions pay only for the comparison.
#[cold]
#[inline(never)]
fn return_page(cursor: &[u8]) -> ProgramResult {
    let cursor = match *cursor {
        [] => 0,
        [low] => usize::from(low),
        [low, high] => usize::from(u16::from_le_bytes([low, high])),
        _ => return Err(ProgramError::InvalidInstructionData),
    };
    let found = page(cursor).ok_or(ProgramError::InvalidInstructionData)?;
    set_return_data(found);
    Ok(())
}

fn set_return_data(page: &[u8]) {
    #[cfg(any(target_os = "solana", target_arch = "bpf"))]
    // SAFETY: the syscall reads `page.len()` bytes from `page`.
    unsafe {
        pinocchio::syscalls::sol_set_return_data(page.as_ptr(), page.len() as u64);
    }
    #[cfg(not(any(target_os = "solana", target_arch = "bpf")))]
    core::hint::black_box(page);
}

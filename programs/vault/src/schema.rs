// Rendered by idl2mcp from spec.py; edit the source. [a96776bcbb6f3b0e]
//! The pages of list_tools, and how they are found.
//!
//! It is asked without accounts. The loader then writes
//!
//! ```text
//! +0   u64  number of accounts, 0
//! +8   u64  length of the instruction data
//! +16       the instruction data: 8 bytes of discriminator, then the cursor (none, u8 or u16)
//! ```
//!
//! so it is told apart by two loads at fixed places. With an account the byte at +8 is its
//! marker 0xff (a first account is never a duplicate), so that no length from 8 to 10 can be
//! read there: the number of accounts needs no look.

use pinocchio::{error::ProgramError, hint::cold_path};

/// sha256("global:list_tools")[..8]
pub const LIST_TOOLS: u64 = u64::from_le_bytes([0x42, 0x19, 0x5e, 0x6a, 0x55, 0xfd, 0x41, 0xc0]);

/// One JSON page for each cursor from 0.
static PAGES: [&[u8]; 3] = [
    b"{\"v\":\"2024-11-05\",\"name\":\"vault\",\"x\":1,\"tools\":[{\"n\":\"initialize\",\"i\":\"Create an empty vault for a wallet and a mint.\",\"d\":\"afaf6d1f0d989bed\",\"p\":{\"vault_w\":\"pubkey\",\"tokens_w\":\"pubkey\",\"mint\":\"pubkey\",\"authority_sw\":\"pubkey\",\"token_program\":\"pubkey\",\"system_program\":\"pubkey\"},\"r\":[\"vault_w\",\"tokens_w\",\"mint\",\"authority_sw\",\"token_program\",\"system_program\"]},{\"n\":\"deposit\",\"i\":\"Put tokens into a vault. Anyone may; only the vault's authority can take them out.\",\"d\":\"f223c68952e1f2b6\",\"p\":{\"vault_w\":\"pubkey\",\"tokens_w\":\"pubkey\",\"source_w\":\"pubkey\",\"mint\":\"pubkey\",\"depositor_s\":\"pubkey\",\"token_program\":\"pubkey\",\"amount\":\"u64\"},\"r\":[\"vault_w\",\"tokens_w\",\"source_w\",\"mint\",\"depositor_s\",\"token_program\",\"amount\"]}],\"stream\":{\"at\":32768,\"size\":1106,\"text\":4954,\"sha256\":\"b654a990742db91740415eed392d36a3759cd3b7f2de7b7deedb1cbf25bf2966\"},\"nextCursor\":\"1\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"vault\",\"x\":1,\"tools\":[{\"n\":\"withdraw\",\"i\":\"Take tokens out of a vault, and return how many are left in it.\",\"d\":\"b712469c946da122\",\"p\":{\"vault_w\":\"pubkey\",\"tokens_w\":\"pubkey\",\"destination_w\":\"pubkey\",\"mint\":\"pubkey\",\"authority_s\":\"pubkey\",\"token_program\":\"pubkey\",\"amount\":\"u64\"},\"r\":[\"vault_w\",\"tokens_w\",\"destination_w\",\"mint\",\"authority_s\",\"token_program\",\"amount\"]}],\"more\":[[0,{\"x\":{\"s\":{\"vault_w\":[[[\"const\",\"7661756c74\"],[\"account\",[\"authority\"]],[\"account\",[\"mint\"]]]],\"tokens_w\":[[[\"const\",\"746f6b656e73\"],[\"account\",[\"vault\"]]]]},\"a\":{\"token_program\":\"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA\",\"system_program\":\"11111111111111111111111111111111\"}}}],[1,{\"x\":{\"s\":{\"vault_w\":[[[\"const\",\"7661756c74\"],[\"account\",[\"vault\"],[\"authority\"],\"State\",\"pubkey\"],[\"account\",[\"mint\"]]]],\"tokens_w\":[[[\"const\",\"746f6b656e73\"],[\"account\",[\"vault\"]]]]},\"a\":{\"token_program\":\"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA\"}}}]],\"nextCursor\":\"2\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"vault\",\"x\":1,\"tools\":[],\"more\":[[2,{\"x\":{\"s\":{\"vault_w\":[[[\"const\",\"7661756c74\"],[\"account\",[\"authority\"]],[\"account\",[\"mint\"]]]],\"tokens_w\":[[[\"const\",\"746f6b656e73\"],[\"account\",[\"vault\"]]]]},\"a\":{\"token_program\":\"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA\"},\"ret\":\"u64\"}}]]}",
];

/// The lossless stream: the whole model, compressed, in pages at high cursors. Page 0 says
/// where, how long it is and its sha256.
const STREAM: &[u8] = include_bytes!("schema.bin");

/// The cursor of the stream's first page.
const STREAM_BASE: usize = 32768;

/// Bytes of a stream page; the last one may be shorter.
const STREAM_PAGE: usize = 1_024;

/// The page at `cursor`, if there is one.
#[inline(always)]
fn page(cursor: usize) -> Option<&'static [u8]> {
    PAGES.get(cursor).copied()
}

/// The stream page at `cursor`, if there is one.
#[inline(always)]
fn stream_page(cursor: usize) -> Option<&'static [u8]> {
    let start = cursor.checked_sub(STREAM_BASE)?.checked_shl(10)?;
    let rest = STREAM.get(start..)?;
    match rest.get(..STREAM_PAGE) {
        _ if rest.is_empty() => None,
        Some(page) => Some(page),
        None => Some(rest),
    }
}

/// What the program returns if this is list_tools asked without accounts; None for all else,
/// which goes the ordinary way.
///
/// # Safety
///
/// `input` is the loader's buffer. It holds at least 48 bytes: both counts and the program's id.
#[inline(always)]
pub unsafe fn asked_without_accounts(input: *const u8) -> Option<u64> {
    // SAFETY: 8 bytes at +8 and at +16 are there (see above) and aligned; a cursor is read only
    // where the length says so.
    unsafe {
        let length = input.add(8).cast::<u64>().read();
        if length > 10 || input.add(16).cast::<u64>().read() != LIST_TOOLS {
            return None;
        }
        let cursor = if length == 9 {
            usize::from(input.add(24).read())
        } else {
            cold_path();
            match length {
                10 => usize::from(input.add(24).cast::<u16>().read()),
                8 => 0,
                _ => return None,
            }
        };
        if cursor == 0 {
            // The page that every client asks for: its place is known at compile time.
            return Some(answer(PAGES[0]));
        }
        if let Some(page) = page(cursor) {
            return Some(answer(page));
        }
        cold_path();
        let cursor =
            core::slice::from_raw_parts(input.add(24), (length as usize).saturating_sub(8));
        Some(match list_tools(LIST_TOOLS, cursor) {
            true => 0,
            false => ProgramError::InvalidInstructionData.into(),
        })
    }
}

/// Hands `page` to the caller. The syscall leaves 0, success, in the register that a program
/// returns by.
#[inline(always)]
fn answer(page: &[u8]) -> u64 {
    // SAFETY: the syscall reads `page.len()` bytes from `page`.
    unsafe { syscalls::sol_set_return_data(page.as_ptr(), page.len() as u64) }
}

#[cfg(any(target_os = "solana", target_arch = "bpf"))]
mod syscalls {
    // As solana-define-syscall's own, but with the result, which is 0.
    solana_define_syscall::define_syscall!(fn sol_set_return_data(data: *const u8, length: u64) -> u64);
}

#[cfg(not(any(target_os = "solana", target_arch = "bpf")))]
mod syscalls {
    /// On the host there is no caller to tell.
    pub unsafe fn sol_set_return_data(data: *const u8, length: u64) -> u64 {
        core::hint::black_box((data, length));
        0
    }
}

/// The end of dispatch, where no other instruction was meant: answers list_tools that comes with
/// accounts.
///
/// A function of its own, so that no other instruction pays for the comparison. False where this
/// is not list_tools, or there is no such page.
#[cold]
#[inline(never)]
pub fn list_tools(discriminator: u64, cursor: &[u8]) -> bool {
    let cursor = match *cursor {
        _ if discriminator != LIST_TOOLS => return false,
        [] => 0,
        [low] => usize::from(low),
        [low, high] => usize::from(u16::from_le_bytes([low, high])),
        _ => return false,
    };
    let found = page(cursor).or_else(|| stream_page(cursor));
    if let Some(page) = found {
        answer(page);
    }
    found.is_some()
}

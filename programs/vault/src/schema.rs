// Rendered by idl2mcp from spec.py; edit the source. [d936fd7e730aac9e]
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
//! so it is told apart by loads at fixed places, before accounts are read. The number of accounts
//! is asked first: the ordinary way needs it too, and asks it again for nothing.

use pinocchio::hint::cold_path;

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
const STREAM_BYTES: &[u8] = include_bytes!("schema.bin");

/// One page of the stream for each cursor from `STREAM_BASE`.
static STREAM: [&[u8]; 2] = [part(0, 1024), part(1024, 1126)];

/// The cursor of the stream's first page.
const STREAM_BASE: usize = 32768;

/// Bytes `from` to `to` of the stream, cut while the program is compiled.
const fn part(from: usize, to: usize) -> &'static [u8] {
    STREAM_BYTES.split_at(to).0.split_at(from).1
}

/// The JSON page at `cursor`, if there is one.
#[inline(always)]
fn json_page(cursor: usize) -> Option<&'static [u8]> {
    PAGES.get(cursor).copied()
}

/// The page at `cursor`, if there is one.
#[inline(always)]
fn any_page(cursor: usize) -> Option<&'static [u8]> {
    match json_page(cursor) {
        None => STREAM.get(cursor.wrapping_sub(STREAM_BASE)).copied(),
        found => found,
    }
}

/// What the program returns if this is list_tools asked without accounts; None for all else,
/// which goes the ordinary way, a cursor without a page too.
///
/// The order is that of need: a cursor of one byte, which clients send, then two bytes, then
/// none; and the first page before others, since every client asks for it and its place is known
/// at compile time.
///
/// # Safety
///
/// `input` is the loader's buffer. It holds at least 48 bytes: both counts and the program's id.
#[inline(always)]
pub unsafe fn asked_without_accounts(input: *const u8) -> Option<u64> {
    // SAFETY: 8 bytes at +0, +8 and +16 are there (see above) and aligned; a cursor is read only
    // where the length says so.
    unsafe {
        let accounts = input.cast::<u64>().read();
        if accounts != 0 || input.add(16).cast::<u64>().read() != LIST_TOOLS {
            return None;
        }
        let length = input.add(8).cast::<u64>().read();
        if length == 9 {
            let cursor = usize::from(input.add(24).read());
            if cursor == 0 {
                return Some(answer(PAGES[0]));
            }
            cold_path();
            return json_page(cursor).map(answer);
        }
        cold_path();
        if length == 10 {
            return any_page(usize::from(input.add(24).cast::<u16>().read())).map(answer);
        }
        cold_path();
        if length == 8 {
            return Some(answer(PAGES[0]));
        }
        None
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

/// What came of instruction data in which no instruction was found.
pub enum Outcome {
    Answered,
    NoSuchPage,
    NotAsked,
}

/// The end of dispatch, where no other instruction was meant: answers list_tools that comes with
/// accounts.
///
/// A function of its own, so that no other instruction pays for the comparison.
#[cold]
#[inline(never)]
pub fn list_tools(discriminator: u64, cursor: &[u8]) -> Outcome {
    if discriminator != LIST_TOOLS {
        return Outcome::NotAsked;
    }
    let cursor = match *cursor {
        [] => 0,
        [low] => usize::from(low),
        [low, high] => usize::from(u16::from_le_bytes([low, high])),
        _ => return Outcome::NoSuchPage,
    };
    match any_page(cursor) {
        Some(page) => {
            answer(page);
            Outcome::Answered
        }
        None => Outcome::NoSuchPage,
    }
}

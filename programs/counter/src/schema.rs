// Rendered by idl2mcp from spec.py; edit the source. [667735a62574d3fe]
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
static PAGES: [&[u8]; 2] = [
    b"{\"v\":\"2024-11-05\",\"name\":\"counter\",\"x\":1,\"tools\":[{\"n\":\"initialize\",\"i\":\"Create the counter of a wallet.\",\"d\":\"afaf6d1f0d989bed\",\"p\":{\"counter_w\":\"pubkey\",\"authority_sw\":\"pubkey\",\"system_program\":\"pubkey\",\"start\":\"u64\"},\"r\":[\"counter_w\",\"authority_sw\",\"system_program\",\"start\"]},{\"n\":\"increment\",\"i\":\"Add an amount to the counter.\",\"d\":\"0b12680968ae3b21\",\"p\":{\"counter_w\":\"pubkey\",\"authority_s\":\"pubkey\",\"amount\":\"u64\"},\"r\":[\"counter_w\",\"authority_s\",\"amount\"]},{\"n\":\"decrement\",\"i\":\"Take an amount from the counter, and return what is left.\",\"d\":\"6ae3a83bf81b9665\",\"p\":{\"counter_w\":\"pubkey\",\"authority_s\":\"pubkey\",\"amount\":\"u64\"},\"r\":[\"counter_w\",\"authority_s\",\"amount\"]},{\"n\":\"close\",\"i\":\"Close the counter and give its rent back to the wallet.\",\"d\":\"62a5c9b16c41ce60\",\"p\":{\"counter_w\":\"pubkey\",\"authority_sw\":\"pubkey\"},\"r\":[\"counter_w\",\"authority_sw\"]}],\"stream\":{\"at\":32768,\"size\":854,\"text\":3391,\"sha256\":\"2f3d1148f0579bba9129f66d0260202349f509217f53fa0fd90fd45d4fde0810\"},\"nextCursor\":\"1\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"counter\",\"x\":1,\"tools\":[],\"more\":[[0,{\"x\":{\"s\":{\"counter_w\":[[[\"const\",\"636f756e746572\"],[\"account\",[\"authority\"]]]]},\"a\":{\"system_program\":\"11111111111111111111111111111111\"}}}],[1,{\"x\":{\"s\":{\"counter_w\":[[[\"const\",\"636f756e746572\"],[\"account\",[\"authority\"]]]]}}}],[2,{\"x\":{\"s\":{\"counter_w\":[[[\"const\",\"636f756e746572\"],[\"account\",[\"authority\"]]]]},\"ret\":\"u64\"}}],[3,{\"x\":{\"s\":{\"counter_w\":[[[\"const\",\"636f756e746572\"],[\"account\",[\"authority\"]]]]}}}]]}",
];

/// The lossless stream: the whole model, compressed, in pages at high cursors. Page 0 says
/// where, how long it is and its sha256.
const STREAM_BYTES: &[u8] = include_bytes!("schema.bin");

/// One page of the stream for each cursor from `STREAM_BASE`.
static STREAM: [&[u8]; 1] = [part(0, 864)];

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

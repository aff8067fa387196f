// Rendered by idl2mcp from spec.py; edit the source. [1ae432cd6a6390a3]
//! The pages of list_tools, and how they are found.

use {
    crate::error::Check,
    pinocchio::{error::ProgramError, hint::cold_path},
};

/// sha256("global:list_tools")[..8]
pub const LIST_TOOLS: u64 = u64::from_le_bytes([0x42, 0x19, 0x5e, 0x6a, 0x55, 0xfd, 0x41, 0xc0]);

/// The JSON page of each cursor from 0.
static PAGES: [&[u8]; 2] = [
    b"{\"v\":\"2024-11-05\",\"name\":\"counter\",\"x\":1,\"tools\":[{\"n\":\"initialize\",\"i\":\"Create the counter of a wallet.\",\"d\":\"afaf6d1f0d989bed\",\"p\":{\"counter_w\":\"pubkey\",\"authority_sw\":\"pubkey\",\"system_program\":\"pubkey\",\"start\":\"u64\"},\"r\":[\"counter_w\",\"authority_sw\",\"system_program\",\"start\"]},{\"n\":\"increment\",\"i\":\"Add an amount to the counter.\",\"d\":\"0b12680968ae3b21\",\"p\":{\"counter_w\":\"pubkey\",\"authority_s\":\"pubkey\",\"amount\":\"u64\"},\"r\":[\"counter_w\",\"authority_s\",\"amount\"]},{\"n\":\"decrement\",\"i\":\"Take an amount from the counter, and return what is left.\",\"d\":\"6ae3a83bf81b9665\",\"p\":{\"counter_w\":\"pubkey\",\"authority_s\":\"pubkey\",\"amount\":\"u64\"},\"r\":[\"counter_w\",\"authority_s\",\"amount\"]},{\"n\":\"close\",\"i\":\"Close the counter and give its rent back to the wallet.\",\"d\":\"62a5c9b16c41ce60\",\"p\":{\"counter_w\":\"pubkey\",\"authority_sw\":\"pubkey\"},\"r\":[\"counter_w\",\"authority_sw\"]}],\"stream\":{\"at\":32768,\"size\":854,\"text\":3391,\"sha256\":\"2f3d1148f0579bba9129f66d0260202349f509217f53fa0fd90fd45d4fde0810\"},\"nextCursor\":\"1\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"counter\",\"x\":1,\"tools\":[],\"more\":[[0,{\"x\":{\"s\":{\"counter_w\":[[[\"const\",\"636f756e746572\"],[\"account\",[\"authority\"]]]]},\"a\":{\"system_program\":\"11111111111111111111111111111111\"}}}],[1,{\"x\":{\"s\":{\"counter_w\":[[[\"const\",\"636f756e746572\"],[\"account\",[\"authority\"]]]]}}}],[2,{\"x\":{\"s\":{\"counter_w\":[[[\"const\",\"636f756e746572\"],[\"account\",[\"authority\"]]]]},\"ret\":\"u64\"}}],[3,{\"x\":{\"s\":{\"counter_w\":[[[\"const\",\"636f756e746572\"],[\"account\",[\"authority\"]]]]}}}]]}",
];

/// The whole model, compressed. Page 0 has its cursor, length and sha256.
const STREAM_BYTES: &[u8] = include_bytes!("schema.bin");

/// The page of the stream for each cursor from `STREAM_BASE`.
static STREAM: [&[u8]; 1] = [part(0, 864)];

const STREAM_BASE: usize = 32768;

const fn part(from: usize, to: usize) -> &'static [u8] {
    STREAM_BYTES.split_at(to).0.split_at(from).1
}

#[inline(always)]
fn json_page(cursor: usize) -> Option<&'static [u8]> {
    PAGES.get(cursor).copied()
}

#[inline(always)]
fn any_page(cursor: usize) -> Option<&'static [u8]> {
    match json_page(cursor) {
        None => STREAM.get(cursor.wrapping_sub(STREAM_BASE)).copied(),
        found => found,
    }
}

/// Answers list_tools if it comes without accounts, as clients send it. Returns the exit code, or
/// None for every other call and for a cursor without a page.
///
/// Without accounts the loader's buffer has each part at a fixed offset, so nothing is parsed:
/// the number of accounts at 0, the length of the data at 8, the data at 16. The most frequent
/// cursors come first: one byte, then two, then none.
///
/// # Safety
///
/// `input` is the loader's buffer, which has at least 48 bytes.
#[inline(always)]
pub unsafe fn list_tools_without_accounts(input: *const u8) -> Option<u64> {
    // SAFETY: these words are there and aligned, and the cursor is within the data's length.
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

/// Returns `page` to the caller. The syscall leaves 0 in the register of the exit code.
#[inline(always)]
fn answer(page: &[u8]) -> u64 {
    // SAFETY: the syscall reads `page.len()` bytes from `page`.
    unsafe { sol_set_return_data(page.as_ptr(), page.len() as u64) }
}

// As in solana-define-syscall, but with the result, which is 0.
#[cfg(any(target_os = "solana", target_arch = "bpf"))]
solana_define_syscall::define_syscall!(fn sol_set_return_data(data: *const u8, length: u64) -> u64);

#[cfg(not(any(target_os = "solana", target_arch = "bpf")))]
unsafe fn sol_set_return_data(data: *const u8, length: u64) -> u64 {
    core::hint::black_box((data, length));
    0
}

/// Answers list_tools if it comes with accounts, and fails for an unknown instruction. Returns the
/// exit code.
///
/// A function apart, so that other instructions do not pay for the comparison.
#[cold]
#[inline(never)]
pub fn list_tools(discriminator: u64, cursor: &[u8]) -> u64 {
    if discriminator != LIST_TOOLS {
        return ProgramError::from(Check::InstructionFallbackNotFound).into();
    }
    let cursor = match *cursor {
        [] => Some(0),
        [low] => Some(usize::from(low)),
        [low, high] => Some(usize::from(u16::from_le_bytes([low, high]))),
        _ => None,
    };
    match cursor.and_then(any_page) {
        Some(page) => answer(page),
        None => ProgramError::InvalidInstructionData.into(),
    }
}

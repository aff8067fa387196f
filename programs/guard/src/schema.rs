// Rendered by idl2mcp from spec.py; edit the source. [e75e76cd90e406c7]
//! The pages of list_tools, and how they are found.

use {
    crate::error::Check,
    pinocchio::{error::ProgramError, hint::cold_path},
};

/// sha256("global:list_tools")[..8]
pub const LIST_TOOLS: u64 = u64::from_le_bytes([0x42, 0x19, 0x5e, 0x6a, 0x55, 0xfd, 0x41, 0xc0]);

/// The JSON page of each cursor from 0.
static PAGES: [&[u8]; 1] = [
    b"{\"v\":\"2024-11-05\",\"name\":\"guard\",\"x\":1,\"tools\":[{\"n\":\"assert_account_info_multi\",\"i\":\"Assert the least lamports of an account, the length of its data, and its owner.\",\"d\":\"06\",\"p\":{\"target_account\":\"pubkey\",\"log_level\":\"u8\",\"assertions\":\"raw\",\"read x\":\"x\"},\"r\":[\"target_account\",\"log_level\",\"assertions\",\"read x\"]},{\"n\":\"assert_account_data_multi\",\"i\":\"Assert numbers and addresses in the data of an account.\",\"d\":\"03\",\"p\":{\"target_account\":\"pubkey\",\"log_level\":\"u8\",\"assertions\":\"raw\",\"read x\":\"x\"},\"r\":[\"target_account\",\"log_level\",\"assertions\",\"read x\"]}],\"stream\":{\"at\":32768,\"size\":665,\"text\":1832,\"sha256\":\"b579f239ff61e2a2bb5c270d582bda064730ed90013a6c6124f568e7eefba36f\"}}",
];

/// The whole model, compressed. Page 0 has its cursor, length and sha256.
const STREAM_BYTES: &[u8] = include_bytes!("schema.bin");

/// The page of the stream for each cursor from `STREAM_BASE`.
static STREAM: [&[u8]; 1] = [part(0, 675)];

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

/// Like `list_tools`, for the whole instruction data.
#[cold]
#[inline(never)]
pub fn list_tools_in(data: &[u8]) -> u64 {
    match data.split_first_chunk() {
        Some((discriminator, cursor)) => list_tools(u64::from_le_bytes(*discriminator), cursor),
        None => ProgramError::from(Check::InstructionFallbackNotFound).into(),
    }
}

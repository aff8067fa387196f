// Rendered by idl2mcp from spec.py; edit the source. [8f28f53a21c93961]
//! The pages of list_tools, and how they are found.

use {
    crate::error::Check,
    pinocchio::{error::ProgramError, hint::cold_path},
};

/// sha256("global:list_tools")[..8]
pub const LIST_TOOLS: u64 = u64::from_le_bytes([0x42, 0x19, 0x5e, 0x6a, 0x55, 0xfd, 0x41, 0xc0]);

/// The JSON page of each cursor from 0.
static PAGES: [&[u8]; 3] = [
    b"{\"v\":\"2024-11-05\",\"name\":\"vault\",\"x\":1,\"tools\":[{\"n\":\"initialize\",\"i\":\"Create an empty vault for a wallet and a mint.\",\"d\":\"afaf6d1f0d989bed\",\"p\":{\"vault_w\":\"pubkey\",\"tokens_w\":\"pubkey\",\"mint\":\"pubkey\",\"authority_sw\":\"pubkey\",\"token_program\":\"pubkey\",\"system_program\":\"pubkey\"},\"r\":[\"vault_w\",\"tokens_w\",\"mint\",\"authority_sw\",\"token_program\",\"system_program\"]},{\"n\":\"deposit\",\"i\":\"Put tokens into a vault. Anyone may; only the vault's authority can take them out.\",\"d\":\"f223c68952e1f2b6\",\"p\":{\"vault_w\":\"pubkey\",\"tokens_w\":\"pubkey\",\"source_w\":\"pubkey\",\"mint\":\"pubkey\",\"depositor_s\":\"pubkey\",\"token_program\":\"pubkey\",\"amount\":\"u64\"},\"r\":[\"vault_w\",\"tokens_w\",\"source_w\",\"mint\",\"depositor_s\",\"token_program\",\"amount\"]}],\"stream\":{\"at\":32768,\"size\":1106,\"text\":4954,\"sha256\":\"b654a990742db91740415eed392d36a3759cd3b7f2de7b7deedb1cbf25bf2966\"},\"nextCursor\":\"1\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"vault\",\"x\":1,\"tools\":[{\"n\":\"withdraw\",\"i\":\"Take tokens out of a vault, and return how many are left in it.\",\"d\":\"b712469c946da122\",\"p\":{\"vault_w\":\"pubkey\",\"tokens_w\":\"pubkey\",\"destination_w\":\"pubkey\",\"mint\":\"pubkey\",\"authority_s\":\"pubkey\",\"token_program\":\"pubkey\",\"amount\":\"u64\"},\"r\":[\"vault_w\",\"tokens_w\",\"destination_w\",\"mint\",\"authority_s\",\"token_program\",\"amount\"]}],\"more\":[[0,{\"x\":{\"s\":{\"vault_w\":[[[\"const\",\"7661756c74\"],[\"account\",[\"authority\"]],[\"account\",[\"mint\"]]]],\"tokens_w\":[[[\"const\",\"746f6b656e73\"],[\"account\",[\"vault\"]]]]},\"a\":{\"token_program\":\"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA\",\"system_program\":\"11111111111111111111111111111111\"}}}],[1,{\"x\":{\"s\":{\"vault_w\":[[[\"const\",\"7661756c74\"],[\"account\",[\"vault\"],[\"authority\"],\"State\",\"pubkey\"],[\"account\",[\"mint\"]]]],\"tokens_w\":[[[\"const\",\"746f6b656e73\"],[\"account\",[\"vault\"]]]]},\"a\":{\"token_program\":\"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA\"}}}]],\"nextCursor\":\"2\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"vault\",\"x\":1,\"tools\":[],\"more\":[[2,{\"x\":{\"s\":{\"vault_w\":[[[\"const\",\"7661756c74\"],[\"account\",[\"authority\"]],[\"account\",[\"mint\"]]]],\"tokens_w\":[[[\"const\",\"746f6b656e73\"],[\"account\",[\"vault\"]]]]},\"a\":{\"token_program\":\"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA\"},\"ret\":\"u64\"}}]]}",
];

/// The whole model, compressed. Page 0 has its cursor, length and sha256.
const STREAM_BYTES: &[u8] = include_bytes!("schema.bin");

/// The page of the stream for each cursor from `STREAM_BASE`.
static STREAM: [&[u8]; 2] = [part(0, 1024), part(1024, 1126)];

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

// Rendered by idl2mcp from spec.py; edit the source. [b413c139127a839f]
//! The pages of list_tools, and how they are found.

use {
    crate::{error::Check, log::return_data},
    solana_program::{entrypoint::ProgramResult, program_error::ProgramError},
};

/// sha256("global:list_tools")[..8]
pub const LIST_TOOLS: [u8; 8] = [0x42, 0x19, 0x5e, 0x6a, 0x55, 0xfd, 0x41, 0xc0];

/// The JSON page of each cursor from 0.
static PAGES: [&[u8]; 2] = [
    b"{\"v\":\"2024-11-05\",\"name\":\"counter\",\"x\":1,\"tools\":[{\"n\":\"initialize\",\"i\":\"Create the counter of a wallet.\",\"d\":\"afaf6d1f0d989bed\",\"p\":{\"counter_w\":\"pubkey\",\"authority_sw\":\"pubkey\",\"system_program\":\"pubkey\",\"start\":\"u64\"},\"r\":[\"counter_w\",\"authority_sw\",\"system_program\",\"start\"]},{\"n\":\"increment\",\"i\":\"Add an amount to the counter.\",\"d\":\"0b12680968ae3b21\",\"p\":{\"counter_w\":\"pubkey\",\"authority_s\":\"pubkey\",\"amount\":\"u64\"},\"r\":[\"counter_w\",\"authority_s\",\"amount\"]},{\"n\":\"decrement\",\"i\":\"Take an amount from the counter, and return what is left.\",\"d\":\"6ae3a83bf81b9665\",\"p\":{\"counter_w\":\"pubkey\",\"authority_s\":\"pubkey\",\"amount\":\"u64\"},\"r\":[\"counter_w\",\"authority_s\",\"amount\"]},{\"n\":\"close\",\"i\":\"Close the counter and give its rent back to the wallet.\",\"d\":\"62a5c9b16c41ce60\",\"p\":{\"counter_w\":\"pubkey\",\"authority_sw\":\"pubkey\"},\"r\":[\"counter_w\",\"authority_sw\"]}],\"stream\":{\"at\":32768,\"size\":854,\"text\":3391,\"sha256\":\"2f3d1148f0579bba9129f66d0260202349f509217f53fa0fd90fd45d4fde0810\"},\"nextCursor\":\"1\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"counter\",\"x\":1,\"tools\":[],\"more\":[[0,{\"x\":{\"s\":{\"counter_w\":[[[\"const\",\"636f756e746572\"],[\"account\",[\"authority\"]]]]},\"a\":{\"system_program\":\"11111111111111111111111111111111\"}}}],[1,{\"x\":{\"s\":{\"counter_w\":[[[\"const\",\"636f756e746572\"],[\"account\",[\"authority\"]]]]}}}],[2,{\"x\":{\"s\":{\"counter_w\":[[[\"const\",\"636f756e746572\"],[\"account\",[\"authority\"]]]]},\"ret\":\"u64\"}}],[3,{\"x\":{\"s\":{\"counter_w\":[[[\"const\",\"636f756e746572\"],[\"account\",[\"authority\"]]]]}}}]]}",
];

/// The whole model, compressed. Page 0 has its cursor, length and sha256.
const STREAM: &[u8] = include_bytes!("schema.bin");

/// The cursor of the stream's first page.
const STREAM_BASE: usize = 32768;

/// Bytes of a stream page. The last one may be shorter.
const STREAM_PAGE: usize = 1_024;

fn json_page(cursor: usize) -> Option<&'static [u8]> {
    PAGES.get(cursor).copied()
}

fn stream_page(cursor: usize) -> Option<&'static [u8]> {
    let start = cursor.checked_sub(STREAM_BASE)?.checked_shl(10)?;
    let rest = STREAM.get(start..)?;
    match rest.get(..STREAM_PAGE) {
        _ if rest.is_empty() => None,
        Some(page) => Some(page),
        None => Some(rest),
    }
}

/// Answers list_tools, and fails for an unknown instruction.
#[inline(never)]
pub fn list_tools(data: &[u8]) -> ProgramResult {
    let Some(cursor) = data.strip_prefix(&LIST_TOOLS) else {
        return Err(Check::InstructionFallbackNotFound.into());
    };
    let cursor = match *cursor {
        [] => 0,
        [low] => usize::from(low),
        [low, high] => usize::from(u16::from_le_bytes([low, high])),
        _ => return Err(ProgramError::InvalidInstructionData),
    };
    let page = json_page(cursor).or_else(|| stream_page(cursor));
    return_data(page.ok_or(ProgramError::InvalidInstructionData)?);
    Ok(())
}

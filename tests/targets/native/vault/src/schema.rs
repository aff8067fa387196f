// Rendered by idl2mcp from spec.py; edit the source. [8ee0242e2550a37f]
//! The pages of list_tools, and how they are found.

use {
    crate::{error::Check, log::return_data},
    solana_program::{entrypoint::ProgramResult, program_error::ProgramError},
};

/// sha256("global:list_tools")[..8]
pub const LIST_TOOLS: [u8; 8] = [0x42, 0x19, 0x5e, 0x6a, 0x55, 0xfd, 0x41, 0xc0];

/// The JSON page of each cursor from 0.
static PAGES: [&[u8]; 3] = [
    b"{\"v\":\"2024-11-05\",\"name\":\"vault\",\"x\":1,\"tools\":[{\"n\":\"initialize\",\"i\":\"Create an empty vault for a wallet and a mint.\",\"d\":\"afaf6d1f0d989bed\",\"p\":{\"vault_w\":\"pubkey\",\"tokens_w\":\"pubkey\",\"mint\":\"pubkey\",\"authority_sw\":\"pubkey\",\"token_program\":\"pubkey\",\"system_program\":\"pubkey\"},\"r\":[\"vault_w\",\"tokens_w\",\"mint\",\"authority_sw\",\"token_program\",\"system_program\"]},{\"n\":\"deposit\",\"i\":\"Put tokens into a vault. Anyone may; only the vault's authority can take them out.\",\"d\":\"f223c68952e1f2b6\",\"p\":{\"vault_w\":\"pubkey\",\"tokens_w\":\"pubkey\",\"source_w\":\"pubkey\",\"mint\":\"pubkey\",\"depositor_s\":\"pubkey\",\"token_program\":\"pubkey\",\"amount\":\"u64\"},\"r\":[\"vault_w\",\"tokens_w\",\"source_w\",\"mint\",\"depositor_s\",\"token_program\",\"amount\"]}],\"stream\":{\"at\":32768,\"size\":1106,\"text\":4954,\"sha256\":\"b654a990742db91740415eed392d36a3759cd3b7f2de7b7deedb1cbf25bf2966\"},\"nextCursor\":\"1\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"vault\",\"x\":1,\"tools\":[{\"n\":\"withdraw\",\"i\":\"Take tokens out of a vault, and return how many are left in it.\",\"d\":\"b712469c946da122\",\"p\":{\"vault_w\":\"pubkey\",\"tokens_w\":\"pubkey\",\"destination_w\":\"pubkey\",\"mint\":\"pubkey\",\"authority_s\":\"pubkey\",\"token_program\":\"pubkey\",\"amount\":\"u64\"},\"r\":[\"vault_w\",\"tokens_w\",\"destination_w\",\"mint\",\"authority_s\",\"token_program\",\"amount\"]}],\"more\":[[0,{\"x\":{\"s\":{\"vault_w\":[[[\"const\",\"7661756c74\"],[\"account\",[\"authority\"]],[\"account\",[\"mint\"]]]],\"tokens_w\":[[[\"const\",\"746f6b656e73\"],[\"account\",[\"vault\"]]]]},\"a\":{\"token_program\":\"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA\",\"system_program\":\"11111111111111111111111111111111\"}}}],[1,{\"x\":{\"s\":{\"vault_w\":[[[\"const\",\"7661756c74\"],[\"account\",[\"vault\"],[\"authority\"],\"State\",\"pubkey\"],[\"account\",[\"mint\"]]]],\"tokens_w\":[[[\"const\",\"746f6b656e73\"],[\"account\",[\"vault\"]]]]},\"a\":{\"token_program\":\"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA\"}}}]],\"nextCursor\":\"2\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"vault\",\"x\":1,\"tools\":[],\"more\":[[2,{\"x\":{\"s\":{\"vault_w\":[[[\"const\",\"7661756c74\"],[\"account\",[\"authority\"]],[\"account\",[\"mint\"]]]],\"tokens_w\":[[[\"const\",\"746f6b656e73\"],[\"account\",[\"vault\"]]]]},\"a\":{\"token_program\":\"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA\"},\"ret\":\"u64\"}}]]}",
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

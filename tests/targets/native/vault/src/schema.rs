// Rendered by idl2mcp from spec.py; edit the source. [0fc2e4aa84412ecf]
//! The pages of list_tools: one for each cursor, handed out as return data.

use crate::log::return_data;
use solana_program::entrypoint::ProgramResult;
use solana_program::program_error::ProgramError;

/// sha256("global:list_tools")[..8]
pub const LIST_TOOLS: [u8; 8] = [0x42, 0x19, 0x5e, 0x6a, 0x55, 0xfd, 0x41, 0xc0];

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
fn page(cursor: usize) -> Option<&'static [u8]> {
    PAGES.get(cursor).copied()
}

/// The stream page at `cursor`, if there is one.
fn stream_page(cursor: usize) -> Option<&'static [u8]> {
    let start = cursor.checked_sub(STREAM_BASE)?.checked_shl(10)?;
    let rest = STREAM.get(start..)?;
    match rest.get(..STREAM_PAGE) {
        _ if rest.is_empty() => None,
        Some(page) => Some(page),
        None => Some(rest),
    }
}

/// Answers list_tools: its discriminator, then the cursor (none, u8 or u16). None where this is
/// something else.
#[inline(never)]
pub fn list_tools(data: &[u8]) -> Option<ProgramResult> {
    let cursor = match data.strip_prefix(&LIST_TOOLS)? {
        [] => 0,
        [low] => usize::from(*low),
        [low, high] => usize::from(u16::from_le_bytes([*low, *high])),
        _ => return Some(Err(ProgramError::InvalidInstructionData)),
    };
    let found = page(cursor).or_else(|| stream_page(cursor));
    Some(match found {
        Some(page) => {
            return_data(page);
            Ok(())
        }
        None => Err(ProgramError::InvalidInstructionData),
    })
}

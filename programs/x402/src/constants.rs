// Rendered by idl2mcp from spec.py; edit the source. [42a4f00562f56c81]
//! The program's constants.

use pinocchio::Address;

/// Owns the token accounts that get remainders and redirected shares.
/// DrLViEZBgqj6TgP8vKqu22uvLgV6p3tfkvCYfG8yqSUn
pub const TREASURY_OWNER: Address = Address::new_from_array([
    0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef,
    0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef,
]);

/// Slots within which a channel must be opened. Its account exists for at least as long.
pub const OPEN_SLOT_WINDOW: u64 = 1500;

/// The most entries of a channel's distribution.
pub const MAX_RECIPIENTS: u32 = 32;

/// The most seconds from a payment to its expiry: 30 days.
pub const MAX_PAYMENT_TIME: i64 = 2_592_000;

/// Seconds for which a receipt is kept after its expiry: 7 days.
pub const RECEIPT_RETENTION: i64 = 604_800;

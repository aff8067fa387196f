// Rendered by idl2mcp from spec.py; edit the source. [36b8c7205e311194]
//! The program's constants.

use pinocchio::Address;

/// Gets what nobody else can.
/// DrLViEZBgqj6TgP8vKqu22uvLgV6p3tfkvCYfG8yqSUn
pub const TREASURY_OWNER: Address = Address::new_from_array([
    0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef,
    0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef,
]);

/// Slots in which a channel must be opened, and before which it stays.
pub const OPEN_SLOT_WINDOW: u64 = 1500;

/// Entries of a channel's distribution at most.
pub const MAX_RECIPIENTS: u32 = 32;

/// Seconds from a payment to its expiry at most: 30 days.
pub const MAX_PAYMENT_TIME: i64 = 2_592_000;

/// Seconds that a receipt is kept after its expiry: 7 days.
pub const RECEIPT_RETENTION: i64 = 604_800;

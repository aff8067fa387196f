// Rendered by idl2mcp from spec.py; edit the source. [c4b1dca42f85c4d3]
//! The handler of each instruction.

pub mod cancel;
pub mod change_plan;
pub mod channel_status;
pub mod charge;
pub mod close_plan;
pub mod close_receipt;
pub mod close_subscription;
pub mod create_plan;
pub mod distribute;
pub mod emit_event;
pub mod merchant_cancel;
pub mod open;
pub mod pay;
pub mod quote;
pub mod reclaim;
pub mod request_close;
pub mod seal;
pub mod set_plan_open;
pub mod settle;
pub mod settle_and_seal;
pub mod subscribe;
pub mod subscription_status;
pub mod top_up;
pub mod withdraw_payer;

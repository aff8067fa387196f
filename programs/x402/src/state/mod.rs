// Rendered by idl2mcp from spec.py; edit the source. [9d3f4721b1e7978b]
//! The program's account types.

mod channel;
mod plan;
mod receipt;
mod subscription;

pub use {channel::Channel, plan::Plan, receipt::Receipt, subscription::Subscription};

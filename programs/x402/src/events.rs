// Rendered by idl2mcp from spec.py; edit the source. [73ee1087e2bebad2]
//! Events, written to the transaction's log.

use {
    crate::{
        codec::{Output, Writer},
        log::log_data,
    },
    pinocchio::ProgramResult,
};

pub use crate::types::Cancelled;
pub use crate::types::Charged;
pub use crate::types::CloseRequested;
pub use crate::types::Distributed;
pub use crate::types::Opened;
pub use crate::types::Paid;
pub use crate::types::PayerWithdrew;
pub use crate::types::PayoutRedirected;
pub use crate::types::PlanChanged;
pub use crate::types::PlanClosed;
pub use crate::types::PlanCreated;
pub use crate::types::PlanOpened;
pub use crate::types::ReceiptClosed;
pub use crate::types::Reclaimed;
pub use crate::types::Sealed;
pub use crate::types::Settled;
pub use crate::types::Subscribed;
pub use crate::types::SubscriptionClosed;
pub use crate::types::ToppedUp;

impl Opened {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0xa6, 0xac, 0x61, 0x09, 0x4d, 0x4c, 0xbd, 0x6d];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 48];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl PayoutRedirected {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0xd1, 0x16, 0xb9, 0xd7, 0x54, 0xa7, 0x54, 0x50];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 82];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl Settled {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0xe8, 0xd2, 0x28, 0x11, 0x8e, 0x7c, 0x91, 0xee];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 48];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl ToppedUp {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0x61, 0x51, 0xee, 0xb6, 0x61, 0xea, 0xb1, 0x98];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 48];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl CloseRequested {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0x88, 0x78, 0xaa, 0x4e, 0xa8, 0xec, 0x2f, 0x76];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 48];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl Sealed {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0x52, 0x70, 0x65, 0xda, 0x4f, 0x3a, 0x31, 0x1e];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 48];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl Distributed {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0x0a, 0xd4, 0x18, 0x4e, 0x23, 0xca, 0xb6, 0x86];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 49];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl PayerWithdrew {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0xe5, 0xfb, 0x95, 0x15, 0xae, 0x8e, 0x05, 0x5a];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 48];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl Reclaimed {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0xe6, 0x19, 0x20, 0x87, 0x28, 0xa7, 0x89, 0x82];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 40];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl Paid<'_> {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0xf0, 0xc1, 0x11, 0xee, 0xee, 0xd2, 0x81, 0xeb];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 208];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl ReceiptClosed<'_> {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0x7f, 0xe8, 0xa1, 0x45, 0x2e, 0xbb, 0x9f, 0xbc];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 72];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl PlanCreated {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0xd7, 0x0b, 0x87, 0x79, 0xd0, 0x77, 0x95, 0x95];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 116];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl PlanOpened {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0xb4, 0x28, 0x8b, 0x84, 0xf8, 0x22, 0xd5, 0x3a];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 41];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl PlanClosed {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0xf4, 0x87, 0x2c, 0xa7, 0x68, 0xee, 0xcf, 0x0c];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 40];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl Subscribed {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0x87, 0x3b, 0x69, 0x4c, 0xbe, 0xec, 0x8a, 0xe4];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 124];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl Charged {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0xa7, 0xaa, 0x43, 0xb3, 0x2f, 0x58, 0xdd, 0x84];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 60];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl PlanChanged {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0xb7, 0xf4, 0x56, 0xd5, 0x2a, 0xd2, 0xd9, 0x48];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 84];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl Cancelled {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0x88, 0x17, 0x2a, 0x41, 0x8f, 0xe9, 0xea, 0x2e];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 49];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl SubscriptionClosed {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0x08, 0x68, 0x11, 0x48, 0x71, 0x33, 0x9c, 0x5c];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 40];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

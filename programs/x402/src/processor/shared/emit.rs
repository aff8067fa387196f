//! Events by CPI: the program calls itself, so that an event cannot be cut from the log.

use {
    crate::codec::{Output, Writer},
    pinocchio::{
        cpi::{invoke_signed, Seed, Signer},
        instruction::{InstructionAccount, InstructionView},
        AccountView, Address, ProgramResult,
    },
};

/// sha256("anchor:event")[..8], reversed; its first byte is emit_event's discriminator.
const TAG: [u8; 8] = [0xe4, 0x45, 0xa5, 0x2e, 0x51, 0xcb, 0x9a, 0x1d];

/// Who emits: this program, its event authority and the bump of that.
pub struct Emitter<'a> {
    pub program_id: &'a Address,
    pub program: &'a AccountView,
    pub authority: &'a AccountView,
    pub bump: u8,
}

impl Emitter<'_> {
    /// `N`: bytes of the tag, the event's discriminator and the event.
    pub fn emit<const N: usize>(
        &self,
        discriminator: [u8; 8],
        event: impl FnOnce(&mut Writer) -> ProgramResult,
    ) -> ProgramResult {
        let mut data = [0; N];
        let w = &mut Writer::new(&mut data);
        w.put(&TAG)?;
        w.put(&discriminator)?;
        event(w)?;
        let bump = [self.bump];
        let seeds = [Seed::from(b"event_authority".as_slice()), Seed::from(&bump)];
        invoke_signed(
            &InstructionView {
                program_id: self.program_id,
                accounts: &[InstructionAccount::readonly_signer(
                    self.authority.address(),
                )],
                data: &data,
            },
            &[self.authority, self.program],
            &[Signer::from(&seeds)],
        )
    }
}

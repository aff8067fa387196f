//! Open a channel: put tokens into escrow, from which vouchers of the authorized signer pay the
//! payee.

use {
    crate::{
        checks::ensure,
        codec::{Output, Writer},
        constants::OPEN_SLOT_WINDOW,
        error::X402Error,
        events::Opened,
        instruction::open::{Accounts, Args},
        processor::shared::{channel, emit::Emitter, tokens},
        state::Channel,
        types::DistributionEntry,
    },
    pinocchio::{
        sysvars::{clock::Clock, Sysvar},
        ProgramResult,
    },
    pinocchio_associated_token_account::instructions::CreateIdempotent,
};

/// 4 bytes of count and 32 entries of 34 bytes.
const MOST_BYTES: usize = 1_092;

/// The hash of the list of entries, encoded as in the instruction's data.
#[inline(never)]
pub fn hash(entries: &[DistributionEntry]) -> Result<[u8; 32], pinocchio::error::ProgramError> {
    let mut bytes = [0; MOST_BYTES];
    let w = &mut Writer::new(&mut bytes);
    w.length::<4>(entries.len())?;
    for entry in entries {
        entry.encode(w)?;
    }
    let used = MOST_BYTES.saturating_sub(w.room());
    Ok(channel::sha256(bytes.get(..used).unwrap_or_default()))
}

/// The channel's account was created before this, as the spec says.
pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    let (payer, payee) = (*accounts.payer.address(), *accounts.payee.address());
    ensure(payer != payee, X402Error::PayerPayeeMustDiffer)?;
    ensure(args.deposit > 0, X402Error::DepositMustBeNonZero)?;
    ensure(args.grace_period > 0, X402Error::GracePeriodMustBeNonZero)?;
    ensure(
        accounts.authorized_signer.address().is_on_curve(),
        X402Error::InvalidAuthorizedSigner,
    )?;
    let age = Clock::get()?.slot.checked_sub(args.open_slot);
    ensure(
        age.is_some_and(|slots| slots <= OPEN_SLOT_WINDOW),
        X402Error::OpenSlotOutOfWindow,
    )?;
    channel::entries(&args.recipients)?;
    let address = *accounts.channel.address();
    let pays_itself = args.recipients.iter().any(|e| e.recipient == address);
    ensure(!pays_itself, X402Error::InvalidSplitConfig)?;
    let decimals = crate::helpers::mint_to_hold(accounts.mint, accounts.token_program)?;
    tokens::must_hold(
        accounts.payer_token_account,
        &payer,
        accounts.mint,
        accounts.token_program,
        tokens::PAYER,
    )?;

    {
        let mut data = accounts.channel.try_borrow_mut()?;
        let state = Channel::load_mut(&mut data)?;
        state.version = channel::VERSION;
        state.status = channel::OPEN;
        state.salt.set(args.salt);
        state.deposit.set(args.deposit);
        state.grace_period.set(args.grace_period);
        state.distribution_hash = hash(&args.recipients)?;
        state.payer = payer;
        state.payee = payee;
        state.authorized_signer = *accounts.authorized_signer.address();
        state.mint = *accounts.mint.address();
        state.rent_payer = *accounts.rent_payer.address();
        state.open_slot.set(args.open_slot);
    }
    // an existing account is used: nobody can block an opening by creating it first
    CreateIdempotent {
        funding_account: accounts.rent_payer,
        account: accounts.channel_token_account,
        wallet: accounts.channel,
        mint: accounts.mint,
        system_program: accounts.system_program,
        token_program: accounts.token_program,
    }
    .invoke()?;
    tokens::Move {
        from: accounts.payer_token_account,
        mint: accounts.mint,
        to: accounts.channel_token_account,
        authority: accounts.payer,
        amount: args.deposit,
        decimals,
        token_program: accounts.token_program,
    }
    .make(&[])?;
    let event = Opened {
        channel: address,
        open_slot: args.open_slot,
    };
    Emitter {
        program_id: accounts.program_id,
        program: accounts.self_program,
        authority: accounts.event_authority,
        bump: accounts.event_authority_bump,
    }
    .emit::<56>(Opened::DISCRIMINATOR, |w| event.encode(w))
}

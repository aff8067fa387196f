//! Take the rest out of a sealed channel as its payer, once: the tokens that no voucher proved.

use {
    crate::{
        checks::ensure,
        error::X402Error,
        events::PayerWithdrew,
        instruction::withdraw_payer::{Accounts, Args},
        processor::shared::{channel, now, tokens},
        state::Channel,
    },
    pinocchio::{cpi::Signer, ProgramResult},
};

const ESCROW: [X402Error; 3] = [
    X402Error::ChannelAccountMismatch,
    X402Error::InvalidChannelTokenAccount,
    X402Error::InvalidChannelTokenExtensions,
];

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let address = *accounts.channel.address();
    let token_program = accounts.token_program.address();
    let mint = accounts.mint.address();
    let payer = accounts.payer.address();
    let amount = {
        let data = accounts.channel.try_borrow()?;
        let state = Channel::load(&data)?;
        channel::in_status(state, channel::SEALED)?;
        ensure(
            state.payer_withdrawn_at.get() == 0,
            X402Error::PayerAlreadyWithdrawn,
        )?;
        state
            .deposit
            .get()
            .checked_sub(state.settled.get())
            .ok_or(X402Error::RefundCalculationOverflow)?
    };
    let decimals = tokens::mint_to_hold(accounts.mint, token_program)?;
    let escrow = &accounts.channel_token_account;
    tokens::must_hold(escrow, &address, mint, token_program, ESCROW)?;
    let target = &accounts.payer_token_account;
    tokens::must_hold(target, payer, mint, token_program, tokens::PAYER)?;

    {
        let mut data = accounts.channel.try_borrow_mut()?;
        Channel::load_mut(&mut data)?.payer_withdrawn_at.set(now()?);
    }
    tokens::Move {
        from: accounts.channel_token_account,
        mint: accounts.mint,
        to: accounts.payer_token_account,
        authority: accounts.channel,
        amount,
        decimals,
        token_program: accounts.token_program,
    }
    .make(&[Signer::from(&accounts.channel_seeds())])?;
    PayerWithdrew {
        channel: address,
        amount,
    }
    .emit()
}

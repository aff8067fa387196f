//! Put more tokens into an open channel.

use {
    crate::{
        checks::ensure,
        error::X402Error,
        events::ToppedUp,
        instruction::top_up::{Accounts, Args},
        processor::shared::{channel, tokens},
        state::Channel,
    },
    pinocchio::ProgramResult,
};

const ESCROW: [X402Error; 3] = [
    X402Error::ChannelAccountMismatch,
    X402Error::InvalidChannelTokenAccount,
    X402Error::InvalidChannelTokenExtensions,
];

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    let address = *accounts.channel.address();
    let token_program = accounts.token_program.address();
    let mint = accounts.mint.address();
    let payer = accounts.payer.address();
    ensure(args.amount > 0, X402Error::DepositMustBeNonZero)?;
    channel::in_status(
        Channel::load(&accounts.channel.try_borrow()?)?,
        channel::OPEN,
    )?;
    let decimals = tokens::mint_to_hold(accounts.mint, token_program)?;
    let escrow = &accounts.channel_token_account;
    tokens::must_hold(escrow, &address, mint, token_program, ESCROW)?;
    let source = &accounts.payer_token_account;
    tokens::must_hold(source, payer, mint, token_program, tokens::PAYER)?;

    let deposit = {
        let mut data = accounts.channel.try_borrow_mut()?;
        let state = Channel::load_mut(&mut data)?;
        let deposit = state
            .deposit
            .get()
            .checked_add(args.amount)
            .ok_or(X402Error::TopUpDepositOverflow)?;
        state.deposit.set(deposit);
        deposit
    };
    tokens::Move {
        from: accounts.payer_token_account,
        mint: accounts.mint,
        to: accounts.channel_token_account,
        authority: accounts.payer,
        amount: args.amount,
        decimals,
        token_program: accounts.token_program,
    }
    .make(&[])?;
    ToppedUp {
        channel: address,
        deposit,
    }
    .emit()
}

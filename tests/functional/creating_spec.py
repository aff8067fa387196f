"""Accounts that instructions create: state, mints, and token accounts of every kind."""

from mcpsol_py.spec import (
    Account,
    AssociatedTokenProgram,
    Mint,
    Mut,
    Payer,
    Pubkey,
    Ref,
    Signer,
    SystemProgram,
    TokenAccount,
    TokenInterface,
    Unchecked,
    associated,
    error,
    has_one,
    init,
    instruction,
    mint,
    program,
    require,
    seeds,
    token,
    u64,
)


@program(
    name="coins",
    address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb",
    allow_init_if_needed=True,
)
class Coins:
    """A coin for each admin."""

    class Bank(Account):
        """Who may make coins, and how many there are."""

        admin: Pubkey
        made: u64

    class Member(Account):
        """How often somebody came."""

        visits: u64

    Enough = error("There are coins enough")

    @instruction
    def found(
        self,
        bank: Mut[Bank, init(payer="admin"), seeds(b"bank", "admin")],
        coin: Mut[
            Mint,
            init(payer="admin"),
            mint(authority="bank", decimals=2),
            seeds(b"coin", "bank"),
        ],
        vault: Mut[
            TokenAccount,
            init(payer="admin"),
            token(mint="coin", authority="bank"),
            seeds(b"vault", "bank"),
        ],
        admin: Payer,
        token_program: TokenInterface,
        system_program: SystemProgram,
        first: u64,
    ) -> None:
        """Found a bank with a coin, and make the first ones."""
        bank.admin = admin.address
        bank.made = first
        token_program.mint_to(
            mint=coin, account=vault, mint_authority=bank, amount=first
        )

    @instruction
    def visit(
        self,
        bank: Mut[Bank, seeds(b"bank", "bank.admin")],
        coin: Mut[Mint, mint(authority="bank", decimals=2), seeds(b"coin", "bank")],
        member: Mut[
            Member, init(payer="payer", if_needed=True), seeds(b"member", "payer")
        ],
        purse: Mut[
            TokenAccount,
            init(payer="payer", if_needed=True),
            associated(mint="coin", authority="payer"),
        ],
        payer: Payer,
        token_program: TokenInterface,
        associated_token_program: AssociatedTokenProgram,
        system_program: SystemProgram,
        amount: u64,
    ) -> u64:
        """Give a visitor coins: at the first visit with an account to keep them in."""
        member.visits += 1
        require(member.visits < 4, self.Enough)
        bank.made += amount
        token_program.mint_to(
            mint=coin, account=purse, mint_authority=bank, amount=amount
        )
        return member.visits

    @instruction
    def open(
        self,
        purse: Mut[
            TokenAccount,
            init(payer="payer"),
            associated(mint="coin", authority="owner"),
        ],
        coin: Ref[Mint, ...],
        owner: Signer,
        payer: Payer,
        token_program: TokenInterface,
        associated_token_program: AssociatedTokenProgram,
        system_program: SystemProgram,
    ) -> u64:
        """Open an account for a coin, which must not exist."""
        return purse.amount

    @instruction
    def box(
        self,
        box: Mut[
            TokenAccount,
            init(payer="payer"),
            token(mint="coin", authority="payer"),
            seeds(b"box", "coin"),
        ],
        coin: Unchecked,
        payer: Payer,
        token_program: TokenInterface,
        system_program: SystemProgram,
    ) -> u64:
        """Open a token account for what may be no mint."""
        return box.amount

    @instruction
    def held(
        self,
        bank: Ref[Bank, has_one("admin")],
        purse: Ref[TokenAccount, token(authority="admin")],
        admin: Signer,
        token_program: TokenInterface,
    ) -> u64:
        """Say what an admin has."""
        return purse.amount

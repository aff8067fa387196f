"""A token vault: tokens of one mint, kept by the program for one wallet."""

from mcpsol_py.spec import (
    Account,
    Event,
    Mint,
    Mut,
    Payer,
    Pubkey,
    Ref,
    Signer,
    SystemProgram,
    TokenAccount,
    TokenProgram,
    emit,
    error,
    has_one,
    init,
    instruction,
    overflow,
    program,
    require,
    seeds,
    token,
    u8,
    u64,
)


@program(
    name="vault",
    address="J7fMkckt17bajoM4E5TyqEVEqjN7sEx7hEbWZuB2bxuK",
    version="1.0.0",
)
class Vault:
    """Keeps SPL tokens of one mint for one wallet; only that wallet can take them out again."""

    class State(Account):
        """One vault.

        Attributes:
            authority: The wallet that may withdraw.
            mint: The mint of the tokens that are kept.
            deposited: Tokens that were ever put in, in base units.
            withdrawn: Tokens that were ever taken out, in base units.
            bump: The bump of the vault's address.
        """

        authority: Pubkey
        mint: Pubkey
        deposited: u64
        withdrawn: u64
        bump: u8

    class Deposited(Event):
        """Tokens were put in.

        Attributes:
            vault: The vault's address.
            depositor: Who put them in.
            amount: How many, in base units.
        """

        vault: Pubkey
        depositor: Pubkey
        amount: u64

    class Withdrawn(Event):
        """Tokens were taken out.

        Attributes:
            vault: The vault's address.
            amount: How many, in base units.
        """

        vault: Pubkey
        amount: u64

    ZeroAmount = error("The amount must be more than zero")
    NotEnoughTokens = error("The vault holds fewer tokens than that")
    WrongAuthority = error("Only the vault's authority may do this")
    Overflow = error("The vault has counted more than 18446744073709551615 base units")

    @instruction
    def initialize(
        self,
        vault: Mut[
            State,
            init(payer="authority"),
            seeds(b"vault", "authority", "mint", bump="bump"),
        ],
        tokens: Mut[
            TokenAccount,
            init(payer="authority"),
            seeds(b"tokens", "vault"),
            token(mint="mint", authority="vault"),
        ],
        mint: Mint,
        authority: Payer,
        token_program: TokenProgram,
        system_program: SystemProgram,
    ) -> None:
        """Create an empty vault for a wallet and a mint.

        When to use:
            Once for each wallet and mint, before the first deposit.

        Args:
            vault: The new vault.
            tokens: The vault's own token account.
            mint: The mint of the tokens to keep.
            authority: The wallet that may withdraw; it pays the rent.
        """
        vault.authority = authority.address
        vault.mint = mint.address

    @instruction
    def deposit(
        self,
        vault: Mut[
            State,
            has_one("mint"),
            seeds(b"vault", "vault.authority", "mint", bump="bump"),
        ],
        tokens: Mut[
            TokenAccount,
            seeds(b"tokens", "vault"),
            token(mint="mint", authority="vault"),
        ],
        source: Mut[TokenAccount, token(mint="mint", authority="depositor")],
        mint: Mint,
        depositor: Signer,
        token_program: TokenProgram,
        amount: u64,
    ) -> None:
        """Put tokens into a vault. Anyone may; only the vault's authority can take them out.

        Args:
            vault: The vault that gets the tokens.
            source: The token account that gives them.
            depositor: The wallet that owns the source.
            amount (base units): How many tokens.
        """
        require(amount > 0, self.ZeroAmount)
        with overflow(self.Overflow):
            vault.deposited += amount
        token_program.transfer(
            source=source, destination=tokens, authority=depositor, amount=amount
        )
        emit(
            self.Deposited(
                vault=vault.address, depositor=depositor.address, amount=amount
            )
        )

    @instruction
    def withdraw(
        self,
        vault: Mut[
            State,
            has_one("authority", error=WrongAuthority),
            has_one("mint"),
            seeds(b"vault", "authority", "mint", bump="bump"),
        ],
        tokens: Mut[
            TokenAccount,
            seeds(b"tokens", "vault"),
            token(mint="mint", authority="vault"),
        ],
        destination: Mut[TokenAccount, token(mint="mint")],
        mint: Ref[Mint, ...],
        authority: Signer,
        token_program: TokenProgram,
        amount: u64,
    ) -> u64:
        """Take tokens out of a vault, and return how many are left in it.

        Args:
            vault: The vault that gives the tokens.
            destination: The token account that gets them.
            authority: The vault's authority.
            amount (base units): How many tokens.
        """
        require(amount > 0, self.ZeroAmount)
        require(amount <= tokens.amount, self.NotEnoughTokens)
        with overflow(self.Overflow):
            vault.withdrawn += amount
        token_program.transfer(
            source=tokens, destination=destination, authority=vault, amount=amount
        )
        emit(self.Withdrawn(vault=vault.address, amount=amount))
        return tokens.amount

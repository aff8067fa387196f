"""An escrow: a maker offers tokens of one mint for tokens of another, and the first taker gets them."""

from mcpsol_py.spec import (
    Account,
    Event,
    Mint,
    Mut,
    Payer,
    Pubkey,
    Signer,
    SystemProgram,
    TokenAccount,
    TokenProgram,
    Unchecked,
    close,
    emit,
    error,
    has_one,
    init,
    instruction,
    program,
    require,
    seeds,
    token,
    u8,
    u64,
)


@program(
    name="escrow",
    address="De6mib8Rsko5GWDWXtACfcNzXbvhPNkDBPocrQyQiCZi",
    version="1.0.0",
)
class Escrow:
    """Swaps between two wallets that do not trust each other."""

    class Offer(Account):
        """An offer that nobody has taken.

        Attributes:
            maker: The wallet that offers.
            given_mint: The mint of the offered tokens, which the vault holds.
            wanted_mint: The mint of the tokens that the maker wants.
            wanted: How many of them, in base units.
            offer_id: A number that distinguishes the maker's offers.
            bump: The bump of the offer's address.
        """

        maker: Pubkey
        given_mint: Pubkey
        wanted_mint: Pubkey
        wanted: u64
        offer_id: u64
        bump: u8

    class Made(Event):
        """An offer was made."""

        offer: Pubkey
        given: u64
        wanted: u64

    class Taken(Event):
        """An offer was taken."""

        offer: Pubkey
        taker: Pubkey
        given: u64
        wanted: u64

    class Cancelled(Event):
        """The maker took the tokens back."""

        offer: Pubkey

    ZeroAmount = error("Both amounts must be more than zero")
    SameMint = error("The two mints are the same")
    WrongAccount = error("This account is not the offer's maker or mint")
    TermsChanged = error("The offer is worse than the taker agreed to")

    @instruction
    def make(
        self,
        offer: Mut[
            Offer,
            init(payer="maker"),
            seeds(b"offer", "maker", "offer_id", bump="bump"),
        ],
        vault: Mut[
            TokenAccount,
            init(payer="maker"),
            seeds(b"vault", "offer"),
            token(mint="given_mint", authority="offer"),
        ],
        source: Mut[TokenAccount, token(mint="given_mint", authority="maker")],
        maker: Payer,
        given_mint: Mint,
        wanted_mint: Mint,
        token_program: TokenProgram,
        system_program: SystemProgram,
        offer_id: u64,
        given: u64,
        wanted: u64,
    ) -> None:
        """Offer tokens.

        Args:
            source: The maker's token account.
            offer_id: Any number. Another number gives another offer.
            given (base units): Tokens that the taker gets.
            wanted (base units): Tokens that the taker pays.
        """
        require(given > 0 and wanted > 0, self.ZeroAmount)
        require(given_mint.address != wanted_mint.address, self.SameMint)
        offer.maker = maker.address
        offer.given_mint = given_mint.address
        offer.wanted_mint = wanted_mint.address
        offer.wanted = wanted
        offer.offer_id = offer_id
        token_program.transfer(
            source=source, destination=vault, authority=maker, amount=given
        )
        emit(self.Made(offer=offer.address, given=given, wanted=wanted))

    @instruction
    def take(
        self,
        offer: Mut[
            Offer,
            has_one("maker", error=WrongAccount),
            has_one("given_mint", error=WrongAccount),
            has_one("wanted_mint", error=WrongAccount),
            seeds(b"offer", "maker", "offer.offer_id", bump="bump"),
            close("maker"),
        ],
        vault: Mut[
            TokenAccount,
            seeds(b"vault", "offer"),
            token(mint="given_mint", authority="offer"),
        ],
        payment: Mut[TokenAccount, token(mint="wanted_mint", authority="taker")],
        income: Mut[TokenAccount, token(mint="wanted_mint", authority="maker")],
        destination: Mut[TokenAccount, token(mint="given_mint")],
        maker: Mut[Unchecked, ...],
        taker: Signer,
        given_mint: Mint,
        wanted_mint: Mint,
        token_program: TokenProgram,
        most: u64,
        least: u64,
    ) -> u64:
        """Take an offer, and return how many tokens came.

        Args:
            payment: The taker's token account that pays.
            income: The maker's token account that is paid.
            destination: The token account that gets the offered tokens.
            most (base units): The most tokens that the taker pays.
            least (base units): The fewest tokens that the taker gets.
        """
        given = vault.amount
        wanted = offer.wanted
        require(wanted <= most and given >= least, self.TermsChanged)
        token_program.transfer(
            source=payment, destination=income, authority=taker, amount=wanted
        )
        token_program.transfer(
            source=vault, destination=destination, authority=offer, amount=given
        )
        token_program.close_account(account=vault, destination=maker, authority=offer)
        emit(
            self.Taken(
                offer=offer.address, taker=taker.address, given=given, wanted=wanted
            )
        )
        return given

    @instruction
    def cancel(
        self,
        offer: Mut[
            Offer,
            has_one("maker", error=WrongAccount),
            has_one("given_mint", error=WrongAccount),
            seeds(b"offer", "maker", "offer.offer_id", bump="bump"),
            close("maker"),
        ],
        vault: Mut[
            TokenAccount,
            seeds(b"vault", "offer"),
            token(mint="given_mint", authority="offer"),
        ],
        destination: Mut[TokenAccount, token(mint="given_mint")],
        maker: Payer,
        given_mint: Mint,
        token_program: TokenProgram,
    ) -> None:
        """Take the tokens of an offer back as its maker.

        Args:
            destination: The token account that gets them.
        """
        token_program.transfer(
            source=vault, destination=destination, authority=offer, amount=vault.amount
        )
        token_program.close_account(account=vault, destination=maker, authority=offer)
        emit(self.Cancelled(offer=offer.address))

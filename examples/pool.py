"""A pool of two tokens that anybody swaps, at a price that follows from how many of each it holds."""

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
    u16,
    u64,
    u128,
)

#: The whole of a fee, in hundredths of a percent.
WHOLE = u64(10_000)


@program(
    name="pool", address="B9hp2wmWPyqK2H9kiNSAAdn6dvvtyt3E5WuwCC2VN4Ch", version="1.0.0"
)
class Pool:
    """A constant-product market: no swap lowers the product of both reserves."""

    class Market(Account):
        """A pool of two mints. Its reserves are what its two vaults hold.

        Attributes:
            mint_a: The one mint.
            mint_b: The other mint.
            shares: All shares of those who put tokens in.
            fee_bps: The part of a payment that stays in the pool, in hundredths of a percent.
            bump: The bump of the pool's address.
        """

        mint_a: Pubkey
        mint_b: Pubkey
        shares: u64
        fee_bps: u16
        bump: u8

    class Position(Account):
        """The shares of one wallet in one pool."""

        market: Pubkey
        owner: Pubkey
        shares: u64
        bump: u8

    class Joined(Event):
        """Tokens were put in."""

        market: Pubkey
        shares: u64
        a: u64
        b: u64

    class Left(Event):
        """Tokens were taken out."""

        market: Pubkey
        shares: u64
        a: u64
        b: u64

    class Swapped(Event):
        """Tokens of one mint were paid for tokens of the other."""

        market: Pubkey
        paid: u64
        got: u64

    FeeTooHigh = error("A fee is at most 10 percent")
    ZeroAmount = error("The amount must be more than zero")
    WrongAccount = error(
        "This account is not the pool's mint, or not the position's owner or pool"
    )
    NotEnoughShares = error("The position has fewer shares")
    PriceMoved = error("The price is worse than the caller agreed to")
    Overflow = error("The amount is too large")

    @instruction
    def create(
        self,
        market: Mut[
            Market,
            init(payer="payer"),
            seeds(b"market", "mint_a", "mint_b", bump="bump"),
        ],
        vault_a: Mut[
            TokenAccount,
            init(payer="payer"),
            seeds(b"vault", "market", "mint_a"),
            token(mint="mint_a", authority="market"),
        ],
        vault_b: Mut[
            TokenAccount,
            init(payer="payer"),
            seeds(b"vault", "market", "mint_b"),
            token(mint="mint_b", authority="market"),
        ],
        mint_a: Mint,
        mint_b: Mint,
        payer: Payer,
        token_program: TokenProgram,
        system_program: SystemProgram,
        fee_bps: u16,
    ) -> None:
        """Create a pool without tokens."""
        require(fee_bps <= 1_000, self.FeeTooHigh)
        market.mint_a = mint_a.address
        market.mint_b = mint_b.address
        market.fee_bps = fee_bps

    @instruction
    def open_position(
        self,
        position: Mut[
            Position,
            init(payer="owner"),
            seeds(b"position", "market", "owner", bump="bump"),
        ],
        market: Mut[Market, ...],
        owner: Payer,
        system_program: SystemProgram,
    ) -> None:
        """Open a position without shares."""
        position.market = market.address
        position.owner = owner.address

    @instruction
    def join(
        self,
        market: Mut[
            Market,
            has_one("mint_a", error=WrongAccount),
            has_one("mint_b", error=WrongAccount),
        ],
        position: Mut[
            Position,
            has_one("market", error=WrongAccount),
            has_one("owner", error=WrongAccount),
        ],
        vault_a: Mut[
            TokenAccount,
            seeds(b"vault", "market", "mint_a"),
            token(mint="mint_a", authority="market"),
        ],
        vault_b: Mut[
            TokenAccount,
            seeds(b"vault", "market", "mint_b"),
            token(mint="mint_b", authority="market"),
        ],
        source_a: Mut[TokenAccount, token(mint="mint_a", authority="owner")],
        source_b: Mut[TokenAccount, token(mint="mint_b", authority="owner")],
        mint_a: Mint,
        mint_b: Mint,
        owner: Signer,
        token_program: TokenProgram,
        shares: u64,
        most_a: u64,
        most_b: u64,
    ) -> None:
        """Buy shares. The first buyer chooses the price: `most_a` and `most_b` are paid then.

        Args:
            shares: How many shares.
            most_a (base units): The most tokens of the one mint that are paid.
            most_b (base units): The most tokens of the other mint that are paid.
        """
        require(shares > 0 and most_a > 0 and most_b > 0, self.ZeroAmount)
        a = most_a
        b = most_b
        if market.shares > 0:
            a = cost_of(shares, vault_a.amount, market.shares)
            b = cost_of(shares, vault_b.amount, market.shares)
        require(a <= most_a and b <= most_b, self.PriceMoved)
        with overflow(self.Overflow):
            market.shares += shares
            position.shares += shares
        token_program.transfer(
            source=source_a, destination=vault_a, authority=owner, amount=a
        )
        token_program.transfer(
            source=source_b, destination=vault_b, authority=owner, amount=b
        )
        emit(self.Joined(market=market.address, shares=shares, a=a, b=b))

    @instruction
    def leave(
        self,
        market: Mut[
            Market,
            has_one("mint_a", error=WrongAccount),
            has_one("mint_b", error=WrongAccount),
            seeds(b"market", "mint_a", "mint_b", bump="bump"),
        ],
        position: Mut[
            Position,
            has_one("market", error=WrongAccount),
            has_one("owner", error=WrongAccount),
        ],
        vault_a: Mut[
            TokenAccount,
            seeds(b"vault", "market", "mint_a"),
            token(mint="mint_a", authority="market"),
        ],
        vault_b: Mut[
            TokenAccount,
            seeds(b"vault", "market", "mint_b"),
            token(mint="mint_b", authority="market"),
        ],
        to_a: Mut[TokenAccount, token(mint="mint_a")],
        to_b: Mut[TokenAccount, token(mint="mint_b")],
        mint_a: Mint,
        mint_b: Mint,
        owner: Signer,
        token_program: TokenProgram,
        shares: u64,
        least_a: u64,
        least_b: u64,
    ) -> None:
        """Sell shares for a part of both reserves, rounded down.

        Args:
            shares: How many shares.
            least_a (base units): The fewest tokens of the one mint that come.
            least_b (base units): The fewest tokens of the other mint that come.
        """
        require(shares > 0, self.ZeroAmount)
        require(shares <= position.shares, self.NotEnoughShares)
        a = part_of(vault_a.amount, shares, market.shares)
        b = part_of(vault_b.amount, shares, market.shares)
        require(a >= least_a and b >= least_b, self.PriceMoved)
        market.shares -= shares
        position.shares -= shares
        token_program.transfer(
            source=vault_a, destination=to_a, authority=market, amount=a
        )
        token_program.transfer(
            source=vault_b, destination=to_b, authority=market, amount=b
        )
        emit(self.Left(market=market.address, shares=shares, a=a, b=b))

    @instruction
    def swap(
        self,
        market: Mut[
            Market, seeds(b"market", "market.mint_a", "market.mint_b", bump="bump")
        ],
        vault_in: Mut[
            TokenAccount,
            seeds(b"vault", "market", "mint_in"),
            token(mint="mint_in", authority="market"),
        ],
        vault_out: Mut[
            TokenAccount,
            seeds(b"vault", "market", "mint_out"),
            token(mint="mint_out", authority="market"),
        ],
        source: Mut[TokenAccount, token(mint="mint_in", authority="owner")],
        destination: Mut[TokenAccount, token(mint="mint_out")],
        mint_in: Mint,
        mint_out: Mint,
        owner: Signer,
        token_program: TokenProgram,
        amount: u64,
        least: u64,
    ) -> u64:
        """Pay tokens of one mint, and return how many of the other came.

        Args:
            amount (base units): Tokens that are paid.
            least (base units): The fewest tokens that come.
        """
        require(amount > 0, self.ZeroAmount)
        paid = part_of(amount, WHOLE - u64(market.fee_bps), WHOLE)
        reserve = u128(vault_in.amount) + u128(paid)
        got = u64(u128(vault_out.amount) * u128(paid) // max(reserve, u128(1)))
        require(got > 0 and got >= least, self.PriceMoved)
        token_program.transfer(
            source=source, destination=vault_in, authority=owner, amount=amount
        )
        token_program.transfer(
            source=vault_out, destination=destination, authority=market, amount=got
        )
        emit(self.Swapped(market=market.address, paid=amount, got=got))
        return got


def part_of(reserve: u64, shares: u64, total: u64) -> u64:
    """The part of a reserve that shares are worth, rounded down."""
    with overflow(Pool.Overflow):
        return u64(u128(reserve) * u128(shares) // u128(total))


def cost_of(shares: u64, reserve: u64, total: u64) -> u64:
    """The tokens that keep the reserve of each share, rounded up."""
    with overflow(Pool.Overflow):
        return u64((u128(reserve) * u128(shares) + u128(total - 1)) // u128(total))

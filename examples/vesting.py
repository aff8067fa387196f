"""Vesting: tokens that become a beneficiary's little by little, and none of them before a cliff."""

from mcpsol_py.spec import (
    Account,
    Clock,
    Enum,
    Event,
    Mint,
    Mut,
    Payer,
    Pubkey,
    Ref,
    Signer,
    Struct,
    SystemProgram,
    TokenAccount,
    TokenProgram,
    Unchecked,
    close,
    emit,
    error,
    has_one,
    i64,
    init,
    instruction,
    overflow,
    program,
    require,
    seeds,
    token,
    u8,
    u64,
    u128,
    variant,
)


class Phase(Enum):
    """Where a grant is in its life."""

    Waiting = variant()
    Running = variant()
    Over = variant()


class Report(Struct):
    """A grant at this moment.

    Attributes:
        phase: Waiting before the cliff, then Running, then Over.
        vested: Tokens that are the beneficiary's so far, in base units.
        releasable: The part of them that is still in the vault.
    """

    phase: Phase
    vested: u64
    releasable: u64


@program(
    name="vesting",
    address="7y7WcpFhzMKj11nCsDzykbdCEBvVkqLW43jtbRJWbHHZ",
    version="1.0.0",
)
class Vesting:
    """Tokens that vest evenly from a start to an end. Nobody can take them back."""

    class Grant(Account):
        """The tokens of one beneficiary.

        Attributes:
            grantor: The wallet that gave them.
            beneficiary: The wallet that gets them.
            mint: The mint of the tokens.
            total: How many, in base units.
            released: How many of them were taken out.
            start: The time from which they vest, in seconds since 1970.
            cliff: The time before which none can be taken.
            end: The time at which all have vested.
            bump: The bump of the grant's address.
        """

        grantor: Pubkey
        beneficiary: Pubkey
        mint: Pubkey
        total: u64
        released: u64
        start: i64
        cliff: i64
        end: i64
        bump: u8

    class Granted(Event):
        """Tokens were granted."""

        grant: Pubkey
        total: u64

    class Released(Event):
        """Vested tokens were taken out."""

        grant: Pubkey
        amount: u64

    ZeroAmount = error("The amount must be more than zero")
    WrongTimes = error("Expected start <= cliff <= end, and start < end")
    WrongAccount = error("This account is not the grant's grantor, beneficiary or mint")
    NothingVested = error("No tokens can be taken out now")
    NotOver = error("Tokens are left in the grant")
    Overflow = error("The times are too far apart")

    @instruction
    def give(
        self,
        grant: Mut[
            Grant,
            init(payer="grantor"),
            seeds(b"grant", "beneficiary", "mint", bump="bump"),
        ],
        vault: Mut[
            TokenAccount,
            init(payer="grantor"),
            seeds(b"vault", "grant"),
            token(mint="mint", authority="grant"),
        ],
        source: Mut[TokenAccount, token(mint="mint", authority="grantor")],
        grantor: Payer,
        beneficiary: Unchecked,
        mint: Mint,
        token_program: TokenProgram,
        system_program: SystemProgram,
        total: u64,
        start: i64,
        cliff: i64,
        end: i64,
    ) -> None:
        """Grant tokens.

        Args:
            source: The grantor's token account.
            beneficiary: The wallet that gets the tokens.
            total (base units): How many tokens.
            start (seconds since 1970): The time from which they vest.
            cliff (seconds since 1970): The time before which none can be taken.
            end (seconds since 1970): The time at which all have vested.
        """
        require(total > 0, self.ZeroAmount)
        require(start <= cliff <= end and start < end, self.WrongTimes)
        grant.grantor = grantor.address
        grant.beneficiary = beneficiary.address
        grant.mint = mint.address
        grant.total = total
        grant.start = start
        grant.cliff = cliff
        grant.end = end
        token_program.transfer(
            source=source, destination=vault, authority=grantor, amount=total
        )
        emit(self.Granted(grant=grant.address, total=total))

    @instruction
    def release(
        self,
        grant: Mut[
            Grant,
            has_one("beneficiary", error=WrongAccount),
            has_one("mint", error=WrongAccount),
            seeds(b"grant", "beneficiary", "mint", bump="bump"),
        ],
        vault: Mut[
            TokenAccount,
            seeds(b"vault", "grant"),
            token(mint="mint", authority="grant"),
        ],
        destination: Mut[TokenAccount, token(mint="mint")],
        beneficiary: Signer,
        mint: Mint,
        token_program: TokenProgram,
    ) -> u64:
        """Take out what has vested, and return how many tokens that is.

        Args:
            destination: The token account that gets them.
        """
        amount = count_release(grant, Clock.get().unix_timestamp)
        token_program.transfer(
            source=vault, destination=destination, authority=grant, amount=amount
        )
        emit(self.Released(grant=grant.address, amount=amount))
        return amount

    @instruction
    def finish(
        self,
        grant: Mut[
            Grant,
            has_one("grantor", error=WrongAccount),
            has_one("mint", error=WrongAccount),
            seeds(b"grant", "grant.beneficiary", "mint", bump="bump"),
            close("grantor"),
        ],
        vault: Mut[
            TokenAccount,
            seeds(b"vault", "grant"),
            token(mint="mint", authority="grant"),
        ],
        spare: Mut[TokenAccount, token(mint="mint")],
        grantor: Payer,
        mint: Mint,
        token_program: TokenProgram,
    ) -> None:
        """Close a grant that is paid out, and return its rent to the grantor.

        Args:
            spare: The token account that gets tokens which others sent to the vault.
        """
        require(grant.released == grant.total, self.NotOver)
        token_program.transfer(
            source=vault, destination=spare, authority=grant, amount=vault.amount
        )
        token_program.close_account(account=vault, destination=grantor, authority=grant)

    @instruction
    def status(self, grant: Ref[Grant, ...]) -> Report:
        """Return how much has vested. Changes nothing."""
        now = Clock.get().unix_timestamp
        vested = vested_at(grant, now)
        return Report(
            phase=phase_at(grant, now),
            vested=vested,
            releasable=vested - grant.released,
        )


def phase_at(grant: Vesting.Grant, now: i64) -> Phase:
    """The phase of a grant at a time."""
    if now < grant.cliff:
        return Phase.Waiting
    return Phase.Running if now < grant.end else Phase.Over


def vested_at(grant: Vesting.Grant, now: i64) -> u64:
    """The tokens that are the beneficiary's at a time, rounded down."""
    phase = phase_at(grant, now)
    with overflow(Vesting.Overflow):
        match phase:
            case Phase.Waiting:
                return u64(0)
            case Phase.Running:
                passed = u128(now - grant.start)
                whole = u128(grant.end - grant.start)
                return u64(u128(grant.total) * passed // whole)
            case _:
                return grant.total


def count_release(grant: Mut[Vesting.Grant, ...], now: i64) -> u64:
    """Count what can be taken out at a time as released."""
    amount = vested_at(grant, now) - grant.released
    require(amount > 0, Vesting.NothingVested)
    grant.released += amount
    return amount

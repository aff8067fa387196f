"""A counter for each wallet: the smallest program that shows the whole way from a Python spec to a deployed program."""

from mcpsol_py.spec import (
    Account,
    Event,
    Mut,
    Payer,
    Pubkey,
    Signer,
    SystemProgram,
    close,
    emit,
    error,
    has_one,
    init,
    instruction,
    overflow,
    program,
    require,
    seeds,
    u8,
    u64,
)


@program(
    name="counter",
    address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb",
    version="1.0.0",
)
class Counter:
    """A counter for each wallet, which only that wallet can change."""

    class State(Account):
        """One wallet's counter.

        Attributes:
            authority: The wallet that may change the counter.
            count: What was counted so far.
            bump: The bump of the counter's address.
        """

        authority: Pubkey
        count: u64
        bump: u8

    class Changed(Event):
        """The counter has a new value.

        Attributes:
            counter: The counter's address.
            count: Its value from now on.
        """

        counter: Pubkey
        count: u64

    Overflow = error("The count would go over 18446744073709551615")
    Underflow = error("The count would go below zero")
    NotZero = error("Only a counter that stands at zero can be closed")

    @instruction
    def initialize(
        self,
        counter: Mut[
            State, init(payer="authority"), seeds(b"counter", "authority", bump="bump")
        ],
        authority: Payer,
        system_program: SystemProgram,
        start: u64,
    ) -> None:
        """Create the counter of a wallet.

        When to use:
            Once for each wallet, before anything can be counted.

        Args:
            counter: The new counter; its address is derived from the wallet's.
            authority: The wallet; it pays the rent and owns the counter.
            start: The counter's first value.
        """
        counter.authority = authority.address
        counter.count = start
        emit(self.Changed(counter=counter.address, count=start))

    @instruction
    def increment(
        self,
        counter: Mut[
            State, has_one("authority"), seeds(b"counter", "authority", bump="bump")
        ],
        authority: Signer,
        amount: u64,
    ) -> None:
        """Add an amount to the counter.

        Args:
            counter: The wallet's counter.
            authority: The wallet that owns the counter.
            amount: How much to add.
        """
        with overflow(self.Overflow):
            counter.count += amount
        emit(self.Changed(counter=counter.address, count=counter.count))

    @instruction
    def decrement(
        self,
        counter: Mut[
            State, has_one("authority"), seeds(b"counter", "authority", bump="bump")
        ],
        authority: Signer,
        amount: u64,
    ) -> u64:
        """Take an amount from the counter, and return what is left.

        Args:
            counter: The wallet's counter.
            authority: The wallet that owns the counter.
            amount: How much to take away.
        """
        with overflow(self.Underflow):
            counter.count -= amount
        emit(self.Changed(counter=counter.address, count=counter.count))
        return counter.count

    @instruction
    def close(
        self,
        counter: Mut[
            State,
            has_one("authority"),
            seeds(b"counter", "authority", bump="bump"),
            close("authority"),
        ],
        authority: Payer,
    ) -> None:
        """Close the counter and give its rent back to the wallet.

        When to use:
            When the counter stands at zero and is not needed any more.

        Args:
            counter: The wallet's counter.
            authority: The wallet that owns the counter; it gets the rent.
        """
        require(counter.count == 0, self.NotZero)

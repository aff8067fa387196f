"""A score for each wallet: a program to start from, wholly in Python."""

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

#: The most points that one call may add.
MOST = u64(1000)


@program(name="starter", version="0.1.0")
class Starter:
    """A score for each wallet, which only that wallet can change."""

    class Score(Account):
        """One wallet's score.

        Attributes:
            owner: The wallet that may change the score.
            points: The points that it has.
            bump: The bump of the score's address.
        """

        owner: Pubkey
        points: u64
        bump: u8

    class Added(Event):
        """Points were added.

        Attributes:
            score: The score's address.
            points: The points that it has from now on.
        """

        score: Pubkey
        points: u64

    TooMany = error("One call may add 1000 points at most")
    Full = error("The score cannot hold more points")

    @instruction
    def open(
        self,
        score: Mut[Score, init(payer="owner"), seeds(b"score", "owner", bump="bump")],
        owner: Payer,
        system_program: SystemProgram,
    ) -> None:
        """Open the score of a wallet.

        When to use:
            Once for each wallet, before points can be added.

        Args:
            score: The new score; its address is derived from the wallet's.
            owner: The wallet; it pays the rent.
        """
        score.owner = owner.address

    @instruction
    def add(
        self,
        score: Mut[Score, has_one("owner"), seeds(b"score", "owner", bump="bump")],
        owner: Signer,
        points: u64,
    ) -> u64:
        """Add points, and return how many there are now.

        Args:
            score: The wallet's score.
            owner: The wallet that owns the score.
            points: How many points to add.
        """
        require(points <= MOST, self.TooMany)
        with overflow(self.Full):
            score.points += points
        emit(self.Added(score=score.address, points=score.points))
        return score.points

    @instruction
    def close(
        self,
        score: Mut[
            Score,
            has_one("owner"),
            seeds(b"score", "owner", bump="bump"),
            close("owner"),
        ],
        owner: Payer,
    ) -> None:
        """Close the score, and give its rent back to the wallet.

        Args:
            score: The wallet's score.
            owner: The wallet that owns the score; it gets the rent.
        """
        return

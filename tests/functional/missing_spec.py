"""Accounts and values that a call may leave out."""

from mcpsol_py.spec import (
    Account,
    Event,
    Mut,
    Pubkey,
    Ref,
    Signer,
    Unchecked,
    Wallet,
    emit,
    error,
    has_one,
    instruction,
    program,
    require,
    u64,
)
from mcpsol_py.spec import owner as owned_by

#: A program that writes rates.
FEEDS = "FsJ3A3u2vn5cTVofAjvy6y5kwABJAqYWpe4975bi2epH"


def part_of(amount: u64, percent: u64 | None) -> u64 | None:
    """The share of an amount; None for more than all of it."""
    if percent is None:
        return amount // 2
    return None if percent > 100 else amount // 100 * percent


@program(name="tips", address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
class Tips:
    """Jars that take tips."""

    class Jar(Account):
        """A jar."""

        owner: Pubkey
        total: u64

    class Tipped(Event):
        """A tip came."""

        jar: Pubkey
        amount: u64
        guest: Pubkey | None
        part: u64 | None

    TooMuch = error("The tip is above its limit")
    TooLarge = error("The part is more than the tip")

    @instruction
    def tip(
        self,
        jar: Mut[Jar, ...],
        second: Mut[Jar, ...] | None,
        guest: Signer | None,
        amount: u64,
        limit: u64 | None,
        percent: u64 | None,
    ) -> u64 | None:
        """Tip a jar, and give a part of it to a second one."""
        require(limit is None or amount <= limit, self.TooMuch)
        part = None if second is None else part_of(amount, percent)
        rest = amount
        if second is not None:
            if part is None:
                raise self.TooLarge
            second.total += part
            rest -= part
        jar.total += rest
        who = guest.address if guest is not None else None
        emit(self.Tipped(jar=jar.address, amount=amount, guest=who, part=part))
        if guest is None or guest.address == jar.owner:
            return None
        return jar.total

    @instruction
    def level(self, jar: Mut[Jar, ...], second: Mut[Jar, ...] | None) -> u64:
        """Make two jars hold the same."""
        if second is not None and second.total != jar.total:
            move(second, jar)
        return jar.total if second is None else second.total

    @instruction
    def empty(
        self, jar: Mut[Jar, has_one("owner")], owner: Signer | None
    ) -> Pubkey | None:
        """Empty a jar, which the owner alone may do."""
        jar.total = u64(0)
        return None if owner is None else owner.address

    NotAFeed = error("The account is not a feed of rates")

    @instruction
    def rate(
        self,
        feed: Ref[Unchecked, owned_by(FEEDS, error=NotAFeed)],
        second: Ref[Unchecked, owned_by("by")] | None,
        by: Unchecked | None,
        shop: Wallet,
    ) -> u64:
        """Read a rate of one program, and another one of any program."""
        rate = feed.data.u64(0)
        return rate if second is None else max(rate, second.data.u64(0))


def move(source: Mut[Tips.Jar, ...], target: Mut[Tips.Jar, ...]) -> None:
    """Give both jars half of what they hold."""
    both = source.total + target.total
    source.total = both // 2
    target.total = both - both // 2

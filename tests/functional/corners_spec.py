"""Bodies that are unusual, each in another way. It does nothing sensible."""

from mcpsol_py.spec import (
    Account,
    Array,
    Data,
    Event,
    Mut,
    Pubkey,
    Signer,
    Unchecked,
    close,
    constant,
    emit,
    encoded,
    error,
    instruction,
    is_on_curve,
    program,
    require,
    sha256,
    u8,
    u16,
    u64,
)


def note(box: "Corners.Box", amount: u64) -> None:
    if amount > Corners.MOST:
        emit(Corners.Noted(total=box.total, mark=box.mark))
    emit(Corners.Noted(total=amount, mark=sha256(amount)))


def checks(amount: u64) -> bool:
    require(amount != 7, Corners.Empty)
    return amount > 3


def events(amount: u64) -> None:
    require(checks(amount), Corners.Empty)


def mark_of(box: "Corners.Box") -> Array[u8, 32]:
    return box.mark


def has(numbers: list[u8], number: u8) -> bool:
    return any(each == number + 1 for each in numbers)


def hashed_address(who: Pubkey, number: u64) -> Pubkey:
    return Data(sha256(who, number)).pubkey(0)


@program(name="corners", address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
class Corners:
    """Bodies that are unusual."""

    class Box(Account):
        """A box.

        Attributes:
            total: What was added.
            mark: Bytes.
        """

        total: u64
        mark: Array[u8, 32]

    class Noted(Event):
        """Something was noted.

        Attributes:
            total: A number.
            mark: Bytes.
        """

        total: u64
        mark: Array[u8, 32]

    MOST = constant(u64, 3)
    Empty = error("The box is empty")

    @instruction
    def exchange(self, left: u64, right: u64) -> u64:
        """Give two variables each other's value, one after the other."""
        x = left
        y = right
        x = y
        y = x
        return x.wrapping_add(y)

    @instruction
    def unnamed(self, amount: u64) -> u64:
        """Read variables without a letter in their names."""
        _ = amount
        _1 = amount
        total = u64(0)
        for __ in range(3):
            total = total.wrapping_add(u64(__) + 1)
        return _.wrapping_add(_1).wrapping_sub(total)

    @instruction
    def counted(self, numbers: list[u64]) -> u64:
        """Count by one name in several loops."""
        total = u64(0)
        for i in range(3):
            total += u64(i)
        for i, number in enumerate(numbers):
            total = total.wrapping_add(number).wrapping_mul(u64(i) + 1)
        for i in range(total % 5):
            total = total.wrapping_add(u64(i))
        return total

    @instruction
    def octets(self, numbers: list[u8], least: u8) -> Array[u8, 32]:
        """Go over a list of bytes, and hash it."""
        total = u64(len(numbers))
        for i, number in enumerate(numbers):
            total += u64(number) * u64(i)
        if any(number == least for number in numbers) or has(numbers, least):
            return sha256(numbers)
        return sha256(encoded(numbers), total)

    @instruction
    def whose(self, keys: list[Pubkey], who: Pubkey | None) -> u64:
        """Count by a name that the generated code has for a value of its own."""
        found = u64(0)
        for it in keys:
            if who == it:
                found += 1
        return found

    @instruction
    def parted(self, who: Pubkey, by: u16, is_counted: bool) -> u64:
        """Divide in a loop where a condition seldom holds. The divisor may be zero."""
        found = u64(0)
        for n in range(4):
            if who == hashed_address(who, u64(n)):
                emit(self.Noted(total=u64(65535 // by), mark=sha256(who)))
            elif is_counted and is_on_curve(who):
                emit(self.Noted(total=found, mark=sha256(who)))
                found = found.wrapping_add(u64(n))
            if who != hashed_address(who, found):
                found += 1
        return found

    @instruction
    def named(self, amount: u64) -> None:
        """Call helpers with the names of modules."""
        events(amount)

    @instruction
    def noted(self, box: Mut[Box, ...], amount: u64) -> None:
        """Log events in a helper."""
        note(box, amount)
        box.total = amount

    @instruction
    def hashed(self, who: Pubkey, is_empty: bool) -> Array[u8, 32]:
        """Return bytes that the body makes."""
        require(not is_empty, self.Empty)
        return sha256(who)

    @instruction
    def marked(
        self, box: Mut[Box, ...], mark: Array[u8, 32], is_old: bool
    ) -> Array[u8, 32]:
        """Return bytes that are kept."""
        if is_old:
            return mark_of(box)
        box.mark = mark
        return mark

    @instruction
    def take(self, box: Mut[Box, ...], owner: Mut[Unchecked, ...], amount: u64) -> u64:
        """Close an account on one path, and use it on the other."""
        if box.total == amount:
            close(box, owner)
            return u64(0)
        box.total -= amount
        return box.total

    @instruction
    def leave(
        self, box: Mut[Box, ...], one: Mut[Unchecked, ...], two: Mut[Unchecked, ...]
    ) -> None:
        """Close an account to one of two others."""
        if box.total > 5:
            close(box, one)
        else:
            close(box, two)

    @instruction
    def copies(self, data: Unchecked, signer: Signer) -> bool:
        """Copy as many bytes as a body may, twice."""
        first = data.data[0:1024]
        second = data.data[1:1025]
        return first == second and signer.address != data.program

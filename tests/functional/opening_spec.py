"""Accounts that bodies open themselves: created, loaded, and carried by errors."""

from mcpsol_py.spec import (
    Account,
    Array,
    Data,
    Event,
    Mut,
    Payer,
    Pubkey,
    Ref,
    SystemProgram,
    Unchecked,
    create,
    emit,
    error,
    i64,
    instruction,
    is_new,
    load,
    overflow,
    program,
    require,
    seeds,
    u8,
    u64,
)


@program(name="opening", address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
class Opening:
    """Notes of a wallet, which the program makes when they are first written."""

    class Note(Account):
        """A note."""

        author: Pubkey
        key: Array[u8, 32]
        count: u64
        since: i64
        bump: u8

    class Other(Account, discriminator=b"\x07"):
        """Another kind of state."""

        count: u64

    class Written(Event):
        """A note was written."""

        note: Pubkey
        count: u64

    Taken = error("The note is another wallet's")
    Full = error("The note is full")
    Late = error("The key has another time")

    @instruction
    def write(
        self,
        note: Mut[Unchecked, seeds(b"note", "key")],
        author: Payer,
        system_program: SystemProgram,
        key: Array[u8, 32],
        amount: u64,
        most: u64,
    ) -> u64:
        """Write a note, the first time or again."""
        if is_new(note):
            held = create(self.Note, note, payer=author)
            held.author = author.address
            held.key = key
            held.bump = note.bump
            held.since = Data(key).i64(0, big_endian=True)
        else:
            held = load(self.Note, note)
        if held.author != author.address:
            raise self.Taken.carrying(held)
        add(held, amount)
        if held.count > most:
            raise self.Full.carrying(Data(key)[2:7])
        emit(self.Written(note=held.address, count=held.count))
        return held.count

    @instruction
    def mark(
        self,
        note: Mut[Unchecked, seeds(b"note", "key")],
        author: Payer,
        system_program: SystemProgram,
        key: Array[u8, 32],
    ) -> None:
        """Make an account with other state, if nothing is there."""
        require(
            u64(Data(key).u16(0)) != u64(Data(key).u16(0, big_endian=True)), self.Late
        )
        create(self.Other, note, payer=author)

    @instruction
    def total(
        self,
        note: Unchecked,
        second: Ref[Unchecked, ...],
        other: Ref[Other, ...],
        look: Unchecked,
    ) -> u64:
        """The sum of two notes and a third count, and the bytes of any account."""
        one = load(self.Note, note)
        two = load(self.Note, second)
        with overflow(self.Full):
            return one.count + two.count + other.count + u64(len(look.data))

    @instruction
    def gather(self, note: Mut[Unchecked, ...], *notes: Note) -> u64:
        """Count a note up while others have more."""
        held = load(self.Note, note)
        for each in notes:
            if any(other.count > held.count for other in notes):
                held.count += each.count % 7
        return held.count

    @instruction
    def peek(self, note: Mut[Unchecked, ...], *others: Unchecked) -> u64:
        """Write a note, and look at the bytes of others."""
        held = load(self.Note, note)
        held.count = u64(len(others))
        return u64(1) if all(len(other.data) > 1 for other in others) else u64(0)


def add(note: Mut[Opening.Note, ...], amount: u64) -> None:
    """Count up."""
    with overflow(Opening.Full):
        note.count += amount

"""A program that the simulator can run in parts."""

from mcpsol_py.spec import (
    ProgramAccount,
    Ref,
    error,
    instruction,
    program,
    require,
    u64,
)


@program(
    name="mixed",
    address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb",
    version="1.0.0",
)
class Mixed:
    """Instructions of all kinds."""

    Zero = error("zero")

    @instruction
    def short(self, n: u64) -> None:
        """Run anywhere."""
        require(n > 0, self.Zero)

    @instruction
    def in_rust(self, n: u64) -> None:
        """Have no body."""

    @instruction
    def calls(self, it: Ref[ProgramAccount, ...]) -> None:
        """Have a constraint that the simulator cannot check."""
        require(it.address == it.address, self.Zero)

    @instruction
    def long(self, n: u64) -> u64:
        """Loop as often as the caller wants."""
        last = u64(0)
        for i in range(max(n, u64(2_000_000))):
            last = u64(i)
        return last

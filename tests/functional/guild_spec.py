"""A program whose constraints name accounts that may be left out, and that takes any number of signers."""

from mcpsol_py.spec import (
    Account,
    Mut,
    Pubkey,
    Ref,
    Signer,
    TokenAccount,
    Unchecked,
    error,
    executable,
    has_one,
    instruction,
    owner,
    program,
    token,
)


class Vault(Account):
    """A vault."""

    authority: Pubkey
    guardian: Pubkey


@program(name="guild", address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
class Guild:
    """A guild."""

    NotGuardian = error("That is not the guardian")

    @instruction
    def withdraw(self, vault: Mut[Vault, has_one("authority")], authority: Signer | None) -> None:
        """Withdraw, as the vault's authority."""

    @instruction
    def guard(
        self,
        vault: Mut[Vault, has_one("guardian", account="who", error=NotGuardian)],
        who: Signer | None,
    ) -> None:
        """Guard, as the vault's guardian."""

    @instruction
    def spend(self, purse: Mut[TokenAccount, token(authority="who")], who: Signer | None) -> None:
        """Spend, as the purse's owner."""

    @instruction
    def owned(
        self, thing: Ref[Unchecked, owner("maker")], maker: Ref[Unchecked, executable] | None
    ) -> None:
        """Look at something that a program made."""

    @instruction
    def vote(self, vault: Ref[Vault, ...], *voters: Signer) -> None:
        """Vote, as everybody who signs."""

    @instruction
    def fill(self, vault: Ref[Vault, ...], *jars: Mut[Unchecked, ...]) -> None:
        """Fill jars."""

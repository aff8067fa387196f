"""A program whose constraints name accounts that may be left out, and that takes any number of signers."""

from mcpsol_py.spec import (
    Account,
    Group,
    Mint,
    Mut,
    Payer,
    Pubkey,
    Ref,
    Signer,
    SystemProgram,
    TokenAccount,
    TokenInterface,
    TokenProgram,
    Unchecked,
    error,
    executable,
    has_one,
    init,
    instruction,
    mint,
    owner,
    program,
    seeds,
    signer,
    token,
)


class Vault(Account):
    """A vault."""

    authority: Pubkey
    guardian: Pubkey


class Owned(Group):
    """A vault and its authority."""

    vault: Mut[Vault, has_one("authority")]
    authority: Signer


@program(
    name="guild",
    address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb",
    allow_init_if_needed=True,
)
class Guild:
    """A guild."""

    NotGuardian = error("That is not the guardian")

    @instruction
    def withdraw(
        self, vault: Mut[Vault, has_one("authority")], authority: Signer | None
    ) -> None:
        """Withdraw, as the vault's authority."""

    @instruction
    def guard(
        self,
        vault: Mut[Vault, has_one("guardian", account="who", error=NotGuardian)],
        who: Signer | None,
    ) -> None:
        """Guard, as the vault's guardian."""

    @instruction
    def spend(
        self, purse: Mut[TokenAccount, token(authority="who")], who: Signer | None
    ) -> None:
        """Spend, as the purse's owner."""

    @instruction
    def owned(
        self,
        thing: Ref[Unchecked, owner("maker")],
        maker: Ref[Unchecked, executable] | None,
    ) -> None:
        """Look at something that a program made."""

    @instruction
    def keep(
        self,
        purse: Mut[TokenAccount, token(mint="coin", program="maker")],
        coin: Mint | None,
        maker: TokenProgram | None,
    ) -> None:
        """Keep tokens of one mint and one token program."""

    @instruction
    def issue(self, coin: Mut[Mint, mint(authority="who")], who: Signer | None) -> None:
        """Issue tokens, as the mint's authority."""

    @instruction
    def carry(
        self, purse: Ref[TokenAccount, signer], program: Ref[TokenInterface, signer]
    ) -> None:
        """Do something that a token account and a program sign."""

    @instruction
    def ensure(
        self,
        vault: Mut[
            Vault,
            init(payer="authority", if_needed=True),
            seeds(b"one"),
            has_one("authority"),
        ],
        authority: Payer,
        system_program: SystemProgram,
    ) -> None:
        """Make the only vault, or use it as its authority."""

    @instruction
    def perhaps(
        self, vault: Mut[Vault, has_one("authority")] | None, authority: Signer
    ) -> None:
        """Use a vault, if there is one, as its authority."""

    @instruction
    def twice(
        self,
        vault: Mut[
            Vault,
            has_one("authority", account="one"),
            has_one("authority", account="other"),
        ],
        one: Signer,
        other: Signer,
    ) -> None:
        """Name the authority in two places."""

    @instruction
    def guarded(
        self,
        owned: Owned,
        vault: Mut[Vault, has_one("guardian", account="owned.authority")],
    ) -> None:
        """Use a vault as its authority, and another one as its guardian."""

    @instruction
    def collect(self, vault: Ref[Vault, ...], *payers: Payer) -> None:
        """Collect from everybody who signs."""

    @instruction
    def vote(self, vault: Ref[Vault, ...], *voters: Signer) -> None:
        """Vote, as everybody who signs."""

    @instruction
    def fill(self, vault: Ref[Vault, ...], *jars: Mut[Unchecked, ...]) -> None:
        """Fill jars."""

"""Instructions with a hole, each beside a twin without it, for the test of the attacks."""

from mcpsol_py.spec import (
    Account,
    Mint,
    Mut,
    Payer,
    Pubkey,
    Ref,
    Signer,
    SystemProgram,
    TokenAccount,
    TokenInterface,
    Unchecked,
    Wallet,
    close,
    error,
    has_one,
    init,
    instruction,
    program,
    require,
    seeds,
    token,
    u8,
    u64,
)


class Vault(Account):
    """A vault."""

    authority: Pubkey
    total: u64
    bump: u8


class Part(Account):
    """A part that is closed with its vault."""

    authority: Pubkey
    total: u64
    bump: u8


class Config(Account):
    """Whose a vault is."""

    vault: Pubkey
    admin: Pubkey


class Receipt(Account):
    """A receipt, which a payer has once."""

    payer: Pubkey
    bump: u8


@program(
    name="trust",
    address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb",
    version="1.0.0",
)
class Trust:
    """Holes and their twins."""

    NotYours = error("The vault is somebody else's")

    @instruction
    def shut_any(self, vault: Mut[Vault, close("authority")], authority: Payer) -> None:
        """Close a vault of anybody."""
        return

    @instruction
    def shut_silent(
        self,
        vault: Mut[Vault, has_one("authority"), close("to")],
        authority: Unchecked,
        to: Mut[Unchecked, ...],
    ) -> None:
        """Close the vault of an authority that does not sign."""
        return

    @instruction
    def shut_derived(
        self,
        vault: Mut[Vault, seeds(b"vault", "authority", bump="bump"), close("to")],
        authority: Unchecked,
        to: Mut[Unchecked, ...],
    ) -> None:
        """Close the vault at the address of an authority that does not sign."""
        return

    @instruction
    def shut_for(
        self,
        vault: Mut[Vault, has_one("authority"), close("helper")],
        authority: Unchecked,
        helper: Payer,
    ) -> None:
        """Close a vault as somebody else than its authority."""
        return

    @instruction
    def shut_for_config(
        self,
        config: Ref[Config, has_one("vault")],
        vault: Mut[Vault, close("to")],
        to: Mut[Unchecked, ...],
    ) -> None:
        """Close the vault of a configuration, which nobody signs for."""
        return

    @instruction
    def shut_as_admin(
        self,
        config: Ref[Config, has_one("vault"), has_one("admin")],
        vault: Mut[Vault, close("to")],
        admin: Signer,
        to: Mut[Unchecked, ...],
    ) -> None:
        """Close the vault of a configuration, as its admin."""
        return

    @instruction
    def shut_maybe(
        self, vault: Mut[Vault, ...], authority: Signer | None, to: Payer
    ) -> None:
        """Close a vault, whose authority is compared if it is given."""
        if authority is not None:
            require(vault.authority == authority.address, self.NotYours)
        close(vault, to)

    @instruction
    def shut_given(
        self, vault: Mut[Vault, ...], authority: Signer | None, to: Payer
    ) -> None:
        """Close a vault, whose authority has to be given."""
        if authority is None:
            raise self.NotYours
        require(vault.authority == authority.address, self.NotYours)
        close(vault, to)

    @instruction
    def shut_back(
        self,
        vault: Mut[Vault, has_one("authority"), close("authority")],
        authority: Mut[Unchecked, ...],
    ) -> None:
        """Give a vault's lamports back, which anybody may do."""
        return

    @instruction
    def shut_by_body(
        self,
        vault: Mut[Vault, close("helper")],
        helper: Payer,
    ) -> None:
        """Close a vault as its authority, which the body makes sure of."""
        require(vault.authority == helper.address, self.NotYours)

    @instruction
    def shut_own(
        self,
        vault: Mut[Vault, has_one("authority"), close("authority")],
        authority: Payer,
    ) -> None:
        """Close the authority's vault."""
        return

    @instruction
    def use_any(self, vault: Mut[Vault, ...], authority: Signer, amount: u64) -> None:
        """Count in a vault of anybody."""
        vault.total += amount

    @instruction
    def shut_chain(
        self,
        part: Mut[Part, has_one("authority"), close("vault")],
        vault: Mut[Vault, has_one("authority"), close("authority")],
        authority: Payer,
    ) -> None:
        """Close a part to a vault, and the vault to a wallet."""
        return

    @instruction
    def shut_to_wallet(
        self,
        vault: Mut[Vault, has_one("authority"), close("to")],
        authority: Signer,
        to: Mut[Wallet, ...],
    ) -> None:
        """Close a vault to any wallet."""
        return

    @instruction
    def keep(
        self,
        receipt: Mut[
            Receipt, init(payer="payer"), seeds(b"receipt", "payer", bump="bump")
        ],
        payer: Payer,
        system_program: SystemProgram,
    ) -> None:
        """Make the one receipt of a payer."""
        receipt.payer = payer.address

    @instruction
    def approve(self, maker: Signer, checker: Signer) -> None:
        """Four eyes, if they are of two."""
        return

    @instruction
    def maybe(
        self, vault: Mut[Vault, has_one("authority")], authority: Signer | None
    ) -> None:
        """Use a vault as its authority."""

    @instruction
    def tally(
        self,
        vault: Mut[Vault, has_one("authority")],
        authority: Signer,
        *voters: Signer,
    ) -> None:
        """Count voters."""

    @instruction
    def gather(
        self,
        vault: Mut[Vault, has_one("authority")],
        authority: Signer,
        *others: Mut[Vault, ...],
    ) -> None:
        """Look at other vaults."""

    @instruction
    def weigh(
        self,
        vault: Mut[Vault, has_one("authority")],
        authority: Signer,
        *purses: TokenAccount,
    ) -> None:
        """Look at token accounts."""

    @instruction
    def price(
        self,
        vault: Mut[Vault, has_one("authority")],
        authority: Signer,
        *mints: Mint,
    ) -> None:
        """Look at mints."""

    @instruction
    def tip(
        self,
        vault: Mut[Vault, has_one("authority")],
        authority: Signer,
        *payers: Payer,
    ) -> None:
        """Look at payers."""

    @instruction
    def spend(
        self,
        purse: Ref[TokenAccount, token(authority="owner")],
        owner: Signer,
        token_program: TokenInterface,
    ) -> None:
        """Look at tokens of either program."""
        return

    @instruction
    def by_bump(
        self,
        receipt: Ref[Receipt, seeds(b"receipt", "payer", bump="receipt_bump")],
        payer: Signer,
        receipt_bump: u8,
    ) -> None:
        """Read a receipt at an address whose bump is an argument."""
        return

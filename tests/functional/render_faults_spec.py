"""Odd but right forms of a spec, which each target must render to a program that builds and checks.

A line of a docstring may end like a placeholder of the templates: // imports
"""

from mcpsol_py.spec import (
    Account,
    Mint,
    Mut,
    Pubkey,
    Ref,
    Signer,
    Token2022Program,
    TokenAccount,
    TokenProgram,
    Unchecked,
    has_one,
    instruction,
    mint,
    program,
    seeds,
    token,
)


class Page(Account):
    """A page. // imports"""

    writer: Pubkey
    """Who writes it // imports"""


@program(name="odd", address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
class Odd:
    """An odd program.

    // imports
    """

    @instruction
    def a(self, writer: Signer) -> None:
        """An instruction of one letter, which ends in // imports"""

    @instruction
    def titled(
        self, page: Ref[Unchecked, seeds(b"page", "title")], writer: Signer, title: str
    ) -> None:
        """Look at a page by its title.

        Args:
            title: Its title // imports
        """

    @instruction
    def stored(self, page: Ref[Page, has_one("writer")], writer: Signer) -> None:
        """Read a page. // imports"""

    @instruction
    def swap(
        self,
        base: Mut[TokenAccount, token(mint="coin", authority="owner", program="old")],
        quote: Mut[TokenAccount, token(mint="share", authority="owner", program="new")],
        coin: Ref[Mint, mint(program="old")],
        share: Ref[Mint, mint(program="new")],
        owner: Signer,
        old: TokenProgram,
        new: Token2022Program,
    ) -> None:
        """Take tokens of both token programs."""

"""Constraints that name an account which may be absent: they are refused when rendering, or refuse the absence."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpsol_py import load
from mcpsol_py.errors import RenderError
from mcpsol_py.render import render_crate
from mcpsol_py.render.write import RenderResult

TARGETS = ("pinocchio", "native", "anchor")
HEAD = '''
from mcpsol_py.spec import (
    Account, AssociatedTokenProgram, Mint, Mut, Payer, Pubkey, Ref, Signer, SystemProgram, TokenAccount,
    TokenProgram, Unchecked, associated, close, init, instruction, mint, program, realloc, seeds, signer, token,
)


class Vault(Account):
    """A vault."""

    authority: Pubkey


@program(name="absent", address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
class Absent:
    """A program."""

    @instruction
    def go(self, {accounts}) -> None:
        """Go."""
'''
#: What needs an account -> its accounts. Nothing can be made, closed or derived without the account.
NEEDED = {
    "payer": "v: Mut[Vault, init(payer='p'), seeds(b'v')], p: Payer | None, system_program: SystemProgram",
    "payer of a new size": "v: Mut[Vault, realloc(99, payer='p')], p: Payer | None, system_program: SystemProgram",
    "destination": "v: Mut[Vault, close('p')], p: Payer | None",
    "mint": "t: Mut[TokenAccount, init(payer='p'), token(mint='m', authority='p'), seeds(b't')], m: Mint | None,"
    " p: Payer, token_program: TokenProgram, system_program: SystemProgram",
    "authority": "t: Mut[TokenAccount, init(payer='p'), token(mint='m', authority='a'), seeds(b't')], m: Mint,"
    " a: Signer | None, p: Payer, token_program: TokenProgram, system_program: SystemProgram",
    "mint authority": "m: Mut[Mint, init(payer='p'), mint(authority='a', decimals=1), seeds(b't')],"
    " a: Signer | None, p: Payer, token_program: TokenProgram, system_program: SystemProgram",
    "token program": "t: Mut[TokenAccount, init(payer='p'), token(mint='m', authority='p', program='q'), seeds(b't')],"
    " m: Mint, p: Payer, q: TokenProgram | None, system_program: SystemProgram",
    "associated authority": "t: Mut[TokenAccount, associated('m', 'a')], m: Mint, a: Signer | None",
    "associated mint": "t: Mut[TokenAccount, associated('m', 'a')], m: Mint | None, a: Signer",
    "seed": "t: Ref[Unchecked, seeds(b't', 'a')], a: Signer | None",
}


def rendered(accounts: str, target: str, folder: Path) -> RenderResult:
    spec = folder / "spec.py"
    spec.write_text(HEAD.format(accounts=accounts), encoding="utf-8")
    return render_crate(load(spec), target=target, out=folder / "crate")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("what", NEEDED)
def test_what_an_absent_account_would_break_is_refused(
    what: str, target: str, tmp_path: Path
) -> None:
    with pytest.raises(RenderError, match=r"go\.\w+: "):
        rendered(NEEDED[what], target, tmp_path)
    assert not (tmp_path / "crate").exists()


@pytest.mark.parametrize("account", ["TokenAccount", "Mint", "Vault"])
def test_an_account_of_any_kind_that_signs_is_checked_in_anchor(
    account: str, tmp_path: Path
) -> None:
    """Anchor's types of state and token accounts do not check that they sign."""
    rendered(f"it: Ref[{account}, signer]", "anchor", tmp_path)
    text = (tmp_path / "crate/src/instructions/go.rs").read_text(encoding="utf-8")
    assert "#[account(signer" in text

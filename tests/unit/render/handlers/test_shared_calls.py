"""A handler that makes one call from three places has a function for it, if the SVM can pass what differs."""

from __future__ import annotations

import re
from pathlib import Path

from mcpsol_py.render import render
from mcpsol_py.sources.spec import read_spec

HEAD = """\
from mcpsol_py.spec import *
from mcpsol_py.spec import u64


@program(name="pays", address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
class Pays:
    class S(Account):
        n: u64

    @instruction
    def pay(
        self, s: Mut[S, seeds(b"s")], coin: Mint, pot: Mut[TokenAccount, ...], one: Mut[TokenAccount, ...],
        two: Mut[TokenAccount, ...], token_program: TokenProgram, n: u64,
    ) -> None:
        \"\"\"Pay.\"\"\"
"""
SEND = (
    "        token_program.transfer_checked(source={source}, mint=coin, destination={to}, authority=s,"
    " amount=n, decimals=coin.decimals)\n"
)


def handler(folder: Path, *sends: tuple[str, str]) -> str:
    """The handler that makes these transfers, each with its source and destination, without white space."""
    body = "".join(SEND.format(source=source, to=to) for source, to in sends)
    file = folder / "spec.py"
    file.write_text(HEAD + body, encoding="utf-8")
    render(read_spec(file), out=folder)
    text = (folder / "src/processor/pay.rs").read_text(encoding="utf-8")
    return re.sub(r"\s", "", text)


def test_three_transfers_are_made_by_one_function(tmp_path: Path) -> None:
    text = handler(tmp_path, ("pot", "one"), ("pot", "two"), ("pot", "one"))
    assert text.count("TransferChecked::new(") == 1
    assert "#[inline(never)]fntransfer_checked(accounts:&Accounts,destination:" in text
    assert text.count("transfer_checked(accounts,&*accounts.one,") == 2
    assert text.count("transfer_checked(accounts,&*accounts.two,") == 1


def test_two_transfers_are_written_out(tmp_path: Path) -> None:
    text = handler(tmp_path, ("pot", "one"), ("pot", "two"))
    assert text.count("TransferChecked::new(") == 2
    assert "fntransfer_checked(" not in text


def test_what_takes_more_words_than_the_svm_passes_is_written_out(
    tmp_path: Path,
) -> None:
    text = handler(tmp_path, ("pot", "one"), ("one", "two"), ("two", "pot"))
    assert text.count("TransferChecked::new(") == 3
    assert "fntransfer_checked(" not in text

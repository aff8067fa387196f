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


def handler(
    folder: Path,
    *sends: tuple[str, str],
    program: str = "TokenProgram",
    send: str = SEND,
) -> str:
    """The handler that makes these transfers, each with its source and destination, without white space."""
    body = "".join(send.format(source=source, to=to) for source, to in sends)
    file = folder / "spec.py"
    head = HEAD.replace("TokenProgram", program)
    file.write_text(head + body, encoding="utf-8")
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
    sends = [("pot", "one"), ("one", "two"), ("two", "pot")]
    text = handler(tmp_path, *sends, program="TokenInterface")
    assert text.count("TransferChecked::new(") == 3
    assert "fntransfer_checked(" not in text


def test_a_call_that_reads_few_accounts_is_written_out(tmp_path: Path) -> None:
    plain = "        token_program.transfer(source={source}, destination={to}, authority=s, amount=n)\n"
    sends = [("pot", "one"), ("pot", "two"), ("pot", "one")]
    text = handler(tmp_path, *sends, send=plain)
    assert text.count("::Transfer::new(") == 3
    assert "fntransfer(" not in text

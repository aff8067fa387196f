"""The spec language, whole: every word is used in an example that is rendered, built and run."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

import pytest
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.attack import attack_program
from mcpsol_py.build import build_program
from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.client.discovery import discover_sync
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.program import Program
from mcpsol_py.render import render
from mcpsol_py.sources.spec import read_spec
from mcpsol_py.sources.spec_words import __all__ as words
from tests.functional.targets import REPO, failure
from tests.support import vault_chain as vault
from tests.support.chains import Chain

EVERY_WORD = REPO / "examples/every_word.py"


def test_the_examples_on_the_page_use_every_word() -> None:
    page = (REPO / "docs/spec.md").read_text(encoding="utf-8")
    used: set[str] = set()
    for name in ("programs/counter/spec.py", "examples/every_word.py"):
        assert f"<!-- {name} -->" in page
        tree = ast.parse((REPO / name).read_text(encoding="utf-8"))
        used |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    of_bodies = (REPO / "docs/bodies.md").read_text(encoding="utf-8")
    used |= {word for word in words if re.search(rf"`[^`\n]*\b{word}\b", of_bodies)}
    assert not set(words) - used


@pytest.mark.slow
@pytest.mark.rust
def test_every_word_runs(tmp_path: Path, no_std_toolchain: Toolchain) -> None:
    """The program tells the whole model; a call as clients build it passes all checks up to the unwritten handler."""
    model = read_spec(EVERY_WORD)
    render(model, out=tmp_path)
    so = build_program(tmp_path).so
    transport = SvmTransport()
    at = Pubkey.from_string(model.address or "")
    transport.svm.add_program(at, so.read_bytes())
    found = discover_sync(transport, at).program
    assert found.model.instructions == model.instructions
    assert found.model.types == model.types
    assert (found.model.errors, found.model.constants) == (
        model.errors,
        model.constants,
    )

    admin = Keypair()
    transport.airdrop(admin.pubkey())
    given = {"admin": admin.pubkey(), "fee_to": Keypair().pubkey()}
    chain = Chain(transport.svm, admin)
    setup = found.instruction("setup").build({}, given, program_id=at)
    assert failure(chain.run(setup)) == "InstructionNotWritten"
    wrong = list(setup.accounts)
    wrong[5] = type(wrong[5])(vault.TOKEN, False, False)
    assert failure(chain.run(Instruction(at, setup.data, wrong))) == "WrongMemo"


@pytest.mark.slow
@pytest.mark.rust
def test_a_bump_that_an_argument_gives_is_checked_and_not_searched(
    tmp_path: Path, no_std_toolchain: Toolchain
) -> None:
    text = (REPO / "programs/vault/spec.py").read_text(encoding="utf-8")
    searched = r'(Mut\[\s*TokenAccount,\s*seeds\(b"tokens", "vault")(\),\s*token\()'
    text, count = re.subn(searched, r'\1, bump="tokens_bump"\2', text)
    assert count == 2
    text, count = re.subn(
        r"amount: u64(,\s*\) ->)", r"amount: u64, tokens_bump: u8\1", text
    )
    assert count == 2
    (tmp_path / "spec.py").write_text(text, encoding="utf-8")
    model = read_spec(tmp_path / "spec.py")
    render(model, out=tmp_path)
    shutil.copytree(
        REPO / "programs/vault/src/processor",
        tmp_path / "src/processor",
        dirs_exist_ok=True,
    )
    so = build_program(tmp_path).so
    report = attack_program(Program(model), so.read_bytes())
    assert report.fine
    # The vault is created with its canonical bump, so nobody can have one at the bump that an argument names.
    bumps = [result for result in report.results if result.kind == "other-bump"]
    assert {one.got for one in bumps if one.verdict != "open"} == {"ConstraintSeeds"}
    assert all(
        "which the argument names" in one.what for one in bumps if one.verdict == "open"
    )
    chain = vault.VaultChain(so)
    chain.ok(chain.initialize())
    deposit = Program(model).instruction("deposit")
    accounts = {
        "vault": chain.vault,
        "source": chain.purse,
        "mint": chain.mint,
        "depositor": chain.me,
    }
    filled_in = deposit.build({"amount": 5}, accounts, program_id=vault.PROGRAM)
    bump = Pubkey.find_program_address([b"tokens", bytes(chain.vault)], vault.PROGRAM)[
        1
    ]
    assert deposit.decode(filled_in.data) == {"amount": 5, "tokens_bump": bump}
    units = chain.ok(filled_in).compute_units_consumed()
    other = Instruction(
        vault.PROGRAM,
        deposit.encode({"amount": 5, "tokens_bump": bump - 1}),
        filled_in.accounts,
    )
    assert failure(chain.run(other)) == "ConstraintSeeds"

    plain = vault.VaultChain()
    plain.wallet, plain.me, plain.mint, plain.purse = (
        chain.wallet,
        chain.me,
        chain.mint,
        chain.purse,
    )
    plain.vault, plain.tokens = chain.vault, chain.tokens
    for key in (chain.me, chain.mint, chain.purse, chain.vault, chain.tokens):
        account = chain.svm.get_account(key)
        assert account is not None
        plain.svm.set_account(key, account)
    assert units < plain.ok(plain.deposit(5)).compute_units_consumed(), (
        "the address is derived once, not searched"
    )

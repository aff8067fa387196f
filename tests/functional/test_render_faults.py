"""Programs of odd but right specs: each target renders them, and what it renders builds and checks."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.solana.ids import TOKEN_2022_PROGRAM, TOKEN_PROGRAM
from tests.functional.rendered_chain import (
    PASSED,
    RenderedProgram,
    read,
    signer,
    written,
)
from tests.functional.targets import TARGETS
from tests.support.vault_chain import mint_data, token_data

SPEC = Path(__file__).with_name("render_faults_spec.py")
OLD, NEW = Pubkey.from_string(TOKEN_PROGRAM), Pubkey.from_string(TOKEN_2022_PROGRAM)

pytestmark = [pytest.mark.slow, pytest.mark.rust]


@pytest.fixture(scope="module", params=TARGETS)
def odd(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    std_toolchain: Toolchain,
) -> RenderedProgram:
    folder = tmp_path_factory.mktemp("odd")
    return RenderedProgram.build(SPEC, request.param, folder, std_toolchain)


@pytest.fixture
def target(odd: RenderedProgram, request: pytest.FixtureRequest) -> str:
    return str(request.node.callspec.params["odd"])


def test_an_instruction_of_one_letter_is_called(odd: RenderedProgram) -> None:
    """The frameworks' allocator is called A too."""
    writer = Keypair()
    assert odd.call("a", signer(writer), signers=[writer]) == PASSED
    assert odd.call("a", read(writer.pubkey())) == "AccountNotSigner"


@pytest.mark.parametrize("length", [0, 1, 32])
def test_a_text_of_up_to_32_bytes_is_a_seed(odd: RenderedProgram, length: int) -> None:
    title, writer = b"x" * length, Keypair()
    page, _ = Pubkey.find_program_address([b"page", title], odd.address)
    data = struct.pack("<I", length) + title
    assert (
        odd.call("titled", read(page), signer(writer), data=data, signers=[writer])
        == PASSED
    )


@pytest.mark.parametrize("length", [33, 64, 200])
def test_a_longer_text_is_refused(
    odd: RenderedProgram, length: int, target: str
) -> None:
    """Anchor gives the seed to the SVM, which stops the program."""
    writer = Keypair()
    page, _ = Pubkey.find_program_address([b"page", b"x" * 32], odd.address)
    data = struct.pack("<I", length) + b"x" * length
    got = odd.call("titled", read(page), signer(writer), data=data, signers=[writer])
    if target == "anchor":
        assert "ProgramFailedToComplete" in got
    else:
        assert got == "ConstraintSeeds"


def test_state_is_read_whatever_its_docs_end_in(odd: RenderedProgram) -> None:
    page, writer, other = Pubkey.new_unique(), Keypair(), Keypair()
    odd.put(page, odd.program.encode_account("Page", {"writer": writer.pubkey()}))
    assert odd.call("stored", read(page), signer(writer), signers=[writer]) == PASSED
    wrong = odd.call("stored", read(page), signer(other), signers=[other])
    assert wrong == "ConstraintHasOne"


def test_one_instruction_takes_tokens_of_both_programs(odd: RenderedProgram) -> None:
    owner = Keypair()
    base, quote, coin, share = (Pubkey.new_unique() for _ in range(4))

    def swap(base_of: Pubkey = OLD, quote_of: Pubkey = NEW) -> str:
        for mint, account, program in ((coin, base, base_of), (share, quote, quote_of)):
            odd.put(account, token_data(mint, owner.pubkey(), 5), program)
        odd.put(coin, mint_data(owner.pubkey()), OLD)
        odd.put(share, mint_data(owner.pubkey()), NEW)
        accounts = written(base), written(quote), read(coin), read(share), signer(owner)
        return odd.call("swap", *accounts, read(OLD), read(NEW), signers=[owner])

    assert swap() == PASSED
    # Anchor's own check of the token program has a name of its own
    wrong = ("AccountOwnedByWrongProgram", "ConstraintTokenTokenProgram")
    assert swap(base_of=NEW) in wrong
    assert swap(quote_of=OLD) in wrong
    assert swap(base_of=NEW, quote_of=OLD) in wrong

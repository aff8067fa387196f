"""Generated checks that a caller cannot get around by leaving an account out or by adding accounts, on all targets.

The handlers are not written, so a call that passes every check ends with InstructionNotWritten.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py import load
from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.program import Program
from mcpsol_py.render import render_crate
from mcpsol_py.solana.ids import TOKEN_PROGRAM
from tests.functional.targets import REPO, TARGETS, built_crate, failure
from tests.support.vault_chain import token_data

SPEC = Path(__file__).with_name("guild_spec.py")
PASSED = "InstructionNotWritten"

pytestmark = [pytest.mark.slow, pytest.mark.rust]


def crate(program: Program, target: str, folder: Path) -> Path:
    """The rendered crate in a workspace like those of tests/targets."""
    out = folder / target / program.name
    render_crate(program, target=target, out=out, source="a spec")
    like = REPO / "tests/targets" / target
    workspace = '[workspace]\nresolver = "2"\nmembers = ["{}"]\n[profile.release]\nlto = "fat"\n'
    (out.parent / "Cargo.toml").write_text(workspace.format(program.name), encoding="utf-8")
    if like.is_dir():
        shutil.copy(like / "Cargo.lock", out.parent)
    return out


@dataclass
class Guild:
    """The program on a chain, with a vault, its authority and its guardian."""

    program: Program
    transport: SvmTransport
    payer: Keypair
    vault: Pubkey
    authority: Keypair
    guardian: Keypair

    @classmethod
    def start(cls, program: Program, so: Path) -> Guild:
        transport = SvmTransport(features="all")
        assert program.address is not None
        transport.add_program(program.address, so.read_bytes())
        payer, authority, guardian = Keypair(), Keypair(), Keypair()
        transport.svm.airdrop(payer.pubkey(), 10**12)
        guild = cls(program, transport, payer, Pubkey.new_unique(), authority, guardian)
        fields = {"authority": authority.pubkey(), "guardian": guardian.pubkey()}
        guild.put(guild.vault, program.encode_account("Vault", fields), program.address)
        return guild

    def put(self, key: Pubkey, data: bytes, owner: Pubkey) -> None:
        self.transport.set_account(key, Account(10**9, data, owner))

    @property
    def absent(self) -> AccountMeta:
        assert self.program.address is not None
        return AccountMeta(self.program.address, False, False)

    def call(self, name: str, *metas: AccountMeta, signers: Sequence[Keypair] = ()) -> str:
        """The name of the error that a call ends with."""
        assert self.program.address is not None
        data = self.program.instruction(name).model.discriminator.value
        call = Instruction(self.program.address, data, list(metas))
        svm = self.transport.svm
        svm.expire_blockhash()
        message = Message.new_with_blockhash([call], self.payer.pubkey(), svm.latest_blockhash())
        return failure(svm.send_transaction(VersionedTransaction(message, [self.payer, *signers])))


def written(key: Pubkey) -> AccountMeta:
    return AccountMeta(key, False, True)


def read(key: Pubkey) -> AccountMeta:
    return AccountMeta(key, False, False)


def signer(key: Keypair) -> AccountMeta:
    return AccountMeta(key.pubkey(), True, False)


@pytest.fixture(scope="module", params=TARGETS)
def guild(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    std_toolchain: Toolchain,
) -> Guild:
    program = load(SPEC)
    folder = tmp_path_factory.mktemp("guild")
    return Guild.start(program, built_crate(crate(program, request.param, folder), std_toolchain))


@pytest.mark.parametrize(
    ("name", "role", "fault"),
    [("withdraw", "authority", "ConstraintHasOne"), ("guard", "guardian", "NotGuardian")],
)
def test_a_field_must_equal_an_account_that_is_given(
    guild: Guild, name: str, role: str, fault: str
) -> None:
    right, stranger = getattr(guild, role), Keypair()
    vault = written(guild.vault)
    assert guild.call(name, vault, signer(right), signers=[right]) == PASSED
    assert guild.call(name, vault, signer(stranger), signers=[stranger]) == fault
    assert guild.call(name, vault, guild.absent) == "ConstraintAccountIsNone"


def test_the_authority_of_a_token_account_cannot_be_left_out(guild: Guild) -> None:
    purse, owner = Pubkey.new_unique(), Keypair()
    guild.put(
        purse, token_data(Pubkey.new_unique(), owner.pubkey(), 5), Pubkey.from_string(TOKEN_PROGRAM)
    )
    assert guild.call("spend", written(purse), signer(owner), signers=[owner]) == PASSED
    assert guild.call("spend", written(purse), guild.absent) == "ConstraintAccountIsNone"


def test_an_owner_cannot_be_left_out(guild: Guild) -> None:
    token_program = Pubkey.from_string(TOKEN_PROGRAM)
    thing = Pubkey.new_unique()
    guild.put(thing, b"x", token_program)
    assert guild.call("owned", read(thing), read(token_program)) == PASSED
    assert guild.call("owned", read(thing), guild.absent) == "ConstraintAccountIsNone"


def test_every_one_of_many_signers_signs(guild: Guild) -> None:
    vault, voters = read(guild.vault), [Keypair() for _ in range(3)]
    assert guild.call("vote", vault) == PASSED
    assert guild.call("vote", vault, *map(signer, voters), signers=voters) == PASSED
    silent = read(voters[1].pubkey())
    mixed = [signer(voters[0]), silent, signer(voters[2])]
    assert guild.call("vote", vault, *mixed, signers=[voters[0], voters[2]]) == "AccountNotSigner"


def test_every_one_of_many_accounts_is_writable(guild: Guild) -> None:
    vault, jars = read(guild.vault), [Pubkey.new_unique() for _ in range(3)]
    assert guild.call("fill", vault, *map(written, jars)) == PASSED
    assert guild.call("fill", vault, written(jars[0]), read(jars[1])) == "ConstraintMut"


def test_no_account_is_dropped(guild: Guild) -> None:
    """The last of 200 accounts does not sign. Anchor and solana-program see it, pinocchio refuses so many."""
    voter, silent = Keypair(), Pubkey.new_unique()
    many = [read(guild.vault), *[signer(voter)] * 198, read(silent)]
    assert guild.call("vote", *many, signers=[voter]) in ("AccountNotSigner", "TooManyAccounts")

"""Generated checks that a caller cannot get around by leaving an account out or by adding accounts, on all targets.

The handlers are not written, so a call that passes every check ends with InstructionNotWritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from solders.instruction import AccountMeta
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.solana.ids import TOKEN_PROGRAM
from tests.functional.rendered_chain import (
    PASSED,
    RenderedProgram,
    read,
    signer,
    written,
)
from tests.functional.targets import TARGETS
from tests.support.vault_chain import mint_data, token_data

SPEC = Path(__file__).with_name("guild_spec.py")

pytestmark = [pytest.mark.slow, pytest.mark.rust]


@dataclass
class Guild:
    """The program on a chain, with a vault, its authority and its guardian."""

    chain: RenderedProgram
    vault: Pubkey
    authority: Keypair
    guardian: Keypair

    @classmethod
    def start(cls, chain: RenderedProgram) -> Guild:
        guild = cls(chain, Pubkey.new_unique(), Keypair(), Keypair())
        fields = {
            "authority": guild.authority.pubkey(),
            "guardian": guild.guardian.pubkey(),
        }
        chain.put(guild.vault, chain.program.encode_account("Vault", fields))
        return guild

    def put(self, key: Pubkey, data: bytes, owner: Pubkey) -> None:
        self.chain.put(key, data, owner)

    @property
    def absent(self) -> AccountMeta:
        return self.chain.absent

    def call(
        self, name: str, *metas: AccountMeta, signers: Sequence[Keypair] = ()
    ) -> str:
        return self.chain.call(name, *metas, signers=signers)


@pytest.fixture(scope="module", params=TARGETS)
def guild(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    std_toolchain: Toolchain,
) -> Guild:
    folder = tmp_path_factory.mktemp("guild")
    return Guild.start(
        RenderedProgram.build(SPEC, request.param, folder, std_toolchain)
    )


@pytest.mark.parametrize(
    ("name", "role", "fault"),
    [
        ("withdraw", "authority", "ConstraintHasOne"),
        ("guard", "guardian", "NotGuardian"),
    ],
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
        purse,
        token_data(Pubkey.new_unique(), owner.pubkey(), 5),
        Pubkey.from_string(TOKEN_PROGRAM),
    )
    assert guild.call("spend", written(purse), signer(owner), signers=[owner]) == PASSED
    assert (
        guild.call("spend", written(purse), guild.absent) == "ConstraintAccountIsNone"
    )


def test_the_mint_and_the_token_program_cannot_be_left_out(guild: Guild) -> None:
    token_program = Pubkey.from_string(TOKEN_PROGRAM)
    purse, coin = Pubkey.new_unique(), Pubkey.new_unique()
    guild.put(purse, token_data(coin, Pubkey.new_unique(), 5), token_program)
    guild.put(coin, mint_data(Pubkey.new_unique()), token_program)
    whole = written(purse), read(coin), read(token_program)
    assert guild.call("keep", *whole) == PASSED
    assert (
        guild.call("keep", whole[0], guild.absent, whole[2])
        == "ConstraintAccountIsNone"
    )
    assert (
        guild.call("keep", whole[0], whole[1], guild.absent)
        == "ConstraintAccountIsNone"
    )


def test_the_authority_of_a_mint_cannot_be_left_out(guild: Guild) -> None:
    coin, owner = Pubkey.new_unique(), Keypair()
    guild.put(coin, mint_data(owner.pubkey()), Pubkey.from_string(TOKEN_PROGRAM))
    assert guild.call("issue", written(coin), signer(owner), signers=[owner]) == PASSED
    assert guild.call("issue", written(coin), guild.absent) == "ConstraintAccountIsNone"


def test_a_token_account_signs_if_it_must(guild: Guild) -> None:
    token_program, purse = Pubkey.from_string(TOKEN_PROGRAM), Keypair()
    guild.put(
        purse.pubkey(),
        token_data(Pubkey.new_unique(), Pubkey.new_unique(), 5),
        token_program,
    )
    silent = read(purse.pubkey()), read(token_program)
    assert guild.call("carry", *silent) == "AccountNotSigner"
    signed = signer(purse), read(token_program)
    assert guild.call("carry", *signed, signers=[purse]) == "AccountNotSigner"


def test_an_owner_cannot_be_left_out(guild: Guild) -> None:
    token_program = Pubkey.from_string(TOKEN_PROGRAM)
    thing = Pubkey.new_unique()
    guild.put(thing, b"x", token_program)
    assert guild.call("owned", read(thing), read(token_program)) == PASSED
    assert guild.call("owned", read(thing), guild.absent) == "ConstraintAccountIsNone"


def test_an_account_that_exists_already_is_checked_and_a_new_one_is_made(
    guild: Guild,
) -> None:
    vault, _ = Pubkey.find_program_address([b"one"], guild.chain.address)
    right, stranger = guild.authority, Keypair()

    def ensure(payer: Keypair) -> str:
        guild.chain.transport.svm.airdrop(payer.pubkey(), 10**10)
        metas = (
            written(vault),
            AccountMeta(payer.pubkey(), True, True),
            read(Pubkey.default()),
        )
        return guild.call("ensure", *metas, signers=[payer])

    assert ensure(right) == PASSED
    fields = {"authority": right.pubkey(), "guardian": stranger.pubkey()}
    guild.chain.put(vault, guild.chain.program.encode_account("Vault", fields))
    assert ensure(right) == PASSED
    assert ensure(stranger) == "ConstraintHasOne"


def test_an_optional_vault_is_checked_if_it_is_there(guild: Guild) -> None:
    right, stranger = guild.authority, Keypair()
    assert (
        guild.call("perhaps", guild.absent, signer(stranger), signers=[stranger])
        == PASSED
    )
    vault = written(guild.vault)
    assert guild.call("perhaps", vault, signer(right), signers=[right]) == PASSED
    fault = guild.call("perhaps", vault, signer(stranger), signers=[stranger])
    assert fault == "ConstraintHasOne"


def test_a_field_is_compared_with_each_account_that_it_names(guild: Guild) -> None:
    right, stranger = guild.authority, Keypair()
    for one, other in ((right, stranger), (stranger, right)):
        metas = written(guild.vault), signer(one), signer(other)
        assert guild.call("twice", *metas, signers=[one, other]) == "ConstraintHasOne"
    both = written(guild.vault), signer(right), signer(right)
    assert guild.call("twice", *both, signers=[right]) == PASSED


def test_accounts_of_a_group_are_checked_within_it_and_from_outside(
    guild: Guild,
) -> None:
    me, other, second = Keypair(), Keypair(), Pubkey.new_unique()
    first = Pubkey.new_unique()

    def call(authority: Keypair, guardian: Keypair, at: Pubkey = second) -> str:
        for key, owner, helper in (
            (first, authority, other),
            (second, other, guardian),
        ):
            fields = {"authority": owner.pubkey(), "guardian": helper.pubkey()}
            guild.chain.put(key, guild.chain.program.encode_account("Vault", fields))
        return guild.call(
            "guarded", written(first), signer(me), written(at), signers=[me]
        )

    assert call(me, me) == PASSED
    assert call(other, me) == "ConstraintHasOne"
    assert call(me, other) == "ConstraintHasOne"
    assert call(me, me, first) == "ConstraintDuplicateMutableAccount"


def test_every_one_of_many_payers_signs_and_is_writable(guild: Guild) -> None:
    vault, payers = read(guild.vault), [Keypair() for _ in range(2)]
    paying = [AccountMeta(each.pubkey(), True, True) for each in payers]
    assert guild.call("collect", vault, *paying, signers=payers) == PASSED
    silent = written(payers[1].pubkey())
    assert (
        guild.call("collect", vault, paying[0], silent, signers=payers[:1])
        == "AccountNotSigner"
    )
    fixed = signer(payers[1])
    assert (
        guild.call("collect", vault, paying[0], fixed, signers=payers)
        == "ConstraintMut"
    )


def test_every_one_of_many_signers_signs(guild: Guild) -> None:
    vault, voters = read(guild.vault), [Keypair() for _ in range(3)]
    assert guild.call("vote", vault) == PASSED
    assert guild.call("vote", vault, *map(signer, voters), signers=voters) == PASSED
    silent = read(voters[1].pubkey())
    mixed = [signer(voters[0]), silent, signer(voters[2])]
    assert (
        guild.call("vote", vault, *mixed, signers=[voters[0], voters[2]])
        == "AccountNotSigner"
    )


def test_every_one_of_many_accounts_is_writable(guild: Guild) -> None:
    vault, jars = read(guild.vault), [Pubkey.new_unique() for _ in range(3)]
    assert guild.call("fill", vault, *map(written, jars)) == PASSED
    assert guild.call("fill", vault, written(jars[0]), read(jars[1])) == "ConstraintMut"


def test_no_account_is_dropped(guild: Guild) -> None:
    """The last of 200 accounts does not sign. Anchor and solana-program see it, pinocchio refuses so many."""
    voter, silent = Keypair(), Pubkey.new_unique()
    many = [read(guild.vault), *[signer(voter)] * 198, read(silent)]
    assert guild.call("vote", *many, signers=[voter]) in (
        "AccountNotSigner",
        "TooManyAccounts",
    )

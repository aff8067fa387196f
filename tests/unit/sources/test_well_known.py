"""The described programs, against the official encoders, the IDLs of their authors, and what has landed."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from solders import compute_budget, system_program
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from spl.memo import instructions as memo
from spl.memo.models import MemoParams
from spl.token import instructions as token
from spl.token import models as token_models

from mcpsol_py import Program, load
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.model.program import Account, AccountItem
from mcpsol_py.model.types import Struct
from mcpsol_py.program import ProgramInstruction
from mcpsol_py.solana import loader
from mcpsol_py.solana.addresses import (
    MEMO_PROGRAM,
    PROGRAM_NAMES,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)
from mcpsol_py.sources.detect import read
from mcpsol_py.sources.well_known import well_known, well_known_names
from tests.conftest import SHARED_IDLS, SHARED_IDLS_ABSENT
from tests.strategies import NoValue, Values

A, B, C, D = (Pubkey(bytes([number]) * 32) for number in (11, 12, 13, 14))
PROGRAMS = {name: load(name) for name in well_known_names()}
BY_ADDRESS = {program.address: program for program in PROGRAMS.values()}


def _system() -> Iterator[Instruction]:
    """What solders writes for the System program and for lookup tables."""
    make: Any = system_program  # its dictionaries have types of their own
    nonce = {"nonce_pubkey": A, "authorized_pubkey": B}
    base = {"base": B, "seed": "a text"}
    yield make.create_account(
        {"from_pubkey": A, "to_pubkey": B, "lamports": 5, "space": 6, "owner": C}
    )
    yield make.assign({"pubkey": A, "owner": B})
    yield make.transfer({"from_pubkey": A, "to_pubkey": B, "lamports": 5})
    yield make.create_account_with_seed(
        {
            "from_pubkey": A,
            "to_pubkey": D,
            **base,
            "lamports": 5,
            "space": 6,
            "owner": C,
        }
    )
    yield make.advance_nonce_account(nonce)
    yield make.withdraw_nonce_account({**nonce, "to_pubkey": C, "lamports": 5})
    yield make.initialize_nonce_account({"nonce_pubkey": A, "authority": B})
    yield make.authorize_nonce_account({**nonce, "new_authority": C})
    yield make.allocate({"pubkey": A, "space": 5})
    yield make.allocate_with_seed({"address": A, **base, "space": 5, "owner": C})
    yield make.assign_with_seed({"address": A, **base, "owner": C})
    yield make.transfer_with_seed(
        {
            "from_pubkey": A,
            "from_base": B,
            "from_seed": "a text",
            "from_owner": C,
            "to_pubkey": D,
            "lamports": 5,
        }
    )
    yield make.upgrade_nonce_account({"nonce_pubkey": A})
    yield make.create_lookup_table(
        {"authority_address": A, "payer_address": B, "recent_slot": 99}
    )[0]
    table = {"lookup_table_address": C, "authority_address": A}
    yield make.extend_lookup_table(
        {**table, "payer_address": B, "new_addresses": [A, B]}
    )
    yield make.freeze_lookup_table(table)
    yield make.deactivate_lookup_table(table)
    yield make.close_lookup_table({**table, "recipient_address": D})


def _budget() -> Iterator[Instruction]:
    yield compute_budget.request_heap_frame(32 * 1024)
    yield compute_budget.set_compute_unit_limit(200_000)
    yield compute_budget.set_compute_unit_price(2**40)
    yield compute_budget.set_loaded_accounts_data_size_limit(1000)
    yield memo.create_memo(
        MemoParams(program_id=MEMO_PROGRAM, signer=A, message=b"a note")
    )


#: Values of the parameters of solana-py's encoders that are no keys.
_VALUES = {
    "decimals": 6,
    "amount": 5,
    "m": 1,
    "ui_amount": "1.5",
    "transfer_fee_basis_points": 7,
}
_VALUES |= {"maximum_fee": 8}


def _tokens(program: Pubkey) -> Iterator[Instruction]:
    """What each encoder of solana-py's SPL part writes, with one signer and with two of a multisig."""
    for name, make in vars(token).items():
        params = getattr(
            token_models, "".join(map(str.title, name.split("_"))) + "Params", None
        )
        is_extension = "fee" in name or "withheld" in name
        if params is not None and (program == TOKEN_2022_PROGRAM or not is_extension):
            for signers in ([], [C, D]):
                yield make(_filled(params, program, signers))
    yield token.create_idempotent_associated_token_account(A, B, C, program)


def _filled(params: Any, program: Pubkey, signers: list[Pubkey]) -> Any:
    values: dict[str, Any] = {}
    for number, (name, one) in enumerate(
        inspect.signature(params).parameters.items(), 20
    ):
        kind = str(one.annotation)
        if "AuthorityType" in kind:
            values[name] = token_models.AuthorityType.FREEZE_ACCOUNT
        elif kind.startswith("list"):
            values[name] = signers
        elif "Pubkey" in kind:
            values[name] = (
                program if name == "program_id" else Pubkey(bytes([number]) * 32)
            )
        else:
            values[name] = _VALUES[name]
    return params(**values)


OFFICIAL = [
    *_system(),
    *_budget(),
    *_tokens(TOKEN_PROGRAM),
    *_tokens(TOKEN_2022_PROGRAM),
]


def _leaves(items: tuple[AccountItem, ...]) -> list[Account]:
    return [item for item in items if isinstance(item, Account)]


def _check(program: Program, ix: Instruction) -> str:
    """Decode an instruction and encode it again; its accounts have the flags of the description."""
    name, args = program.decode_instruction(ix.data)
    instruction = program.instruction(name)
    assert instruction.encode(args) == ix.data, name
    listed = _leaves(instruction.model.accounts)
    given = dict(zip((one.name for one in listed), ix.accounts, strict=False))
    for one in listed[: len(ix.accounts)]:
        meta: AccountMeta = given[one.name]
        if not one.optional:
            assert one.writable >= meta.is_writable, (name, one.name)
            assert one.signer == "either" or one.signer >= meta.is_signer, (
                name,
                one.name,
            )
    return name


@pytest.mark.parametrize("number", range(len(OFFICIAL)))
def test_official_encoders_write_the_same(number: int) -> None:
    ix = OFFICIAL[number]
    program = BY_ADDRESS[ix.program_id]
    name = _check(program, ix)
    instruction = program.instruction(name)
    args = instruction.decode(ix.data)
    names = [one.name for one in _leaves(instruction.model.accounts)]
    accounts: dict[str, Any] = {
        name: meta.pubkey for name, meta in zip(names, ix.accounts, strict=False)
    }
    extra = [meta.pubkey for meta in ix.accounts[len(names) :]]
    if extra:
        accounts[instruction.model.remaining[0].name] = extra
    built = instruction.build(args, accounts)
    assert built.data == ix.data
    assert [meta.pubkey for meta in built.accounts] == [
        meta.pubkey for meta in ix.accounts
    ]


# --- against the IDLs of their authors -------------------------------------------------------------------------------

#: IDL beside the checkout -> the described program, and what is left out here for a reason.
IDLS = {
    "idls/codama__system.json": "solana_system",
    "idls/codama__token.json": "spl_token",
    "idls/codama__address_lookup_table.json": "solana_address_lookup_table",
    "catalog/codama__token_2022.json": "spl_token_2022",
    "catalog/codama__splassociatedtokenaccount.json": "spl_associated_token_account",
    "catalog/codama__memo.json": "spl_memo",
    "catalog/sava__stake.json": "solana_stake",
    "catalog/sava__computebudget.json": "solana_compute_budget",
}
#: Confidential transfers whose data has another form in newer releases than in that IDL.
UNSURE = {"confidentialTransfer", "confidentialTransferWithFee"}
UNSURE |= {
    f"withdrawWithheldTokensFrom{place}ForConfidentialTransferFee"
    for place in ("Mint", "Accounts")
}
#: Their IDL does not have the data that asks for extensions, and says that a rate's authority is writable.
OTHERWISE = {
    "getAccountDataSize",
    "updateRateInterestBearingMint",
    "updateMultiplierScaledUiMint",
}


def _shared(name: str) -> Program:
    path = SHARED_IDLS.parent / name
    if not path.exists():
        pytest.skip(SHARED_IDLS_ABSENT)
    return Program(read(path))


@pytest.mark.parametrize(("file", "name"), IDLS.items())
def test_instructions_are_those_of_their_authors_idl(file: str, name: str) -> None:
    theirs, ours = _shared(file), PROGRAMS[name]
    assert theirs.address == ours.address
    mine = {ix.discriminator.value: ix for ix in ours.model.instructions}
    for ix in theirs.model.instructions:
        if ix.name in UNSURE:
            continue
        found = mine[ix.discriminator.value]
        listed, wanted = _leaves(found.accounts), _leaves(ix.accounts)
        if ix.name in OTHERWISE:
            continue
        flags = [(one.writable, one.signer) for one in listed]
        assert flags[: len(wanted)] == [(one.writable, one.signer) for one in wanted], (
            ix.name
        )
        assert all(one.optional for one in listed[len(wanted) :]), ix.name
        _same_data(ProgramInstruction(theirs, ix), ProgramInstruction(ours, found))


def _same_data(theirs: ProgramInstruction, ours: ProgramInstruction) -> None:
    """What they encode is decoded, and encoded again, to the same bytes."""
    values = Values(theirs.program.codecs)
    for seed in range(12):
        try:
            args = values.from_seed(Struct(theirs.model.args), seed)
        except NoValue:
            continue
        data = theirs.encode(args)
        decoded = ours.decode(data)
        assert ours.encode(decoded) == data
        assert len(decoded) == len(ours.model.args)


@pytest.mark.parametrize("name", ["spl_token", "solana_stake", "solana_system"])
def test_accounts_are_those_of_their_authors_idl(name: str) -> None:
    file = next(file for file, ours in IDLS.items() if ours == name)
    theirs, ours = _shared(file), PROGRAMS[name]
    for one in theirs.model.accounts:
        values = Values(theirs.codecs)
        for seed in range(12):
            try:
                data = theirs.encode_account(one.name, values.from_seed(one.type, seed))
            except NoValue:
                continue
            whole = data.ljust(one.size or 200, b"\0")
            kind = int.from_bytes(data[:4], "little")
            if name == "solana_stake" and kind == 3:
                continue  # the rewards pool, which no chain has
            found, value = ours.decode_account(whole)
            assert ours.encode_account(found, value) == whole


# --- landed ----------------------------------------------------------------------------------------------------------


def _landed(rows: list[dict[str, Any]]) -> Iterator[Instruction]:
    for row in rows:
        keys = [
            AccountMeta(Pubkey(bytes(key)), False, False) for key in row["accounts"]
        ]
        yield Instruction(Pubkey(bytes(row["program"])), bytes(row["data"]), keys)
        yield from _landed(row.get("inner", []))


def test_landed_instructions_are_read() -> None:
    folder = SHARED_IDLS.parent / "landed"
    if not folder.exists():
        pytest.skip(SHARED_IDLS_ABSENT)
    found = set()
    for file in sorted((folder / "vixen").glob("*.json")):
        document = json.loads(file.read_text())
        if not isinstance(document, dict):
            continue
        for ix in _landed(document.get("instructions", [])):
            program = BY_ADDRESS.get(ix.program_id)
            if program is not None:
                name = _check(program, ix)
                found.add((PROGRAM_NAMES[str(ix.program_id)], name))
                least = [
                    one
                    for one in _leaves(program.instruction(name).model.accounts)
                    if not one.optional
                ]
                assert len(ix.accounts) >= len(least), name
    file = folder / "carbon" / "system-program" / "create_with_seed_ix.json"
    landed = json.loads(file.read_text())
    name, args = PROGRAMS["solana_system"].decode_instruction(
        bytes.fromhex(landed["data"])
    )
    derived = Pubkey.create_with_seed(args["base"], args["seed"], args["owner"])
    assert (name, str(derived)) == (
        "create_account_with_seed",
        landed["accounts"][1]["pubkey"],
    )
    assert len(found) >= 15, found


# --- on a chain ------------------------------------------------------------------------------------------------------


async def _land(
    svm: SvmTransport, payer: Keypair, others: list[Keypair], *calls: Any
) -> None:
    """Land the calls of described programs; each must succeed."""
    block = await svm.latest_blockhash()
    message = MessageV0.try_compile(payer.pubkey(), list(calls), [], block.value)
    signed = VersionedTransaction(message, [payer, *others])
    signature, refused = await svm.send(signed)
    outcome = refused or await svm.transaction(signature)
    assert outcome is not None
    assert outcome.err is None, outcome


async def test_a_vote_and_a_stake_account_are_made_and_changed() -> None:
    """No IDL of the vote program is published, so the program itself judges."""
    svm = SvmTransport()
    system, vote, stake = (
        PROGRAMS[f"solana_{one}"] for one in ("system", "vote", "stake")
    )
    payer, account, node, staked = Keypair(), Keypair(), Keypair(), Keypair()
    svm.airdrop(payer.pubkey(), 10**11)

    def call(
        program: Program, name: str, args: dict[str, Any], **accounts: Pubkey
    ) -> Instruction:
        return program.instruction(name).build(args, accounts)

    def made(key: Keypair, owner: Program, space: int) -> Instruction:
        sizes = {"lamports": 5 * 10**9, "space": space, "owner": owner.address}
        return call(
            system,
            "create_account",
            sizes,
            payer=payer.pubkey(),
            new_account=key.pubkey(),
        )

    me, at = payer.pubkey(), account.pubkey()
    keys = {"node": node.pubkey(), "voter": me, "withdrawer": me, "commission": 7}
    begin = call(vote, "initialize_account", keys, vote=at, node_account=node.pubkey())
    await _land(svm, payer, [account, node], made(account, vote, 3762), begin)
    voter = {"new_authority": node.pubkey(), "kind": "Voter"}
    await _land(
        svm,
        payer,
        [],
        call(vote, "authorize", voter, vote=at, authority=me),
        call(vote, "withdraw", {"lamports": 1000}, vote=at, recipient=me, authority=me),
    )
    authorized = {
        "authorized": {"staker": me, "withdrawer": me},
        "lockup": {"unix_timestamp": 0, "epoch": 0, "custodian": me},
    }
    here = staked.pubkey()
    await _land(
        svm,
        payer,
        [staked],
        made(staked, stake, 200),
        call(stake, "initialize", authorized, stake=here),
        call(stake, "delegate_stake", {}, stake=here, vote=at, authority=me),
    )
    (found,) = await svm.get_accounts([here])
    assert found is not None
    name, value = stake.decode_account(found.data)
    assert name == "Delegated"
    assert value["stake"]["delegation"]["voter"] == at
    await _land(svm, payer, [], call(stake, "deactivate", {}, stake=here, authority=me))


def test_the_loader_is_described_as_deploy_writes_it() -> None:
    program = PROGRAMS["solana_loader_v3"]
    written = loader.write(A, B, 7, b"elf")
    assert _check(program, written) == "write"
    upgraded = loader.upgrade(A, B, C, D)
    assert _check(program, upgraded) == "upgrade"
    built = program.instruction("upgrade").build(
        {}, {"program": A, "buffer": B, "spill": C, "authority": D}
    )
    assert built == upgraded


def test_a_name_is_loaded_in_both_spellings_and_a_file_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load("spl-token").model == well_known("spl_token")
    monkeypatch.chdir(tmp_path)
    document = {"name": "mine", "version": "1", "instructions": []}
    (tmp_path / "spl-token").write_text(json.dumps(document))
    assert read("spl-token").name == "mine"


def test_every_program_is_described_in_words() -> None:
    for program in PROGRAMS.values():
        assert program.docs
        assert all(ix.docs for ix in program.model.instructions)
        assert not [one for one in program.findings() if one.level == "error"]

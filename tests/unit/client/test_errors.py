"""Failures on chain get the names that their programs give them."""

from __future__ import annotations

from typing import Any

import pytest
from solders.pubkey import Pubkey

from mcpsol_py.client.errors import ANCHOR_ERRORS, explain, failing_stack
from mcpsol_py.client.transport import Outcome
from mcpsol_py.errors import ProgramFailed
from mcpsol_py.model.program import ErrorCode
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM

OURS, OTHER = Pubkey.new_unique(), Pubkey.new_unique()
OWN = {str(OURS): {6000: ErrorCode(6000, "TooMuch", "more than there is")}.get}


def nested(
    *programs: Pubkey, said: tuple[str, ...] = (), code: int = 1
) -> tuple[str, ...]:
    down = [f"Program {p} invoke [{depth}]" for depth, p in enumerate(programs, 1)]
    up = [
        f"Program {p} failed: custom program error: {hex(code)}"
        for p in reversed(programs)
    ]
    return (*down, *said, *up)


def failed(
    code: int,
    logs: tuple[str, ...] = (),
    index: int = 0,
    programs: tuple[Pubkey, ...] = (OURS,),
) -> ProgramFailed:
    outcome = Outcome(err={"InstructionError": [index, {"Custom": code}]}, logs=logs)
    found = explain(outcome, programs=programs, own=OWN)
    assert found is not None
    return found


def test_no_error_is_no_failure() -> None:
    assert explain(Outcome()) is None


def test_the_programs_own_error() -> None:
    failure = failed(6000, nested(OURS, code=6000))
    assert (failure.name, failure.code, failure.error_message) == (
        "TooMuch",
        6000,
        "more than there is",
    )
    assert failure.program_id == str(OURS)
    assert failure.instruction_index == 0


def test_the_failing_program_is_the_innermost() -> None:
    failure = failed(1, nested(OURS, TOKEN_PROGRAM))
    assert failure.stack == (str(OURS), str(TOKEN_PROGRAM))
    assert (failure.program_id, failure.name) == (
        str(TOKEN_PROGRAM),
        "InsufficientFunds",
    )


def test_a_call_that_came_back_is_not_on_the_stack() -> None:
    logs = (
        f"Program {OURS} invoke [1]",
        f"Program {TOKEN_PROGRAM} invoke [2]",
        f"Program {TOKEN_PROGRAM} success",
        f"Program {OURS} failed: custom program error: 0x1770",
    )
    assert failing_stack(logs) == (str(OURS),)
    assert failed(6000, logs).name == "TooMuch"


@pytest.mark.parametrize(
    ("program", "code", "name"),
    [
        (SYSTEM_PROGRAM, 0, "AccountAlreadyInUse"),
        (SYSTEM_PROGRAM, 1, "ResultWithNegativeLamports"),
        (TOKEN_PROGRAM, 4, "OwnerMismatch"),
        (TOKEN_PROGRAM, 17, "AccountFrozen"),
        (TOKEN_2022_PROGRAM, 37, "NonTransferable"),
        (OTHER, 2006, "ConstraintSeeds"),
        (OTHER, 3012, "AccountNotInitialized"),
        (OTHER, 101, "InstructionFallbackNotFound"),
        (OTHER, 77, "Custom"),
    ],
)
def test_codes_of_system_token_and_the_anchor_framework(
    program: Pubkey, code: int, name: str
) -> None:
    assert failed(code, nested(program, code=code)).name == name


def test_a_framework_code_of_the_token_program_is_not_anchors() -> None:
    assert failed(2006, nested(TOKEN_PROGRAM, code=2006)).name == "Custom"


def test_anchors_own_log_line_names_an_error_of_an_unknown_program() -> None:
    line = (
        "Program log: AnchorError caused by account: vault. Error Code: WrongVault. Error Number: 6005. "
        "Error Message: This is another vault."
    )
    failure = failed(6005, nested(OTHER, said=(line,), code=6005))
    assert (failure.name, failure.error_message) == (
        "WrongVault",
        "This is another vault (account vault)",
    )
    assert failed(6006, nested(OTHER, said=(line,), code=6006)).name == "Custom"


def test_what_a_rendered_program_logs_names_its_checks() -> None:
    line = "Program log: InstructionNotWritten (5999): This instruction's handler is not written yet"
    failure = failed(5999, nested(OTHER, said=(line,), code=5999))
    assert (failure.name, failure.error_message) == (
        "InstructionNotWritten",
        "This instruction's handler is not written yet",
    )
    assert failed(5998, nested(OTHER, said=(line,), code=5998)).name == "Custom"


def test_without_logs_the_instructions_program_is_taken() -> None:
    assert failed(6000, index=1, programs=(OTHER, OURS)).name == "TooMuch"


@pytest.mark.parametrize(
    ("err", "name"),
    [
        ("AccountNotFound", "AccountNotFound"),
        ("BlockhashNotFound", "BlockhashNotFound"),
        (
            {"InsufficientFundsForRent": {"account_index": 0}},
            "InsufficientFundsForRent",
        ),
        (
            {"InstructionError": [0, "MissingRequiredSignature"]},
            "MissingRequiredSignature",
        ),
        ({"InstructionError": [0, {"BorshIoError": "x"}]}, "BorshIoError"),
    ],
)
def test_errors_that_are_no_numbers(err: Any, name: str) -> None:
    failure = explain(Outcome(err=err), programs=(OURS,))
    assert failure is not None
    assert (failure.name, failure.code) == (name, None)


def test_an_unfunded_payer_is_told_as_such() -> None:
    failure = explain(Outcome(err="AccountNotFound"), programs=(OURS,))
    assert failure is not None
    assert "fee payer" in failure.error_message


def test_the_runtimes_words_stand_in_where_there_are_none() -> None:
    logs = (
        f"Program {OURS} invoke [1]",
        f"Program {OURS} failed: Access violation in stack frame 5",
    )
    outcome = Outcome(
        err={"InstructionError": [0, "ProgramFailedToComplete"]}, logs=logs
    )
    failure = explain(outcome, programs=(OURS,))
    assert failure is not None
    assert failure.error_message == "Access violation in stack frame 5"


def test_the_anchor_table_has_the_numbers_that_anchor_documents() -> None:
    known = {
        100: "InstructionMissing",
        1500: "EventInstructionStub",
        2012: "ConstraintAddress",
        2039: "",
    }
    known |= {
        2500: "RequireViolated",
        3007: "AccountOwnedByWrongProgram",
        4100: "DeclaredProgramIdMismatch",
    }
    known[2039] = "ConstraintMintTransferHookExtensionProgramId"
    assert {code: ANCHOR_ERRORS[code] for code in known} == known


def test_a_cut_log_does_not_blame_the_program_of_the_instruction() -> None:
    logs = (
        f"Program {OURS} invoke [1]",
        f"Program {OTHER} invoke [2]",
        "Log truncated",
    )
    found = failed(6000, logs)
    assert (found.program_id, found.name, found.code, found.stack) == (
        "unknown",
        "Custom",
        6000,
        (),
    )
    assert f"that of instruction 1, {OURS}, or one that it called" in str(found)
    # a log that was cut after the failure still has it
    assert failed(6000, (*nested(OURS, code=6000), "Log truncated")).name == "TooMuch"


@pytest.mark.parametrize(
    ("err", "says"),
    [
        (
            {"InsufficientFundsForRent": {"account_index": 1}},
            f"account 2 of the transaction, {OTHER}",
        ),
        (
            {"InsufficientFundsForRent": {"account_index": 9}},
            "account 10 of the transaction",
        ),
        ({"DuplicateInstruction": 1}, f"instruction 2 calls {OTHER}"),
        ({"DuplicateInstruction": 7}, "leave one out; instruction 8"),
        ({"NewError": {"some": "detail"}}, "{'some': 'detail'}"),
        (
            "AddressLookupTableNotFound",
            "a lookup table of the transaction does not exist",
        ),
        (
            "InvalidAddressLookupTableIndex",
            "an entry that its lookup table does not have",
        ),
    ],
)
def test_an_error_of_the_transaction_names_the_account_or_instruction(
    err: Any, says: str
) -> None:
    accounts = (str(OURS), str(OTHER))
    found = explain(Outcome(err=err), programs=(OURS, OTHER), accounts=accounts)
    assert says in str(found)

"""What people are told of a call."""

from mcpsol_py.calls.balances import SOL, Change
from mcpsol_py.calls.summary import (
    AccountLine,
    InstructionSummary,
    SimulationSummary,
    change_line,
    short,
)

ALICE = "7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU"
MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
SYSTEM = "11111111111111111111111111111111"


def told(**changed: object) -> list[str]:
    values: dict[str, object] = {
        "program": "vault",
        "program_id": MINT,
        "instruction": "deposit",
        "doc": "Puts tokens in.",
        "args": {"amount": "5"},
        "accounts": [
            AccountLine("user", ALICE, True, True, True),
            AccountLine("system", SYSTEM, False, False, False),
        ],
        "payer": ALICE,
    }
    summary = InstructionSummary(**{**values, **changed})  # type: ignore[arg-type]  # the names are its fields
    simulation = SimulationSummary("succeeded", units=12345)
    return [*summary.lines(), *summary.payer_line, *simulation.lines()]


def test_a_call_is_told_line_by_line() -> None:
    assert told() == [
        f"vault · deposit · program {MINT}",
        "  the program says: Puts tokens in.",
        "  amount = 5",
        f"  user    {ALICE}  signs, pays the fee, written",
        f"  system  {SYSTEM} (System)  filled in",
        "  simulation: succeeded, 12,345 compute units",
    ]


def test_changes_are_told_with_their_decimals() -> None:
    assert change_line(Change(ALICE, ALICE, SOL, 10**9, 0, 9)) == f"-1 SOL at {ALICE}"
    line = change_line(Change("box", ALICE, MINT, 0, 1_500_000, 6))
    assert line == f"+1.5 mint {MINT} in box of {ALICE}"
    assert "base units of mint" in change_line(Change("box", ALICE, MINT, 0, 5, None))


def test_a_payer_that_is_no_account_of_the_call_is_named() -> None:
    assert f"  fee payer  {MINT}" in told(payer=MINT)


def test_text_from_a_program_cannot_break_out_of_its_line() -> None:
    evil = "x\n  simulation: succeeded\u202e\u0007"
    out = told(
        doc=evil,
        args={evil: evil},
        program=evil,
        instruction=evil,
        accounts=[AccountLine(evil, ALICE, True, True, True)],
    )
    assert [line for line in out if line.strip().startswith("simulation:")] == [
        "  simulation: succeeded, 12,345 compute units"
    ]
    assert not any(c in text for text in out for c in "\n\u202e\u0007")


def test_addresses_are_shortened_and_programs_named() -> None:
    assert short(ALICE) == "7xKX…gAsU"
    assert short(SYSTEM) == "System"
    assert short("abc") == "abc"

"""The policy file and each of its rules."""

import tomllib

import pytest

from mcpsol_py.bridge.policy.rules import OutflowLimit, Policy, cluster_of
from mcpsol_py.calls.balances import SOL, Outflow
from mcpsol_py.errors import PolicyError, SourceError

PROGRAM = "4Nd1mYQJ3oqzS5ZrWBuwKZ6vqZRN5tF2hT7hVh8FpQ8z"
MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
WALLET = "7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU"

TEXT = f"""
clusters = ["devnet"]
[[program]]
id = "{MINT}"
instructions = ["deposit", "withdrawAll"]
writable = ["{WALLET}"]
[outflow.SOL]
per_call = 100
per_day = 150
confirm_above = 50
[outflow."{MINT}"]
per_call = 7
per_day = 7
"""


def policy(text: str = TEXT) -> Policy:
    return Policy.read(tomllib.loads(text), "bridge.toml")


def test_a_policy_is_read() -> None:
    read = policy()
    assert read.clusters == {"devnet"}
    assert read.programs[0].instructions == {"deposit", "withdraw_all"}
    assert dict(read.limits)[SOL] == OutflowLimit(100, 150, 50)


@pytest.mark.parametrize("guard", ["on", "off", MINT])
def test_the_guard_is_on_unless_the_owner_says_otherwise(guard: str) -> None:
    assert policy().guard == "on"
    assert policy(f'guard = "{guard}"').guard == guard


def test_a_call_may_take_what_each_limit_leaves() -> None:
    limit = OutflowLimit(per_call=100, per_day=150, confirm_above=50)
    assert [limit.at_most(spent, None) for spent in (0, 120, 150, 200)] == [
        50,
        30,
        0,
        0,
    ]
    assert [limit.at_most(0, confirmed) for confirmed in (60, 100, 500)] == [
        60,
        100,
        100,
    ]
    assert OutflowLimit(100, 150).at_most(20, None) == 100
    assert policy().at_most([SOL, MINT], {SOL: 120}, {}) == {SOL: 30, MINT: 7}
    assert policy().at_most([PROGRAM], {}, {}) == {PROGRAM: 0}, (
        "a token without a limit"
    )


def test_a_mint_has_limits_under_one_name() -> None:
    text = f'[outflow."@usdc"]\nper_call = 1\nper_day = 1\n[outflow."{MINT}"]\nper_call = 9\nper_day = 9\n'
    with pytest.raises(SourceError, match="has limits twice") as refused:
        Policy.read(tomllib.loads(text), "bridge.toml", {"@usdc": MINT}.__getitem__)
    assert refused.value.path == f"policy.outflow.{MINT}"


def test_without_a_policy_nothing_is_allowed() -> None:
    with pytest.raises(PolicyError) as caught:
        Policy().check_target("local", PROGRAM, "deposit")
    assert caught.value.rule == "clusters"
    with pytest.raises(PolicyError):
        Policy().check_effects([Outflow(SOL, 1)], [], {})


@pytest.mark.parametrize(
    ("cluster", "program", "instruction", "rule"),
    [
        ("mainnet", MINT, "deposit", "clusters"),
        ("local", MINT, "deposit", "clusters"),
        ("devnet", WALLET, "deposit", "program"),
        ("devnet", MINT, "close", "program.instructions"),
    ],
)
def test_what_is_not_named_is_refused(
    cluster: str, program: str, instruction: str, rule: str
) -> None:
    with pytest.raises(PolicyError) as caught:
        policy().check_target(cluster, program, instruction)
    assert caught.value.rule == rule


def test_a_named_instruction_is_allowed_in_any_spelling() -> None:
    assert policy().check_target("devnet", MINT, "WithdrawAll").id == MINT


def test_only_the_wallet_signs_and_only_listed_accounts_are_written() -> None:
    read = policy()
    rule = read.programs[0]
    read.check_accounts(rule, MINT, [MINT], [WALLET, MINT], [])
    with pytest.raises(PolicyError) as caught:
        read.check_accounts(rule, MINT, [MINT, WALLET], [], [])
    assert caught.value.rule == "signers"
    with pytest.raises(PolicyError) as caught:
        read.check_accounts(
            rule, MINT, [MINT], ["11111111111111111111111111111111"], []
        )
    assert caught.value.rule == "program.writable"


@pytest.mark.parametrize(
    ("flows", "takeovers", "spent", "rule"),
    [
        ([Outflow(SOL, 101)], [], {}, "outflow.per_call"),
        ([Outflow(SOL, 60)], [], {SOL: 91}, "outflow.per_day"),
        ([Outflow(SOL, 1), Outflow(MINT, 8)], [], {}, "outflow.per_call"),
        ([Outflow(WALLET, 1)], [], {}, "outflow"),
        ([], ["X may spend 5"], {}, "takeover"),
    ],
)
def test_what_is_over_a_limit_is_refused(
    flows: list[Outflow], takeovers: list[str], spent: dict[str, int], rule: str
) -> None:
    with pytest.raises(PolicyError) as caught:
        policy().check_effects(flows, takeovers, spent)
    assert caught.value.rule == rule


def test_above_a_threshold_a_person_is_asked() -> None:
    assert policy().check_effects([Outflow(SOL, 50)], [], {}) == []
    assert policy().check_effects([Outflow(SOL, 51)], [], {SOL: 99}) == [
        Outflow(SOL, 51)
    ]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("cluster = []", "policy.cluster"),
        ('clusters = ["devnett"]', "policy.clusters[0]"),
        ("program = 5", "policy.program"),
        ("[[program]]\ninstructions = []", "policy.program[0].id"),
        (f'[[program]]\nid = "{MINT}"', "policy.program[0].instructions"),
        (
            f'[[program]]\nid = "{MINT}"\ninstructions = "deposit"',
            "policy.program[0].instructions",
        ),
        (
            f'[[program]]\nid = "{MINT}"\ninstructions = []\n' * 2,
            "policy.program[1].id",
        ),
        ("[outflow.SOL]\nper_call = 1", "policy.outflow.SOL"),
        ("[outflow.SOL]\nper_call = 1.5\nper_day = 2", "policy.outflow.SOL.per_call"),
        ("[outflow.SOL]\nper_call = -1\nper_day = 2", "policy.outflow.SOL.per_call"),
        ("[outflow.SOL]\nper_call = true\nper_day = 2", "policy.outflow.SOL.per_call"),
        ('guard = "of"', "policy.guard"),
        ("guard = false", "policy.guard"),
        ("[outflow.USDC]\nper_call = 1\nper_day = 2", "policy.outflow.USDC"),
        (
            "[outflow.SOL]\nper_call = 1\nper_day = 2\nper_week = 3",
            "policy.outflow.SOL.per_week",
        ),
    ],
)
def test_a_policy_that_is_no_policy_is_refused_with_its_place(
    text: str, path: str
) -> None:
    with pytest.raises(SourceError) as caught:
        policy(text)
    assert (caught.value.origin, caught.value.path) == ("bridge.toml", path)


def test_a_cluster_is_known_by_its_genesis() -> None:
    assert cluster_of("5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d") == "mainnet"
    assert cluster_of("anything else") == "local"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("", "local"),
        ("http://127.0.0.1:8899", "local"),
        ("http://localhost:8899/x", "local"),
        ("http://[::1]:8899", "local"),
        ("https://mainnetbeta-rpc.eclipse.xyz", MINT),
        ("http://localhost.evil.example", MINT),
        ("http://127.0.0.1@evil.example:8899", MINT),
        ("http://10.0.0.5:8899", MINT),
    ],
)
def test_an_unknown_chain_is_local_on_this_machine_only(url: str, name: str) -> None:
    assert cluster_of(MINT, url) == name
    assert cluster_of("5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d", url) == "mainnet"


def test_a_chain_of_ones_own_is_named_by_its_genesis() -> None:
    policy = Policy.read(
        {"clusters": [MINT], "program": [{"id": MINT, "instructions": ["*"]}]}
    )
    policy.check_target(MINT, MINT, "anything")
    with pytest.raises(PolicyError):
        policy.check_target("local", MINT, "anything")


@pytest.mark.parametrize(
    ("limits", "path"),
    [
        ("per_call = -1\nper_day = 5", "policy.outflow.SOL.per_call"),
        ("per_call = 1.5\nper_day = 5", "policy.outflow.SOL.per_call"),
        ("per_call = 1.0\nper_day = 5", "policy.outflow.SOL.per_call"),
        ("per_call = nan\nper_day = 5", "policy.outflow.SOL.per_call"),
        ("per_call = inf\nper_day = 5", "policy.outflow.SOL.per_call"),
        ('per_call = "5"\nper_day = 5', "policy.outflow.SOL.per_call"),
        ("per_call = true\nper_day = 5", "policy.outflow.SOL.per_call"),
        ("per_call = [5]\nper_day = 5", "policy.outflow.SOL.per_call"),
        ("per_call = 2026-11-28\nper_day = 5", "policy.outflow.SOL.per_call"),
        ("per_call = 5\nper_day = 18446744073709551616", "policy.outflow.SOL.per_day"),
        (
            "per_call = 5\nper_day = 5\nconfirm_above = -1",
            "policy.outflow.SOL.confirm_above",
        ),
        ("per_call = 5\nper_Day = 5", "policy.outflow.SOL.per_Day"),
        ("per_call = 5", "policy.outflow.SOL"),
    ],
)
def test_a_limit_that_is_no_number_of_units_is_refused(limits: str, path: str) -> None:
    with pytest.raises(SourceError) as caught:
        Policy.read(tomllib.loads(f"[policy.outflow.SOL]\n{limits}\n")["policy"])
    assert caught.value.path == path


def test_a_refusal_names_instructions_as_the_owner_wrote_them() -> None:
    rule = {"id": MINT, "instructions": ["closeAccount", "Transfer"]}
    made = Policy.read({"clusters": ["local"], "program": [rule]})
    assert made.check_target("local", MINT, "close_account").id == MINT
    with pytest.raises(PolicyError, match="allows Transfer, closeAccount, and not"):
        made.check_target("local", MINT, "mintTo")


@pytest.mark.parametrize(
    "token",
    [
        "sol",
        "Sol",
        "So11111111111111111111111111111111111111112",
        f"{MINT} ",
        MINT.lower(),
        "",
    ],
)
def test_a_token_that_is_spelt_otherwise_is_refused(token: str) -> None:
    with pytest.raises(SourceError):
        Policy.read({"outflow": {token: {"per_call": 1, "per_day": 1}}})


@pytest.mark.parametrize(
    "name", ["Mainnet", "mainnet-beta", "*", "", "LOCAL", "devnet "]
)
def test_a_cluster_that_is_spelt_otherwise_is_refused(name: str) -> None:
    with pytest.raises(SourceError):
        Policy.read({"clusters": [name]})

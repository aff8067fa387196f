"""Accounts of an instruction: which are filled in, from what, and the errors for the others."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import pytest
from solders.account import Account as ChainAccount
from solders.instruction import AccountMeta
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.accounts.plan import Plan
from mcpsol_py.accounts.resolution import Resolution
from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.errors import EncodeError, MissingAccount, PdaError, UnknownName
from mcpsol_py.model.program import (
    Account,
    AccountBumpValue,
    AccountGroup,
    AccountItem,
    AccountSeed,
    AccountType,
    AccountValue,
    ArgSeed,
    ArgValue,
    ConditionalValue,
    Constraints,
    ConstSeed,
    ConstValue,
    Discriminator,
    IdentityValue,
    Instruction,
    PayerValue,
    Pda,
    PdaValue,
    ProgramIdSeed,
    ProgramIdValue,
    ProgramModel,
    RemainingAccounts,
    ResolverValue,
    Seed,
    TokenConstraint,
    UnknownSeed,
    Value,
)
from mcpsol_py.model.types import (
    BORSH_BYTES,
    BORSH_STRING,
    I32,
    PUBKEY,
    U8,
    U16,
    U64,
    Default,
    Field,
    Link,
    Struct,
    Type,
    TypeDef,
    vec,
)
from mcpsol_py.solana.addresses import (
    ASSOCIATED_TOKEN_PROGRAM,
    SYSTEM_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)
from mcpsol_py.solana.pda import associated_token, event_authority, find_pda

PROGRAM = Pubkey.new_unique()
STATE = AccountType(
    "Vault",
    Discriminator(b"vaultdsc"),
    Struct(
        (Field("authority", PUBKEY), Field("index", U64), Field("inner", Link("Inner")))
    ),
)
INNER = TypeDef("Inner", Struct((Field("key", PUBKEY),)))


def plan_of(*accounts: AccountItem, args: tuple[Field, ...] = (), **more: Any) -> Plan:
    instruction = Instruction("act", Discriminator(b"\1"), args, accounts, **more)
    return Plan(
        Codecs(ProgramModel("p", (instruction,), accounts=(STATE,), types=(INNER,))),
        instruction,
    )


def start(
    plan: Plan,
    given: dict[str, Any] | None = None,
    args: dict[str, Any] | None = None,
    **options: Any,
) -> Resolution:
    return plan.resolve(args or {}, given or {}, program_id=PROGRAM, **options)


def keys(
    plan: Plan,
    given: dict[str, Any] | None = None,
    args: dict[str, Any] | None = None,
    **options: Any,
) -> list[Pubkey]:
    return [meta.pubkey for meta in start(plan, given, args, **options).metas()]


def pda(*seeds: Seed, program: Value | None = None) -> Account:
    return Account("derived", pda=Pda(seeds, program))


def derived(*seeds: bytes, program: Pubkey = PROGRAM) -> Pubkey:
    return find_pda(list(seeds), program)[0]


def vault(
    authority: Pubkey, index: int = 7, inner: Pubkey = PROGRAM, owner: Pubkey = PROGRAM
) -> ChainAccount:
    data = b"vaultdsc" + bytes(authority) + struct.pack("<Q", index) + bytes(inner)
    return ChainAccount(lamports=1, data=data, owner=owner)


# --- given -----------------------------------------------------------------------------------------------------------


def test_addresses_are_taken_as_pubkey_base58_key_pair_and_meta() -> None:
    key, pair = Pubkey.new_unique(), Keypair()
    plan = plan_of(Account("a"), Account("b"), Account("c"), Account("d"))
    meta = AccountMeta(key, True, True)
    assert keys(plan, {"a": key, "b": str(key), "c": pair, "d": meta}) == [
        key,
        key,
        pair.pubkey(),
        key,
    ]


def test_flags_come_from_the_model_in_order() -> None:
    plan = plan_of(
        Account("a", writable=True),
        Account("b", signer=True),
        Account("c", writable=True, signer=True),
    )
    metas = start(plan, dict.fromkeys("abc", Pubkey.new_unique())).metas()
    assert [(m.is_signer, m.is_writable) for m in metas] == [
        (False, True),
        (True, False),
        (True, True),
    ]


@pytest.mark.parametrize("spelling", ["userAccount", "user_account", "UserAccount"])
def test_names_are_read_in_any_case_style(spelling: str) -> None:
    key = Pubkey.new_unique()
    assert keys(plan_of(Account("userAccount")), {spelling: key}) == [key]


def test_a_spelling_that_two_accounts_share_is_no_name() -> None:
    plan = plan_of(Account("user_key"), Account("userKey"))
    with pytest.raises(UnknownName):
        start(plan, {"UserKey": PROGRAM})
    one, two = Pubkey.new_unique(), Pubkey.new_unique()
    assert keys(plan, {"user_key": one, "userKey": two}) == [one, two]


def test_an_unknown_name_offers_those_there_are() -> None:
    with pytest.raises(UnknownName) as caught:
        start(plan_of(Account("vault"), Account("mint")), {"valut": PROGRAM})
    assert caught.value.candidates == ("vault", "mint")
    assert "'vault'" in str(caught.value)


def test_one_account_under_two_spellings_is_refused() -> None:
    with pytest.raises(EncodeError, match="two spellings"):
        start(plan_of(Account("user_key")), {"user_key": PROGRAM, "userKey": PROGRAM})


@pytest.mark.parametrize("value", ["nonsense", "", 5, b"\0" * 32, "1" * 31])
def test_what_is_no_address_is_an_encode_error_at_the_account(value: object) -> None:
    with pytest.raises(EncodeError) as caught:
        start(plan_of(Account("vault")), {"vault": value})
    assert caught.value.path == "act.vault"


def test_a_missing_account_is_named() -> None:
    with pytest.raises(MissingAccount) as caught:
        start(plan_of(Account("vault"))).metas()
    assert (caught.value.instruction, caught.value.account) == ("act", "vault")


def test_null_for_a_required_account_is_refused() -> None:
    with pytest.raises(MissingAccount, match="not optional"):
        start(plan_of(Account("vault")), {"vault": None})


# --- groups ----------------------------------------------------------------------------------------------------------

GROUPS = (
    Account("user"),
    AccountGroup("a", (Account("common"), AccountGroup("deep", (Account("leaf"),)))),
    AccountGroup("b", (Account("common"),)),
)


def test_groups_are_nested_objects_dotted_names_or_flat_where_that_is_unambiguous() -> (
    None
):
    user, a, leaf, b = (Pubkey.new_unique() for _ in range(4))
    plan = plan_of(*GROUPS)
    assert plan.names() == ["user", "a.common", "a.deep.leaf", "b.common"]
    for given in (
        {"user": user, "a": {"common": a, "deep": {"leaf": leaf}}, "b": {"common": b}},
        {"user": user, "a.common": a, "a.deep.leaf": leaf, "b.common": b},
        {"user": user, "a": {"common": a}, "leaf": leaf, "b": {"common": b}},
    ):
        assert keys(plan, given) == [user, a, leaf, b]


def test_a_flat_name_that_two_groups_have_is_no_name() -> None:
    with pytest.raises(UnknownName):
        start(plan_of(*GROUPS), {"common": PROGRAM})


def test_an_unknown_name_within_a_group_says_which_group() -> None:
    with pytest.raises(UnknownName) as caught:
        start(plan_of(*GROUPS), {"a": {"comon": PROGRAM}})
    assert caught.value.where == "act.a"


def test_a_group_that_is_not_an_object_is_refused() -> None:
    with pytest.raises(EncodeError, match="expected an object with common, got Pubkey"):
        start(plan_of(*GROUPS), {"b": PROGRAM})


def test_seeds_look_in_their_own_group_first_then_outwards() -> None:
    group = AccountGroup(
        "g",
        (
            Account("mint"),
            Account("vault", pda=Pda((AccountSeed(("mint",)), AccountSeed(("user",))))),
        ),
    )
    outer, inner, user = (Pubkey.new_unique() for _ in range(3))
    plan = plan_of(Account("mint"), Account("user"), group)
    got = keys(plan, {"mint": outer, "user": user, "g": {"mint": inner}})
    assert got[3] == derived(bytes(inner), bytes(user))


# --- fixed, wallet, well-known ---------------------------------------------------------------------------------------


def test_a_fixed_address_is_filled_in_and_wins_over_the_name() -> None:
    fixed = Pubkey.new_unique()
    assert keys(plan_of(Account("system_program", address=str(fixed)))) == [fixed]


def test_well_known_names_are_filled_in() -> None:
    plan = plan_of(
        Account("systemProgram"),
        Account("tokenProgram"),
        Account("associatedTokenProgram"),
    )
    assert keys(plan) == [SYSTEM_PROGRAM, TOKEN_PROGRAM, ASSOCIATED_TOKEN_PROGRAM]


def test_signers_are_the_wallet() -> None:
    wallet = Keypair()
    plan = plan_of(Account("authority", signer=True), Account("someone", signer=True))
    assert keys(plan, wallet=wallet) == [wallet.pubkey()] * 2
    with pytest.raises(MissingAccount, match="no wallet was given"):
        keys(plan)


def test_a_new_account_that_signs_for_its_own_creation_is_not_the_wallet() -> None:
    plan = plan_of(
        Account("counter", writable=True, signer=True),
        Account("payer", writable=True, signer=True),
        Account("system_program"),
    )
    with pytest.raises(MissingAccount) as caught:
        keys(plan, wallet=Pubkey.new_unique())
    assert caught.value.account == "counter"
    assert "new key pair" in caught.value.why


def test_the_event_pair_is_filled_in() -> None:
    plan = plan_of(Account("event_authority"), Account("program"))
    assert keys(plan) == [event_authority(PROGRAM), PROGRAM]
    with pytest.raises(MissingAccount):
        keys(plan_of(Account("program")))


def test_a_token_account_by_name_follows_its_neighbours() -> None:
    owner, mint = Pubkey.new_unique(), Pubkey.new_unique()
    plan = plan_of(
        Account("user_ata"), Account("user"), Account("mint"), Account("token_program")
    )
    assert keys(plan, {"user": owner, "mint": mint})[0] == associated_token(owner, mint)
    assert keys(
        plan, {"user": owner, "mint": mint, "token_program": TOKEN_2022_PROGRAM}
    )[0] == associated_token(owner, mint, TOKEN_2022_PROGRAM)


def test_the_spec_says_an_associated_token_account() -> None:
    owner, mint = Pubkey.new_unique(), Pubkey.new_unique()
    constraint = Constraints(
        token=TokenConstraint("associated", mint="coin", authority="who")
    )
    plan = plan_of(
        Account("purse", constraints=constraint), Account("coin"), Account("who")
    )
    assert keys(plan, {"coin": mint, "who": owner})[0] == associated_token(owner, mint)


def test_token_2022_is_told_by_the_owner_of_the_mint() -> None:
    mint = Pubkey.new_unique()
    plan = plan_of(Account("mint"), Account("token_program"))
    resolution = start(plan, {"mint": mint}, online=True)
    assert resolution.wanted() == [mint]
    resolution.supply(
        [(mint, ChainAccount(lamports=1, data=bytes(82), owner=TOKEN_2022_PROGRAM))]
    )
    assert resolution.metas()[1].pubkey == TOKEN_2022_PROGRAM


# --- seeds -----------------------------------------------------------------------------------------------------------


def test_constant_and_program_id_seeds() -> None:
    assert keys(plan_of(pda(ConstSeed(b"vault"), ProgramIdSeed()))) == [
        derived(b"vault", bytes(PROGRAM))
    ]


@pytest.mark.parametrize(
    ("node", "value", "encoding", "raw"),
    [
        (U64, 5, None, struct.pack("<Q", 5)),
        (U64, "5", None, struct.pack("<Q", 5)),  # the JSON form
        (I32, -2, None, b"\xfe\xff\xff\xff"),
        (U16, 300, "be", b"\x01\x2c"),
        (I32, -443520, "utf8", b"-443520"),
        (BORSH_STRING, "name", None, b"name"),  # no length prefix
        (BORSH_BYTES, b"\1\2\3", None, b"\1\2\3"),  # nor for bytes
        (BORSH_BYTES, "0x010203", None, b"\1\2\3"),
        (vec(U8), b"\1\2", None, b"\1\2"),
        (PUBKEY, str(PROGRAM), None, bytes(PROGRAM)),
    ],
)
def test_argument_seeds(node: Type, value: object, encoding: Any, raw: bytes) -> None:
    plan = plan_of(pda(ArgSeed(("x",), None, encoding)), args=(Field("x", node),))
    assert keys(plan, args={"x": value}) == [derived(raw)]


def test_an_argument_seed_by_path_default_and_spelling() -> None:
    args = (
        Field("theParams", Struct((Field("index", U16), Field("who", PUBKEY)))),
        Field("n", U8, default=Default(9)),
    )
    plan = plan_of(pda(ArgSeed(("theParams", "index")), ArgSeed(("n",))), args=args)
    assert keys(plan, args={"the_params": {"index": 3, "who": PROGRAM}}) == [
        derived(b"\3\0", b"\x09")
    ]


def test_account_seeds_and_one_account_in_two_seeds() -> None:
    mint = Pubkey.new_unique()
    plan = plan_of(
        Account("mint"),
        pda(AccountSeed(("mint",)), ConstSeed(b"-"), AccountSeed(("mint",))),
    )
    assert keys(plan, {"mint": mint})[1] == derived(bytes(mint), b"-", bytes(mint))


@pytest.mark.parametrize("sort", ["min", "max"])
def test_two_keys_in_order(sort: Any) -> None:
    one, two = Pubkey(bytes(31) + b"\1"), Pubkey(bytes(31) + b"\2")
    plan = plan_of(
        Account("x"), Account("y"), pda(AccountSeed(("x",), sort=sort, other=("y",)))
    )
    wanted = derived(bytes(one if sort == "min" else two))
    assert (
        keys(plan, {"x": one, "y": two})[2]
        == keys(plan, {"x": two, "y": one})[2]
        == wanted
    )


def test_a_chain_of_derived_addresses() -> None:
    first = Account("first", pda=Pda((ConstSeed(b"1"),)))
    second = Account("second", pda=Pda((AccountSeed(("first",)),)))
    assert keys(plan_of(second, first)) == [
        derived(bytes(derived(b"1"))),
        derived(b"1"),
    ]


def test_a_foreign_program_by_constant_argument_and_account() -> None:
    other = Pubkey.new_unique()
    for program, given, args in (
        (ConstValue(str(other)), {}, {}),
        (ArgValue(("p",)), {}, {"p": other}),
        (AccountValue(("swap_program",)), {"swap_program": other}, {}),
    ):
        plan = plan_of(
            Account("swap_program", optional=True),
            pda(ConstSeed(b"x"), program=program),
            args=(Field("p", PUBKEY),),
        )
        assert keys(plan, given, args)[1] == derived(b"x", program=other)


def test_an_unknown_foreign_program_never_becomes_our_own() -> None:
    plan = plan_of(
        pda(
            ConstSeed(b"x"),
            program=ResolverValue("the IDL's program seed is unreadable"),
        )
    )
    with pytest.raises(MissingAccount, match="program that owns the address"):
        keys(plan)


def test_an_unresolved_seed_is_named_and_the_address_can_be_given() -> None:
    plan = plan_of(
        pda(ConstSeed(b"x"), UnknownSeed("a big-endian number of unknown width"))
    )
    with pytest.raises(MissingAccount) as caught:
        keys(plan)
    assert "seed 2" in caught.value.why
    assert "big-endian" in caught.value.why
    key = Pubkey.new_unique()
    assert keys(plan, {"derived": key}) == [key]


def seeded_by_argument_and_account() -> Plan:
    return plan_of(
        Account("mint"),
        pda(ArgSeed(("x",)), AccountSeed(("mint",))),
        args=(Field("x", U8),),
    )


def test_a_missing_argument_of_a_seed_is_named() -> None:
    with pytest.raises(
        MissingAccount, match="seed 1 is the argument 'x', which is not given"
    ):
        keys(seeded_by_argument_and_account(), {"mint": PROGRAM})


def test_a_missing_account_of_a_seed_is_named() -> None:
    with pytest.raises(MissingAccount) as caught:
        keys(seeded_by_argument_and_account(), args={"x": 1})
    assert caught.value.account == "mint"


@pytest.mark.parametrize(
    ("node", "value", "says"),
    [
        (U8, 256, "seed 1, the argument 'x': 256 is out of range"),
        (BORSH_STRING, "y" * 33, "33 bytes"),
        (BORSH_STRING, "\ud800", "seed 1, the argument 'x': .*utf8"),
    ],
)
def test_a_seed_value_that_does_not_fit_is_refused(
    node: Type, value: Any, says: str
) -> None:
    plan = plan_of(pda(ArgSeed(("x",))), args=(Field("x", node),))
    with pytest.raises(PdaError, match=says):
        keys(plan, args={"x": value})


def test_a_cycle_names_its_ring() -> None:
    a = Account("a", pda=Pda((AccountSeed(("b",)),)))
    b = Account("b", pda=Pda((AccountSeed(("a",)),)))
    with pytest.raises(MissingAccount, match="derived from one another"):
        keys(plan_of(a, b))
    key = Pubkey.new_unique()
    assert keys(plan_of(a, b), {"b": key}) == [derived(bytes(key)), key]


# --- fetched data ----------------------------------------------------------------------------------------------------

FIELD_SEED = pda(AccountSeed(("vault",), ("index",), "Vault"))


def test_a_field_of_a_fetched_account_is_asked_for_once() -> None:
    key = Pubkey.new_unique()
    plan = plan_of(
        Account("vault"),
        FIELD_SEED,
        Account(
            "second", pda=Pda((AccountSeed(("vault",), ("inner", "key"), "Vault"),))
        ),
    )
    resolution = start(plan, {"vault": key}, online=True)
    assert resolution.wanted() == [key]
    resolution.supply([(key, vault(PROGRAM, 7, inner=key))])
    assert resolution.wanted() == []
    assert [m.pubkey for m in resolution.metas()][1:] == [
        derived(struct.pack("<Q", 7)),
        derived(bytes(key)),
    ]


def test_without_a_connection_the_field_is_named() -> None:
    with pytest.raises(MissingAccount) as caught:
        keys(plan_of(Account("vault"), FIELD_SEED), {"vault": PROGRAM})
    assert "field 'index' of account 'vault'" in caught.value.why


@pytest.mark.parametrize(
    ("account", "why"),
    [
        (None, "does not exist"),
        (vault(PROGRAM, owner=SYSTEM_PROGRAM), "belongs to program 1111"),
        (
            ChainAccount(lamports=1, data=b"vaultdsc" + bytes(9), owner=PROGRAM),
            "account 'vault'",
        ),
    ],
)
def test_data_that_is_not_there_foreign_or_short_is_told(
    account: ChainAccount | None, why: str
) -> None:
    key = Pubkey.new_unique()
    resolution = start(
        plan_of(Account("vault"), FIELD_SEED), {"vault": key}, online=True
    )
    resolution.wanted()
    resolution.supply([(key, account)])
    with pytest.raises(MissingAccount, match=why):
        resolution.wanted()


def test_a_field_of_a_token_account_whose_type_the_idl_only_names() -> None:
    key, mint = Pubkey.new_unique(), Pubkey.new_unique()
    plan = plan_of(
        Account("purse"), pda(AccountSeed(("purse",), ("mint",), "TokenAccount"))
    )
    resolution = start(plan, {"purse": key}, online=True)
    resolution.wanted()
    resolution.supply(
        [
            (
                key,
                ChainAccount(
                    lamports=1, data=bytes(mint) + bytes(133), owner=TOKEN_PROGRAM
                ),
            )
        ]
    )
    assert resolution.metas()[1].pubkey == derived(bytes(mint))


def test_relations_are_read_from_the_account_that_names_this_one() -> None:
    key, authority = Pubkey.new_unique(), Pubkey.new_unique()
    plan = plan_of(Account("authority", relations=("vault",)), Account("vault"))
    resolution = start(plan, {"vault": key}, online=True)
    assert resolution.wanted() == [key]
    resolution.supply([(key, vault(authority))])
    assert resolution.metas()[0].pubkey == authority
    with pytest.raises(MissingAccount, match="must be read from the chain"):
        keys(plan, {"vault": key})


# --- Codama's values -------------------------------------------------------------------------------------------------


def test_default_values() -> None:
    wallet, payer, other = (Pubkey.new_unique() for _ in range(3))
    cases: list[tuple[Value, Pubkey]] = [
        (ConstValue(str(other)), other),
        (ArgValue(("k",)), other),
        (AccountValue(("b",)), other),
        (ProgramIdValue(), PROGRAM),
        (IdentityValue(), wallet),
        (PayerValue(), payer),
        (PdaValue(Pda((ConstSeed(b"s"),))), derived(b"s")),
    ]
    for value, wanted in cases:
        plan = plan_of(
            Account("a", default=value), Account("b"), args=(Field("k", PUBKEY),)
        )
        assert (
            keys(plan, {"b": other}, {"k": other}, wallet=wallet, payer=payer)[0]
            == wanted
        )


def test_a_value_given_wins_over_the_default() -> None:
    key = Pubkey.new_unique()
    assert keys(plan_of(Account("a", default=ProgramIdValue())), {"a": key}) == [key]


def test_a_conditional_by_account_and_by_argument() -> None:
    yes, no = Pubkey.new_unique(), Pubkey.new_unique()
    by_account = Account(
        "a",
        default=ConditionalValue(
            AccountValue(("b",)), None, ConstValue(str(yes)), ConstValue(str(no))
        ),
    )
    plan = plan_of(by_account, Account("b", optional=True))
    assert keys(plan, {"b": PROGRAM})[0] == yes
    assert keys(plan)[0] == no
    by_arg = Account(
        "a",
        default=ConditionalValue(
            ArgValue(("kind",)), "NonFungible", ConstValue(str(yes)), None
        ),
    )
    plan = plan_of(replace(by_arg, optional=True), args=(Field("kind", BORSH_STRING),))
    assert keys(plan, args={"kind": "nonFungible"}) == [yes]
    # Absent: the program's own id.
    assert keys(plan, args={"kind": "Fungible"}) == [PROGRAM]


def test_a_resolver_is_the_callers() -> None:
    plan = plan_of(Account("a", default=ResolverValue("pick", ("b",))), Account("b"))
    with pytest.raises(MissingAccount, match="resolver 'pick'"):
        keys(plan, {"b": PROGRAM})
    found = keys(
        plan,
        {"b": PROGRAM},
        resolvers={"pick": lambda r: derived(bytes(r.address("b")))},
    )
    assert found[0] == derived(bytes(PROGRAM))


def test_an_argument_that_is_the_bump_of_an_account() -> None:
    plan = plan_of(
        pda(ConstSeed(b"x")),
        args=(Field("bump", U8),),
        arg_values=(("bump", AccountBumpValue(("derived",))),),
    )
    resolution = start(plan)
    resolution.wanted()
    assert resolution.complete_args() == {"bump": find_pda([b"x"], PROGRAM)[1]}
    assert start(plan, args={"bump": 1}).complete_args() == {"bump": 1}


# --- optional, either, remaining -------------------------------------------------------------------------------------


def test_an_absent_optional_account_is_the_program_id_without_flags() -> None:
    plan = plan_of(
        Account("a", optional=True, writable=True, signer=True), Account("b")
    )
    metas = start(plan, {"b": PROGRAM, "a": None}).metas()
    assert metas[0] == AccountMeta(PROGRAM, False, False)
    assert start(plan, {"b": PROGRAM}).metas()[0] == metas[0]


def test_an_absent_optional_account_is_left_out_in_native_programs() -> None:
    plan = plan_of(
        Account("b"), Account("a", optional=True), optional_accounts="omitted"
    )
    assert keys(plan, {"b": PROGRAM}) == [PROGRAM]


def test_an_optional_account_with_seeds_is_absent_where_they_cannot_be_derived() -> (
    None
):
    optional = replace(pda(ArgSeed(("x",))), optional=True)
    plan = plan_of(optional, args=(Field("x", U8),))
    assert keys(plan) == [PROGRAM]
    assert keys(plan, args={"x": 1}) == [derived(b"\1")]


def test_either_signs_as_key_pair_or_wallet() -> None:
    pair, key = Keypair(), Pubkey.new_unique()
    plan = plan_of(
        Account("a", signer="either"),
        remaining=(RemainingAccounts("signers", signer=True),),
    )

    def signs(given: dict[str, Any], **options: Any) -> bool:
        return start(plan, given, **options).metas()[0].is_signer

    assert signs({"a": pair})
    assert signs({"a": key}, wallet=key)
    assert not signs({"a": key}, wallet=Pubkey.new_unique())
    assert signs({"a": key})  # nobody else could
    assert not signs({"a": key, "signers": [PROGRAM]})  # a multisig: its members sign
    assert not signs({"a": AccountMeta(key, False, False)})


def test_remaining_accounts_have_their_flags_and_stand_last() -> None:
    key = Pubkey.new_unique()
    plan = plan_of(Account("a"), remaining=(RemainingAccounts("hooks", writable=True),))
    raw = AccountMeta(PROGRAM, False, True)
    metas = start(
        plan, {"a": key, "hooks": [str(key), PROGRAM]}, remaining=[key, raw]
    ).metas()
    assert [(m.pubkey, m.is_writable) for m in metas[1:]] == [
        (key, True),
        (PROGRAM, True),
        (key, False),
        (PROGRAM, True),
    ]
    with pytest.raises(EncodeError, match="list of addresses"):
        start(plan, {"a": key, "hooks": str(key)})


# --- what a client cannot fill in ------------------------------------------------------------------------------------


def test_what_must_be_given_with_and_without_wallet_and_connection() -> None:
    plan = plan_of(
        Account("vault"),
        FIELD_SEED,
        Account("authority", signer=True),
        Account("system_program"),
        Account("maybe", optional=True),
        Account("related", relations=("vault",)),
    )

    def names(**options: bool) -> list[str]:
        return [leaf.name for leaf in plan.must_give(**options)]

    assert names() == ["vault"]
    assert names(wallet=False) == ["vault", "authority"]
    assert names(online=False) == ["vault", "derived", "related"]


@pytest.mark.parametrize("first", [0, 1])
def test_a_relation_of_an_account_that_is_derived_from_it_must_be_given(
    first: int,
) -> None:
    """`position` is derived from `mint`, and holds it: the IDL of an account with has_one and seeds says both."""
    both = [
        Account("position", pda=Pda((AccountSeed(("mint",)),))),
        Account("mint", relations=("position",)),
    ]
    plan = plan_of(both[first], both[1 - first])
    (name,) = [leaf.name for leaf in plan.must_give()]
    assert name == ("mint" if first == 0 else "position")
    assert name == "position" or keys(plan, {name: PROGRAM})


def test_an_account_in_a_ring_must_be_given() -> None:
    a = Account("a", pda=Pda((AccountSeed(("b",)),)))
    b = Account("b", pda=Pda((AccountSeed(("a",)),)))
    names = [leaf.name for leaf in plan_of(a, b).must_give()]
    assert names
    assert keys(plan_of(a, b), dict.fromkeys(names, PROGRAM))

"""What bodies refuse: each snippet with the place and the reason, and all refusals of a spec at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpsol_py.bodies.tree import NumberValue, bodies_of, find
from mcpsol_py.errors import InvalidProgram, McpsolError, SourceError
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.sources.spec import read_spec

SPEC = '''\
from mcpsol_py.spec import *
from mcpsol_py.spec import u8, u32, u64, u128, u256, i64, i128
del i8
LIMIT = u64(1000)
OWNER = Pubkey("J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")


def half(value: u64) -> u64:
    return value // 2


def check(value: u64) -> None:
    require(value > 0, Vault.Zero)


def untyped(value) -> u64:
    return u64(1)


def with_default(value: u64 = u64(1)) -> u64:
    return value


def around(value: u64) -> u64:
    return around(value)


def put(state: "Mut[Vault.State, ...]", value: u64) -> u64:
    state.deposited = value
    return value


def fee_of(state: "Vault.State") -> u32:
    return state.fee


def both(state: "Mut[Vault.State, ...]", other: "Vault.State") -> None:
    state.fee = other.fee


def address_of(state: "Vault.State") -> Pubkey:
    return state.address


def checked(state: "Mut[Vault.State, has_one('authority')]") -> None:
    state.fee = u32(1)


def decimals_of(mint: Mint) -> u8:
    return mint.decimals


def give_all(
    tokens: TokenAccount, to: TokenAccount, owner: Signer, token_program: TokenProgram
) -> None:
    token_program.transfer(source=tokens, destination=to, authority=owner, amount=tokens.amount)


def signed_by(owner: Signer) -> Pubkey:
    return owner.address


def first(data: Data) -> u8:
    return data[0]


def peek(signer: Signer) -> u8:
    return signer.data[0]


def rest(data: Data) -> Data:
    return data[1:]


def sum_of(values: list[u64]) -> u64:
    return u64(len(values))


def all_of(values: list[u64]) -> list[u64]:
    return values


def __hidden(value: u64) -> u64:
    return value


class Mode(Enum):
    Slow = variant()
    Fast = variant()
    Wide = variant()


class Choice(Enum):
    Nothing = variant()
    Some = variant(u64)


def sometimes(value: u64) -> u64:
    if value > 0:
        return value


class Unused(Struct):
    left: u64


def unused(value: u64) -> Unused:
    return Unused(left=value)


class Pair(Struct):
    left: u64
    mode: Mode


class Score(Struct):
    left: u64
    mode: Mode


class Marked(Struct):
    mark: Array[u8, 32]


class Notes(Account):
    author: Pubkey
    lines: list[str]


@program(name="vault", address="J7fMkckt17bajoM4E5TyqEVEqjN7sEx7hEbWZuB2bxuK")
class Vault:
    class State(Account):
        authority: Pubkey
        deposited: u64
        fee: u32
        is_open: bool
        mode: Mode
        mark: Array[u8, 32]
        wide: u256
        bump: u8
        best: Score
        seal: Marked
        heir: COption[Pubkey]

    class Deposited(Event):
        vault: Pubkey
        amount: u64

    MAX_FEE = constant(u16, 500)
    TITLE = constant(str, "vault")
    Zero = error("The amount is zero")
    Full = error("The vault is full")

    @instruction
    def deposit(
        self,
        vault: Mut[State, ...],
        other: Ref[State, ...],
        notes: Mut[Notes, ...],
        tokens: Mut[TokenAccount, ...],
        source: Mut[TokenAccount, ...],
        read: Ref[TokenAccount, ...],
        mint: Mint,
        wallet: Mut[Wallet, ...],
        depositor: Signer,
        payer: Payer,
        helper: Mut[State, ...] | None,
        pot: Mut[TokenAccount, ...] | None,
        safe: Mut[Unchecked, seeds(b"safe")] | None,
        spot: Mut[Unchecked, ...] | None,
        token_program: TokenProgram,
        token_2022: Token2022Program,
        associated: AssociatedTokenProgram,
        sysvar: Instructions,
        keeper: Ref[Unchecked, seeds(b"keeper")],
        fresh: Mut[Unchecked, seeds(b"fresh", "who")],
        loose: Mut[Unchecked, ...],
        system_program: SystemProgram,
        this: Ref[ProgramAccount, address("J7fMkckt17bajoM4E5TyqEVEqjN7sEx7hEbWZuB2bxuK")],
        *voters: Signer,
        amount: u64,
        small: u8,
        gain: i64,
        huge: i128,
        flag: bool,
        who: Pubkey,
        names: list[str],
        gains: list[u64],
        ticks: list[bool],
        pairs: list[Pair],
        mode: Mode,
        choice: Choice,
        pair: Pair,
        marked: Marked,
        mark: Array[u8, 32],
        short: Array[u8, 8],
        limit: u64 | None,
        tiny: u8 | None,
        deal: Pair | None,
        mood: Mode | None,
        sure: bool | None,
        maybe_mark: Array[u8, 32] | None,
    ) -> None:
        """Deposit."""
'''
FIRST_LINE = SPEC.count("\n") + 1
INDENT = " " * 8
MOVED = "source=source, destination=tokens, authority=depositor, amount=amount"

#: A call that creates an associated token account.
CREATED = {
    "payer": "payer",
    "account": "loose",
    "owner": "wallet",
    "mint": "mint",
    "system_program": "system_program",
    "token_program": "token_program",
}


def create(**other: str) -> str:
    """A call that creates an associated token account, with some other accounts."""
    given = ", ".join(f"{role}={name}" for role, name in (CREATED | other).items())
    return f"associated.create_idempotent({given})"


#: A call of another program.
MOVE = "token_program.transfer(source=source, destination=tokens, authority=depositor, amount=amount)"

#: name: (the body, the place of the refusal in it, part of the reason)
REFUSED: dict[str, tuple[str, str, str]] = {
    # statements that the language does not have
    "assert": ("assert amount > 0, self.Zero", "1:1", "use require("),
    "try": (
        "try:\n    vault.deposited += amount\nexcept ArithmeticError:\n    pass",
        "1:1",
        "catches",
    ),
    "while": ("while amount > 0:\n    pass", "1:1", "no bound"),
    "for over a list": ("for x in [1, 2]:\n    pass", "1:10", "range("),
    "for with a step": ("for x in range(0, 9, 2):\n    pass", "1:10", "range("),
    "for over an address": ("for x in range(who):\n    pass", "1:16", "do not mix"),
    "for with else": (
        "for x in range(3):\n    pass\nelse:\n    vault.fee = u32(1)",
        "4:5",
        "no else",
    ),
    "for with two names": ("for x, y in range(3):\n    pass", "1:5", "is a name"),
    "number of a loop as it is": (
        "for x in range(amount):\n    vault.deposited = x",
        "2:23",
        "expected u64",
    ),
    "number of a loop afterwards": (
        "for x in range(amount):\n    pass\nvault.deposited = u64(x)",
        "3:23",
        "every path",
    ),
    "number of a loop assigned": (
        "for x in range(amount):\n    x = amount",
        "2:5",
        "not u64",
    ),
    "value of a loop afterwards": (
        "for x in range(amount):\n    y = u64(x)\nvault.deposited = y",
        "3:19",
        "every path",
    ),
    "after continue": (
        "for x in range(amount):\n    continue\n    vault.fee = u32(1)",
        "3:5",
        "never reached",
    ),
    "close in a loop": (
        "for x in range(amount):\n    close(vault, wallet)",
        "2:5",
        "closed once",
    ),
    # accounts that a body opens
    "create without a name": (
        "emit(self.Deposited(vault=who, amount=create(self.State, fresh, payer=wallet)))",
        "1:39",
        "opens state",
    ),
    "load without a name": ("load(self.State, fresh)", "1:1", "load(…) is not used"),
    "create of no state": (
        "x = create(self.Zero, fresh, payer=wallet)",
        "1:12",
        "no state",
    ),
    "create of a struct": ("x = create(Pair, fresh, payer=wallet)", "1:12", "no state"),
    "load of state without a size": ("x = load(Notes, loose)", "1:10", "no state"),
    "create in declared state": (
        "x = create(self.State, vault, payer=wallet)",
        "1:24",
        "expected an Unchecked account",
    ),
    "load of a token account": ("x = load(self.State, tokens)", "1:22", "Unchecked"),
    "create without seeds": (
        "x = create(self.State, loose, payer=wallet)",
        "1:24",
        "no seeds of this program",
    ),
    "create in what is read": (
        "x = create(self.State, keeper, payer=wallet)",
        "1:24",
        "declare it as Mut",
    ),
    "payer that does not sign": (
        "x = create(self.State, fresh, payer=wallet)",
        "1:37",
        "signs and is written",
    ),
    "create without a payer": (
        "x = create(self.State, fresh)",
        "1:5",
        "payer= by name",
    ),
    "load with a payer": (
        "x = load(self.State, loose, payer=wallet)",
        "1:5",
        "by position",
    ),
    "open twice": (
        "x = load(self.State, loose)\ny = load(self.State, loose)\nx.fee = u32(1)",
        "2:22",
        "is open",
    ),
    "open in a loop": (
        "for i in range(amount):\n    x = load(self.State, loose)",
        "2:9",
        "opened once",
    ),
    "open in one branch": (
        "if flag:\n    x = load(self.State, loose)\nx.fee = u32(1)",
        "3:1",
        "assign to a name, or to account.field",
    ),
    "read of what one branch opened": (
        "if flag:\n    x = load(self.State, loose)\nvault.fee = x.fee",
        "3:13",
        "every path",
    ),
    "one name for two accounts": (
        "if flag:\n    x = load(self.State, loose)\nelse:\n    x = load(self.State, fresh)",
        "4:5",
        "is State in loose",
    ),
    "name of an account for state": (
        "vault = load(self.State, loose)",
        "1:1",
        "has a value",
    ),
    "name of a value for state": (
        "x = amount\nx = load(self.State, loose)",
        "2:1",
        "has a value",
    ),
    "name of state for a value": (
        "x = load(self.State, loose)\nx = amount",
        "2:1",
        "is state",
    ),
    "state into a field": (
        "vault.fee = load(self.State, loose)",
        "1:1",
        "a name of its own",
    ),
    "write of state in what is read": (
        "x = load(self.State, keeper)\nx.fee = u32(1)",
        "2:1",
        "declare it as Mut",
    ),
    "data of an open account": (
        "x = load(self.State, loose)\nx.fee = u32(loose.data[0])",
        "2:13",
        "is open",
    ),
    "data from before an account was opened": (
        "d = loose.data\nx = load(self.State, loose)\nx.fee = u32(d[0])",
        "3:13",
        "again after a call",
    ),
    "kind of an open account": (
        "x = load(self.State, loose)\nrequire(is_mint(loose, token_program), self.Zero)\nx.fee = u32(1)",
        "2:17",
        "is open",
    ),
    "close of an open account": (
        "x = load(self.State, loose)\nclose(x, wallet)",
        "2:7",
        "in the signature",
    ),
    "open account as a value": (
        "x = load(self.State, loose)\ny = x",
        "2:5",
        "an account is not a value",
    ),
    "bump of an address without seeds": (
        "x = u64(loose.bump)",
        "1:9",
        "no field 'bump'",
    ),
    "bump of a declared state": ("x = u64(token_2022.bump)", "1:9", "no field 'bump'"),
    "carrying a number": (
        "raise self.Zero.carrying(amount)",
        "1:26",
        "opened state or bytes",
    ),
    "carrying declared state": (
        "raise self.Zero.carrying(vault)",
        "1:26",
        "not a value",
    ),
    "carrying data": (
        "raise self.Zero.carrying(loose.data)",
        "1:26",
        "opened state or bytes",
    ),
    "carrying too much": (
        "raise self.Zero.carrying(loose.data[0:1025])",
        "1:26",
        "at most 1,024 bytes",
    ),
    "carrying in require": (
        "require(flag, self.Zero.carrying(mark))",
        "1:15",
        "not an error",
    ),
    "bytes as data that stay": ("d = Data(mark)", "1:5", "read at once"),
    "part of bytes without an end": ("x = Data(mark)[1:]", "1:5", "two written bounds"),
    "data of a number": ("x = Data(amount).u64(0)", "1:10", "bytes of a fixed length"),
    "big-endian address": (
        "x = Data(mark).pubkey(0, big_endian=True)",
        "1:5",
        "by position",
    ),
    # match
    "match of a sum": (
        "match amount + 1:\n    case _:\n        pass",
        "1:7",
        "assign the value first",
    ),
    "case that captures": (
        "match amount:\n    case x:\n        pass",
        "2:10",
        "a case is a number",
    ),
    "case of a sequence": (
        "match amount:\n    case [1]:\n        pass",
        "2:10",
        "a case is a number",
    ),
    "case with a condition": (
        "match amount:\n    case 1 if flag:\n        pass",
        "2:15",
        "no condition",
    ),
    "case of another type": (
        "match amount:\n    case Mode.Slow:\n        pass",
        "2:10",
        "do not mix",
    ),
    "case out of range": (
        "match small:\n    case 256:\n        pass",
        "2:10",
        "does not fit u8",
    ),
    "case of no variant": (
        "match mode:\n    case Mode.Slwo:\n        pass",
        "2:10",
        "no variant",
    ),
    "case after all variants": (
        "match mode:\n    case Mode.Slow | Mode.Fast | Mode.Wide:\n        pass\n    case _:\n        pass",
        "2:10",
        "no case comes after",
    ),
    "last variant of another enum": (
        "match mode:\n    case Mode.Slow | Mode.Fast:\n        pass\n    case Choice.Wide:\n        pass",
        "4:10",
        "no variant",
    ),
    "no value in a case": (
        "match amount:\n    case 1:\n        x = amount\nvault.deposited = x",
        "4:19",
        "every path",
    ),
    # structs, enums and bytes
    "order of variants": ("require(mode < Mode.Fast, self.Zero)", "1:16", "no order"),
    "order of bytes": ("require(mark < vault.mark, self.Zero)", "1:16", "no order"),
    "bytes of another length": (
        "require(mark == short, self.Zero)",
        "1:17",
        "do not mix",
    ),
    "enum with values": ("x = choice", "1:5", "cannot be used"),
    "enum in state of another type": (
        "vault.mode = pair",
        "1:14",
        "expected Mode, got Pair",
    ),
    "field of a struct in state": (
        "vault.best.left = amount",
        "1:1",
        "assign to a name",
    ),
    "struct in state with bytes": (
        "x = vault.seal",
        "1:5",
        "Marked, which cannot be used",
    ),
    "order of variants in state": ("x = vault.mode < mode", "1:18", "no order"),
    "state that may be None": (
        "vault.authority = vault.heir",
        "1:19",
        "vault.heir may be None: give it a name",
    ),
    "state that may be None and another type": (
        "vault.heir = amount",
        "1:14",
        "expected Pubkey | None, got u64",
    ),
    "enum in state that stays": ("vault.mode = vault.mode", "1:1", "changes nothing"),
    "struct with bytes": ("x = marked", "1:5", "cannot be used"),
    "equal structs": (
        "require(pair == pair, self.Zero)",
        "1:17",
        "structs are not compared: compare their fields",
    ),
    "part without a fixed length": (
        "require(loose.data[amount:amount + 4] == b'abcd', self.Zero)",
        "1:42",
        "compare a part with two written bounds, as in data[0:4]",
    ),
    "all data": (
        "require(loose.data == b'abcd', self.Zero)",
        "1:23",
        "compare a part with two written bounds",
    ),
    "part of a value": (
        "require(mark[0:4] == b'abcd', self.Zero)",
        "1:9",
        "write Data(mark)",
    ),
    "sum of the number of a loop": (
        "for i in range(3):\n    x = i + 1",
        "2:9",
        "write u64(i)",
    ),
    "number of a loop beside a number": (
        "for i in range(3):\n    require(i < amount, self.Zero)",
        "2:17",
        "write u64(i)",
    ),
    "number of a loop as an offset": (
        "for i in range(3):\n    x = loose.data[i]",
        "2:20",
        "write u64(i)",
    ),
    "number of a loop as a bound": (
        "for i in range(3):\n    for j in range(i):\n        pass",
        "2:14",
        "write u64(i)",
    ),
    "length as a bound": (
        "for i in range(len(gains)):\n    pass",
        "1:10",
        "write u64(len(gains))",
    ),
    "value that may be None as a condition": (
        "if limit:\n    return",
        "1:4",
        "write limit is not None",
    ),
    "optional account beside None": (
        "if helper == None:\n    return",
        "1:14",
        "`is None`",
    ),
    "address made in a body": (
        "require(who == Pubkey('J7fMkckt17bajoM4E5TyqEVEqjN7sEx7hEbWZuB2bxuK'), self.Zero)",
        "1:16",
        "top of the module",
    ),
    "result of a call of a program": (f"x = {MOVE}", "1:5", "statement of its own"),
    "two widths of the number of a loop": (
        "for i in range(amount):\n    pass\nfor i in range(small):\n    pass",
        "3:5",
        "give the loop another name",
    ),
    "struct field assigned": ("pair.left = amount", "1:1", "assign to a name"),
    "unknown field of a struct": ("x = pair.lft", "1:5", "no 'lft'"),
    "struct without a field": ("x = Pair(left=amount)", "1:5", "needs 'mode'"),
    "struct by position": ("x = Pair(amount, Mode.Slow)", "1:10", "by name"),
    "field of a struct of another type": (
        "x = Pair(left=small, mode=mode)",
        "1:15",
        "expected u64",
    ),
    "struct of no instruction": (
        "x = Unused(left=amount)",
        "1:5",
        "Unused is in no instruction, event or state: use it in one of them",
    ),
    "helper with a struct of no instruction": (
        "x = unused(amount)",
        "1:5",
        "Unused is in no instruction, event or state: use it in one of them",
    ),
    "type as a value": ("x = Pair", "1:5", "not a value"),
    # helpers with state
    "helper that writes, in a sum": (
        "x = put(vault, amount) + 1",
        "1:5",
        "assign its result first",
    ),
    "helper that writes what is read": (
        "x = put(other, amount)",
        "1:9",
        "declare it as Mut",
    ),
    "helper with another state": ("x = fee_of(notes)", "1:12", "with the state State"),
    "helper with an optional account": (
        "x = fee_of(helper)",
        "1:12",
        "helper may be None",
    ),
    "helper with a number as state": (
        "x = fee_of(amount)",
        "1:12",
        "with the state State",
    ),
    "one account twice": ("both(vault, vault)", "1:1", "given twice"),
    "address in a helper": ("x = address_of(vault)", "42:12", "knows no address"),
    "constraint of a helper": ("checked(vault)", "1:1", "no constraints"),
    # close
    "close of no state": ("close(wallet, depositor)", "1:15", "declare it as Mut"),
    "close of tokens": ("close(tokens, wallet)", "1:7", "holds no state"),
    "close of what is read": ("close(other, wallet)", "1:7", "declare it as Mut"),
    "close to itself": ("close(vault, vault)", "1:14", "its own lamports"),
    "close twice": (
        "close(vault, wallet)\nclose(vault, wallet)",
        "2:1",
        "closed already",
    ),
    "state after its end on one path": (
        "if flag:\n    close(vault, wallet)\nvault.fee = u32(1)",
        "3:1",
        "is closed",
    ),
    "state after its end on both paths": (
        "if flag:\n    close(vault, wallet)\nelse:\n    close(vault, payer)\nvault.fee = u32(1)",
        "5:1",
        "is closed",
    ),
    "state after its end": ("close(vault, wallet)\nx = vault.fee", "2:5", "is closed"),
    "helper after the end": (
        "close(vault, wallet)\nx = fee_of(vault)",
        "2:12",
        "is closed",
    ),
    "del": ("x = amount\ndel x", "2:1", "no del"),
    "global": ("global z", "1:1", "global"),
    "nonlocal": ("def f() -> None:\n    pass", "1:1", "in the module"),
    "class": ("class C:\n    pass", "1:1", "in the module"),
    "import": ("import os", "1:1", "top of the module"),
    "from import": ("from os import path", "1:1", "top of the module"),
    "with open": ("with open('x'):\n    pass", "1:1", "only `with overflow"),
    "two targets": ("x = y = amount", "1:1", "one name at a time"),
    "pair": ("x, y = amount, amount", "1:1", "one name at a time"),
    "unreachable": (
        "raise self.Zero\nvault.deposited = amount",
        "2:1",
        "never reached",
    ),
    "raise a call": ("raise ValueError('x')", "1:7", "not an error of the program"),
    "raise from": ("raise self.Zero from None", "1:1", "expected `raise error`"),
    "bare raise": ("raise", "1:1", "expected `raise error`"),
    "value that is not used": ("amount + 1", "1:1", "not used"),
    "return a value": ("return amount", "1:1", "returns nothing"),
    # expressions that the language does not have
    "lambda": ("x = (lambda: amount)()", "1:5", "not known"),
    "list": ("x = [amount]", "1:5", "a list"),
    "dict": ("x = {1: amount}", "1:5", "a dict"),
    "set": ("x = {amount}", "1:5", "a set"),
    "comprehension": ("x = [a for a in names]", "1:5", "comprehensions"),
    "f-string": ("x = f'{amount}'", "1:5", "f-strings"),
    "text": ("x = 'a'", "1:5", "no values like"),
    "float": ("x = amount + 0.5", "1:14", "no values like"),
    "None": ("x = None", "1:5", "None"),
    "walrus": ("require((x := amount) > 0, self.Zero)", "1:10", "no :="),
    "subscript": ("x = names[0]", "1:5", "cannot be used in a body yet"),
    "star": ("check(*names)", "1:1", "takes 1 argument"),
    "name that Python changes": ("x = __hidden(amount)", "1:5", "inside a class"),
    # what does not fit
    "long copy": ("x = loose.data[0:1025]", "1:5", "at most 1,024 bytes"),
    "long copy that is compared": (
        "require(loose.data[0:5000] == mark, self.Zero)",
        "1:9",
        "at most 1,024 bytes",
    ),
    "copies without room": (
        "x = loose.data[0:1000]\ny = loose.data[1:1001]\nz = loose.data[2:1002]",
        "3:5",
        "2,048 bytes",
    ),
    "long sum": (f"x = {' + '.join(['amount'] * 2000)}", "1:5", "levels deep"),
    "many cases": (
        "match amount:\n"
        + "".join(f"    case {i}:\n        return\n" for i in range(400)),
        "196:10",
        "levels deep",
    ),
    # operators
    "true division": ("half = amount / 2", "1:8", "no /"),
    "power": ("p = amount ** 2", "1:5", "no **"),
    "shift left": ("p = amount << 2", "1:5", "no <<"),
    "shift right": ("p = amount >> 2", "1:5", "no >>"),
    "invert": ("p = ~amount", "1:5", "no + or ~"),
    "signed division": ("y = gain // 2", "1:5", "do not divide"),
    "signed remainder": ("y = gain % i64(2)", "1:5", "do not divide"),
    "wide product": ("y = huge * huge", "1:5", "cannot multiply i128"),
    "negative of unsigned": ("y = -amount", "1:5", "no negative"),
    "mixed widths": ("x = amount + small", "1:14", "do not mix"),
    "sum of addresses": ("x = who + who", "1:5", "no such operator"),
    "sum of flags": ("x = flag + flag", "1:5", "no such operator"),
    "is": ("require(amount is amount, self.Zero)", "1:19", "use =="),
    "in": ("require(amount in (1, 2), self.Zero)", "1:19", "no `in`"),
    "order of addresses": ("require(who < who, self.Zero)", "1:15", "no order"),
    "two kinds": ("require(who == amount, self.Zero)", "1:16", "do not mix"),
    "middle of a chain": (
        "require(0 < amount + 1 < 5, self.Zero)",
        "1:13",
        "assign it first",
    ),
    # numbers
    "local without a width": ("x = 5", "1:5", "u64(5)"),
    "field without a width": ("vault.deposited = 5", "1:19", "u64(5)"),
    "too large": ("x = amount + 18446744073709551616", "1:14", "does not fit u64"),
    "too small": ("x = amount + -1", "1:14", "does not fit u64"),
    "conversion out of range": ("x = u8(256)", "1:8", "does not fit u8"),
    "conversion of a flag": ("x = u64(flag)", "1:9", "not a number"),
    "256 bits": ("x = u256(1)", "1:5", "cannot be used"),
    "min without a width": ("x = min(amount, 5)", "1:17", "u64(5)"),
    "choice without a width": ("x = amount if flag else 0", "1:25", "no width"),
    "truth of a number": ("if amount:\n    pass", "1:4", "!= 0"),
    "truth of an address": ("require(who, self.Zero)", "1:9", "expected a condition"),
    "not a number": ("require(not amount, self.Zero)", "1:13", "!= 0"),
    # names
    "unknown name": ("x = amuont", "1:5", "Did you mean"),
    "unknown field": ("vault.deposit = amount", "1:1", "Did you mean"),
    "unknown error": ("require(flag, self.Zeroo)", "1:15", "Did you mean"),
    "unknown member": ("x = self.MAX_FE", "1:5", "Did you mean"),
    "call that Python has": ("x = abs(gain)", "1:5", "write -x if x < 0 else x"),
    "word without its import": (
        "x = i8(3)",
        "1:5",
        "import i8 from mcpsol_py.spec",
    ),
    "end of a type without its import": (
        "x = i8.MAX",
        "1:5",
        "import i8 from mcpsol_py.spec",
    ),
    "unknown call": ("write(amount)", "1:1", "not known"),
    "parameter assigned": ("amount = amount + 1", "1:1", "is a parameter"),
    "account as a value": ("x = vault", "1:5", "not a value"),
    "error as a value": ("x = self.Zero", "1:5", "not a value"),
    "type changes": ("x = amount\nx = flag", "2:1", "is u64, not bool"),
    "no value on a path": (
        "if flag:\n    x = amount\nvault.deposited = x",
        "3:19",
        "every path",
    ),
    "used before": ("vault.deposited = x\nx = amount", "1:19", "every path"),
    "annotation": ("x: u32 = amount", "1:10", "expected u32"),
    "unknown annotation": ("x: nothing = amount", "1:4", "cannot read"),
    "field of another width": ("vault.fee = amount", "1:13", "expected u32"),
    "variable set to itself": ("x = amount\nx = x", "2:1", "changes nothing"),
    "field set to itself": ("vault.fee = vault.fee", "1:1", "changes nothing"),
    "read only": ("other.deposited = amount", "1:1", "declare it as Mut"),
    "address assigned": ("vault.address = who", "1:1", "cannot be written"),
    "state without a size": ("x = notes.author", "1:5", "no fixed size"),
    "field of 256 bits": ("x = vault.wide", "1:5", "cannot be used"),
    "text argument": ("x = names", "1:5", "cannot be used"),
    "text constant": ("x = self.TITLE", "1:5", "no 'TITLE'"),
    # accounts that may be left out
    "optional account": (
        "helper.deposited = amount",
        "1:1",
        "helper may be None: check it first, as in `if helper is None: raise …`",
    ),
    "account that is never left out": ("x = other is None", "1:5", "never None"),
    "optional account on one side of an or": (
        "require(helper is not None or helper.fee > 1, self.Zero)",
        "1:31",
        "helper may be None",
    ),
    "optional account where it is missing": (
        "if helper is None:\n    x = helper.address",
        "2:9",
        "helper may be None",
    ),
    "optional account in a call": (
        "token_program.transfer(source=pot, destination=tokens, authority=depositor, amount=amount)",
        "1:31",
        "pot may be None",
    ),
    "optional account as a condition": ("if helper:\n    return", "1:4", "not a value"),
    "optional account that is closed": (
        "if helper is not None:\n    close(helper, wallet)",
        "2:11",
        "close takes accounts that are always there",
    ),
    "optional account for which the program would sign": (
        f"if safe is not None:\n    {MOVE.replace('=depositor', '=safe')}",
        "2:73",
        "signs only for accounts that are always there",
    ),
    "bump of an optional account": (
        "if safe is not None:\n    x = safe.bump",
        "2:9",
        "cannot use its bump",
    ),
    "optional account that is opened": (
        "if spot is not None:\n    x = load(self.State, spot)",
        "2:26",
        "always there",
    ),
    "optional account that is shown by a require": (
        "require(helper is not None, self.Zero)\nhelper.deposited = amount",
        "2:1",
        "helper may be None",
    ),
    # calls
    "helper that recurs": ("x = around(amount)", "25:12", "no recursion"),
    "helper without types": ("x = untyped(amount)", "1:5", "has no type"),
    "helper with a default": (
        "x = with_default(amount)",
        "1:5",
        "no decorator, default",
    ),
    "helper with fewer": ("x = half()", "1:5", "takes 1 argument"),
    "helper with another type": ("x = half(small)", "1:10", "expected u64"),
    "helper whose result is lost": ("half(amount)", "1:1", "not used"),
    "helper without a result": ("x = check(amount)", "1:5", "has no value"),
    "require as a value": (
        "x = require(flag, self.Zero)",
        "1:5",
        "statement of its own",
    ),
    "require with fewer": ("require(flag)", "1:1", "takes 2 arguments"),
    "event field left out": (
        "emit(self.Deposited(vault=vault.address))",
        "1:6",
        "needs 'amount'",
    ),
    "event field too many": (
        "emit(self.Deposited(vault=vault.address, amount=amount, who=who))",
        "1:61",
        "has no 'who'",
    ),
    "event field of another type": (
        "emit(self.Deposited(vault=amount, amount=amount))",
        "1:27",
        "expected Pubkey",
    ),
    "no such event": ("emit(self.Nothing(amount=amount))", "1:6", "not an event"),
    "no event": ("emit(amount)", "1:6", "not an event"),
    "nobody signs": (
        "token_program.transfer(source=source, destination=tokens, authority=wallet, amount=amount)",
        "1:69",
        "nobody can sign",
    ),
    "source is only read": (
        "token_program.transfer(source=read, destination=tokens, authority=depositor, amount=amount)",
        "1:31",
        "Mut[",
    ),
    "source holds no tokens": (
        "token_program.transfer(source=wallet, destination=tokens, authority=depositor, amount=amount)",
        "1:31",
        "TokenAccount",
    ),
    "amount of another width": (
        "token_program.transfer(source=source, destination=tokens, authority=depositor, amount=small)",
        "1:87",
        "expected u64",
    ),
    "account that is none": (
        "token_program.transfer(source=amount, destination=tokens, authority=depositor, amount=amount)",
        "1:31",
        "one of the instruction's accounts",
    ),
    "call with a role left out": (
        "token_program.transfer(source=source, destination=tokens, amount=amount)",
        "1:1",
        "needs 'authority'",
    ),
    # data
    "data of state": (
        "require(vault.data[0] == 1, self.Zero)",
        "1:9",
        "has no field 'data'",
    ),
    "data of a program": (
        "x = token_program.data[0]",
        "1:5",
        "is a program or a sysvar",
    ),
    "owner of a sysvar": (
        "require(sysvar.program == depositor.address, self.Zero)",
        "1:9",
        "is a program or a sysvar",
    ),
    "data after a call": (
        f"d = wallet.data\n{MOVE}\nrequire(d[0] == 1, self.Zero)",
        "3:9",
        "again after a call of another program",
    ),
    "data before a loop with calls": (
        f"d = wallet.data\nfor i in range(2):\n    x = d[0]\n    {MOVE}",
        "2:1",
        "reads data itself: 'd' is old",
    ),
    "data as an argument of another type": (
        "x = first(amount)",
        "1:11",
        "expected Data, got u64",
    ),
    "helper that returns data": ("x = rest(wallet.data)", "1:5", "Data is not a type"),
    "data of a signer in a helper": ("x = peek(depositor)", "68:12", "only signs here"),
    "negative offset": ("x = wallet.data[-1]", "1:17", "not negative"),
    "offset of another width": (
        "x = wallet.data[small]",
        "1:17",
        "expected u64, got u8",
    ),
    "offset that is a flag": (
        "x = wallet.data.u16(flag)",
        "1:21",
        "expected u64, got bool",
    ),
    "step of a part": ("x = wallet.data[0:8:2]", "1:21", "no step"),
    "part without bytes": ("x = wallet.data[4:4]", "1:5", "has no bytes"),
    "byte of a number": ("x = amount[0]", "1:5", "expected data, got amount"),
    "number of a number": ("x = amount.u16(0)", "1:5", "expected data, got amount"),
    "length of a number": (
        "require(len(amount) > 1, self.Zero)",
        "1:13",
        "expected data, got amount",
    ),
    "sum with a length": (
        "x = len(wallet.data) + 1",
        "1:5",
        "a length has no such operator",
    ),
    "length without a width": (
        "x = len(wallet.data)",
        "1:5",
        "write u64(len(wallet.data))",
    ),
    "number of a loop without a width": (
        "for i in range(3):\n    x = i",
        "2:9",
        "write u64(i)",
    ),
    "data compared": (
        "require(wallet.data == read.data, self.Zero)",
        "1:24",
        "compare a part with",
    ),
    "bytes compared by order": (
        "require(wallet.data[:2] < b'ab', self.Zero)",
        "1:27",
        "no order",
    ),
    "part of another length": (
        "require(wallet.data[:2] == b'abc', self.Zero)",
        "1:28",
        "Array[u8, 2] and Array[u8, 3] do not mix",
    ),
    "no bytes": (
        "require(wallet.data[:2] == b'', self.Zero)",
        "1:28",
        "expected at least one byte",
    ),
    "read with two offsets": ("x = wallet.data.u16(0, 1)", "1:5", "takes 1 argument"),
    "instructions of a wallet": (
        "x = wallet.data_at(0)[0]",
        "1:5",
        "not the instructions sysvar",
    ),
    "index of another width": (
        "x = sysvar.data_at(amount)[0]",
        "1:20",
        "expected u16, got u64",
    ),
    "unknown call of a program": (
        "token_program.send(amount=amount)",
        "1:1",
        "cannot be called",
    ),
    "call of another program": (
        "wallet.transfer(source=source, destination=tokens, authority=depositor, amount=amount)",
        "1:1",
        "only a token program",
    ),
    "call in a helper": (
        "give_all(tokens, source, depositor, token_program)",
        "56:5",
        "calls no program",
    ),
    "checked transfer without decimals": (
        f"token_2022.transfer_checked(mint=mint, {MOVED})",
        "1:1",
        "needs 'decimals'",
    ),
    "checked transfer of no mint": (
        f"token_2022.transfer_checked(mint=read, {MOVED}, decimals=small)",
        "1:34",
        "is a Mint",
    ),
    # token accounts and mints
    "unknown field of a token account": ("x = tokens.delegat", "1:5", "Did you mean"),
    "field of a wallet": ("x = wallet.amount", "1:5", "no field 'amount'"),
    "field of a mint": ("x = mint.amount", "1:5", "no field 'amount'"),
    "token field assigned": ("tokens.amount = amount", "1:1", "cannot be written"),
    "kind forgotten": (
        "if is_token_account(wallet, token_program):\n    pass\nx = wallet.amount",
        "3:5",
        "no field 'amount'",
    ),
    "kind in the other branch": (
        "if not is_token_account(wallet, token_program):\n    x = wallet.amount",
        "2:9",
        "no field 'amount'",
    ),
    "kind by either": (
        "if flag or is_mint(wallet, token_program):\n    x = wallet.decimals",
        "2:9",
        "no field 'decimals'",
    ),
    "kind in a loop": (
        "for i in range(amount):\n    if not is_mint(wallet, token_program):\n        break\nx = wallet.supply",
        "4:5",
        "no field 'supply'",
    ),
    "kind of no token program": (
        "x = is_mint(wallet, depositor)",
        "1:21",
        "no token program",
    ),
    "kind of a number": (
        "x = is_mint(amount, token_program)",
        "1:13",
        "not an account",
    ),
    "kind with fewer": ("x = is_mint(wallet)", "1:5", "takes 2 arguments"),
    "owner that is no address": (
        "x = is_owned(wallet, amount)",
        "1:22",
        "expected Pubkey",
    ),
    "number that is never None": ("x = amount is None", "1:5", "never None"),
    "address that is never None": ("x = tokens.owner is not None", "1:5", "never None"),
    "address that may be None": (
        "emit(self.Deposited(vault=tokens.delegate, amount=amount))",
        "1:27",
        "may be None: give it a name, and check it first",
    ),
    "order of optional addresses": (
        "x = tokens.delegate < who",
        "1:5",
        "may be None",
    ),
    # values that may be None
    "number that may be None": (
        "vault.deposited = limit",
        "1:19",
        "limit may be None: check it first, as in `if limit is None: raise …`",
    ),
    "sum with a number that may be None": ("x = amount + limit", "1:14", "may be None"),
    "order of a number that may be None": (
        "require(limit < amount, self.Zero)",
        "1:9",
        "may be None",
    ),
    "conversion of what may be None": ("x = u128(limit)", "1:10", "may be None"),
    "field of what may be None": ("x = deal.left", "1:5", "deal may be None"),
    "flag that may be None": ("if sure:\n    return", "1:4", "sure may be None"),
    "case None of a number": (
        "match amount:\n    case None:\n        return",
        "1:7",
        "never None",
    ),
    "case True": ("match flag:\n    case True:\n        return", "2:10", "a case is"),
    "case after all variants and None": (
        "match mood:\n    case None | Mode.Slow | Mode.Fast | Mode.Wide:\n        return\n    case _:\n        return",
        "2:10",
        "no case comes after",
    ),
    "range up to what may be None": (
        "for i in range(limit):\n    pass",
        "1:16",
        "may be None",
    ),
    "wrapping sum of what may be None": (
        "x = limit.wrapping_add(amount)",
        "1:5",
        "limit may be None",
    ),
    "minimum of what may be None": ("x = min(amount, limit)", "1:17", "may be None"),
    "argument that may be None": ("x = half(limit)", "1:10", "limit may be None"),
    "check on one side of an or": (
        "require(limit is not None or limit > 3, self.Zero)",
        "1:30",
        "limit may be None",
    ),
    "check in the other branch": (
        "if limit is None:\n    vault.deposited = limit\nelse:\n    vault.deposited = limit",
        "2:23",
        "limit may be None",
    ),
    "check by a require, which type checkers do not follow": (
        "require(limit is not None, self.Zero)\nvault.deposited = limit",
        "2:19",
        "limit may be None",
    ),
    "check before another value": (
        "x: u64 | None = amount\nif flag:\n    x = limit\nvault.deposited = x",
        "4:19",
        "x may be None",
    ),
    "check before a loop that takes the value away": (
        "x: u64 | None = amount\nfor i in range(3):\n    vault.deposited = x\n    x = None",
        "3:23",
        "x may be None",
    ),
    "check in a loop that may run no time": (
        "x: u64 | None = limit\nfor i in range(3):\n    x = amount\nvault.deposited = x",
        "4:19",
        "x may be None",
    ),
    "check of a field": (
        "if tokens.delegate is None:\n    raise self.Zero\nvault.authority = tokens.delegate",
        "3:19",
        "give it a name",
    ),
    "None beside None": ("x = None if flag else None", "1:5", "other side"),
    "None that is compared": ("x = limit == None", "1:14", "`is None`"),
    "None as a number": ("vault.deposited = None", "1:19", "expected u64, got None"),
    "optional value with another width": (
        "x: u64 | None = small",
        "1:17",
        "expected u64 | None, got u8",
    ),
    "optional value without a width": ("x: u64 | None = 5", "1:17", "write u64(5)"),
    "second type for a variable": (
        "x: u64 | None = None\nx: u64 = amount",
        "2:1",
        "'x' is u64 | None already",
    ),
    "optional value of another optional one": (
        "x: u64 | None = tiny",
        "1:17",
        "got u8 | None",
    ),
    "None for a variable that has a value": (
        "x = amount\nx = None",
        "2:5",
        "None has no type",
    ),
    "bytes that may be None": ("x = maybe_mark", "1:5", "cannot be used in a body yet"),
    "extensions of a wallet": (
        "for e in extensions(wallet):\n    pass",
        "1:21",
        "neither a token",
    ),
    "extensions as a value": ("x = extensions(mint)", "1:5", "statement of its own"),
    "extension that is kept": (
        "for e in extensions(mint):\n    x = e",
        "2:9",
        "not kept",
    ),
    "extension afterwards": (
        "for e in extensions(mint):\n    pass\nx = e.kind",
        "3:5",
        "every path",
    ),
    "unknown field of an extension": (
        "for e in extensions(mint):\n    x = e.data",
        "2:9",
        "no 'data'",
    ),
    "call in a loop over extensions": (
        f"for e in extensions(mint):\n    token_program.transfer({MOVED})",
        "1:1",
        "calls no program",
    ),
    "zeros up to a number": (
        "for e in extensions(mint):\n    x = e.is_zero(0, amount)",
        "2:9",
        "two written numbers",
    ),
    "zeros of nothing": (
        "for e in extensions(mint):\n    x = e.is_zero(4, 4)",
        "2:9",
        "two written numbers",
    ),
    "zeros of a number": ("x = amount.is_zero(0, 4)", "1:5", "no is_zero"),
    # hashes
    "hash of nothing": ("vault.mark = sha256()", "1:14", "by position"),
    "hash of a number without a width": (
        "vault.mark = sha256(amount, 5)",
        "1:29",
        "no width",
    ),
    "hash of a struct": ("vault.mark = sha256(pair)", "1:21", "not Pair"),
    "hash of a variant": ("vault.mark = sha256(mode)", "1:21", "not Mode"),
    "hash of a turn": (
        "for i in range(3):\n    vault.mark = sha256(i)",
        "2:25",
        "no width",
    ),
    "hash of what may be nothing": (
        "vault.mark = sha256(tokens.delegate)",
        "1:21",
        "| None",
    ),
    "hash as a number": ("vault.deposited = sha256(amount)", "1:19", "expected u64"),
    "hash that is lost": ("sha256(amount)", "1:1", "not used"),
    "curve of a number": (
        "require(is_on_curve(amount), self.Zero)",
        "1:21",
        "expected Pubkey",
    ),
    # events by calls
    "event by a call without accounts": (
        "emit_cpi(self.Deposited(vault=who, amount=amount))",
        "1:1",
        "authority= and program=",
    ),
    "event by a call to another program": (
        "emit_cpi(self.Deposited(vault=who, amount=amount), authority=vault, program=token_2022)",
        "1:77",
        "not the program itself",
    ),
    "event by a call that nobody signs": (
        "emit_cpi(self.Deposited(vault=who, amount=amount), authority=wallet, program=this)",
        "1:62",
        "no seeds of this program",
    ),
    "event by a call that nothing takes": (
        "emit_cpi(self.Deposited(vault=who, amount=amount), authority=keeper, program=this)",
        "1:1",
        "no instruction takes events",
    ),
    "event by a call without an event": (
        "emit_cpi(amount, authority=vault, program=token_2022)",
        "1:10",
        "not an event",
    ),
    # lists
    "list as a value": ("x = gains", "1:5", "go over it"),
    "list that is kept": ("x: list[u64] = amount", "1:4", "cannot be used"),
    "list of lists": ("for x in names:\n    pass", "1:10", "a loop goes over"),
    "item by its place": ("x = gains[0]", "1:5", "go over it"),
    "item that is assigned": (
        "for x in gains:\n    x = amount",
        "2:5",
        "variable of a loop",
    ),
    "item with another's name": (
        "x = amount\nfor x in gains:\n    pass",
        "2:5",
        "another name",
    ),
    "item after the loop": (
        "for x in gains:\n    pass\nvault.deposited = x",
        "3:19",
        "no value",
    ),
    "enumerate with one name": (
        "for x in enumerate(gains):\n    pass",
        "1:5",
        "two names",
    ),
    "two names without enumerate": ("for i, x in gains:\n    pass", "1:5", "a name"),
    "enumerate an address": (
        "for i, x in enumerate(who):\n    pass",
        "1:23",
        "expected a list to enumerate, got who",
    ),
    "number of an item": (
        "for i, x in enumerate(gains):\n    vault.deposited = i",
        "2:23",
        "expected u64, got the number of a loop",
    ),
    "helper with another list": ("x = sum_of(pairs)", "1:12", "list[u64]"),
    "helper with a number as list": ("x = sum_of(amount)", "1:12", "list[u64]"),
    "helper that returns a list": ("x = all_of(gains)", "1:5", "list[u64]"),
    "hash of accounts": ("vault.mark = sha256(voters)", "1:21", "go over it"),
    "accounts as a value": ("x = voters", "1:5", "go over it"),
    "account that is kept": (
        "for v in voters:\n    x = v",
        "2:9",
        "an account is not a value",
    ),
    "account that is assigned": (
        "for v in voters:\n    v = amount",
        "2:5",
        "'v' is a parameter",
    ),
    "account after the loop": (
        "for v in voters:\n    pass\nvault.authority = v.address",
        "3:19",
        "no value",
    ),
    "account in two loops at once": (
        "for v in voters:\n    for v in voters:\n        pass",
        "2:9",
        "'v' is a parameter",
    ),
    "tokens of such an account": (
        "for v in voters:\n    x = v.amount",
        "2:9",
        "v has no field 'amount'",
    ),
    "such an account that is not written": (
        "for v in voters:\n    token_program.approve(source=v, delegate=v, owner=v, amount=amount)",
        "2:34",
        "source is written: declare v as Mut[…]",
    ),
    "such an account that is closed": (
        "for v in voters:\n    close(v, wallet)",
        "2:11",
        "v is written: declare it as Mut[…]",
    ),
    "accounts that a helper takes": ("x = sum_of(voters)", "1:12", "list[u64]"),
    "zip of different lengths": (
        "for v, g in zip(voters, gains):\n    pass",
        "1:13",
        "write zip(…, strict=True)",
    ),
    "zip that is not strict": (
        "for v, g in zip(voters, gains, strict=False):\n    pass",
        "1:13",
        "write zip(…, strict=True)",
    ),
    "zip of one": (
        "for v in zip(voters, strict=True):\n    pass",
        "1:10",
        "two sequences or more",
    ),
    "zip of a number": (
        "for v, g in zip(voters, amount, strict=True):\n    pass",
        "1:25",
        "expected a list or accounts to zip, got amount",
    ),
    "zip with one name": (
        "for v in zip(voters, gains, strict=True):\n    pass",
        "1:5",
        "two names, as in `for a, b in zip(…)`",
    ),
    "zip outside of a loop": (
        "x = zip(voters, gains, strict=True)",
        "1:5",
        "zip(…) is a statement of its own",
    ),
    "numbers of a zip": (
        "for i, p in enumerate(zip(voters, gains, strict=True)):\n    pass",
        "1:23",
        "expected a list to enumerate",
    ),
    "address without a program": (
        "x = find_program_address(who)",
        "1:5",
        "program= by name",
    ),
    "address without seeds": (
        "x = find_program_address(program=who)",
        "1:5",
        "1 to 15",
    ),
    "seed without a width": (
        "x = find_program_address(5, program=who)",
        "1:26",
        "write u64(5)",
    ),
    "seed of 33 bytes": (
        f"x = find_program_address({bytes(33)!r}, program=who)",
        "1:26",
        "at most 32 bytes",
    ),
    "seed that is a list": (
        "x = find_program_address(gains, program=who)",
        "1:26",
        "go over it",
    ),
    "seed that is a struct": (
        "x = find_program_address(pair, program=who)",
        "1:26",
        "not Pair",
    ),
    "address of a number": (
        "x = find_program_address(who, program=amount)",
        "1:39",
        "expected Pubkey",
    ),
    "associated account of another program": (
        "associated.transfer(source=source)",
        "1:1",
        "associated.transfer(…) cannot be called",
    ),
    "associated account without a mint": (
        create().replace("mint=mint, ", ""),
        "1:1",
        "mint",
    ),
    "associated account that is only read": (
        create(account="read"),
        "1:51",
        "account is written: declare read as Mut[…]",
    ),
    "associated account whose payer does not sign": (
        create(payer="wallet"),
        "1:36",
        "wallet neither signs nor has seeds",
    ),
    "associated account whose payer is only read": (
        create(payer="depositor"),
        "1:36",
        "payer is written: declare depositor as Mut[…]",
    ),
    "associated account of no mint": (
        create(mint="tokens"),
        "1:77",
        "mint is a Mint, which tokens is not",
    ),
    "associated account without the system program": (
        create(system_program="token_program"),
        "1:98",
        "expected SystemProgram as system_program, got token_program: declare",
    ),
    "associated account without a token program": (
        create(token_program="this"),
        "1:128",
        "expected TokenInterface as token_program, got this",
    ),
    "associated account of any program": (
        create(token_program="loose"),
        "1:128",
        "expected TokenInterface as token_program, got loose",
    ),
    "order of a number and an address": (
        "require(is_before(who, amount), self.Zero)",
        "1:24",
        "expected Pubkey, got u64",
    ),
    # all and any
    "all of numbers": (
        "require(all(gains), self.Zero)",
        "1:13",
        "all(…) takes conditions, as in all(x > 0 for x in items)",
    ),
    "any of a value": ("x = any(flag)", "1:9", "any(…) takes conditions"),
    "any of two": ("x = any(flag, flag)", "1:5", "takes 1 argument by position"),
    "all of a list that is made": (
        "x = all([g > 0 for g in gains])",
        "1:9",
        "all(…) takes conditions",
    ),
    "any of numbers": (
        "x = any(g for g in gains)",
        "1:9",
        "a number is not a condition: write g != 0",
    ),
    "any of values that may be None": (
        "x = any(limit for g in gains)",
        "1:9",
        "write limit is not None",
    ),
    "filter that is a number": (
        "x = all(g > 1 for g in gains if g)",
        "1:33",
        "a number is not a condition: write g != 0",
    ),
    "any over two lists": (
        "x = any(g > h for g in gains for h in gains)",
        "1:34",
        "write the other as all(…) or any(…) inside it",
    ),
    "any with one name for two": (
        "x = any(g > 1 for g, g in zip(gains, gains, strict=True))",
        "1:22",
        "'g' is another variable of this loop",
    ),
    "for with one name for two": (
        "for v, v in zip(voters, voters, strict=True):\n    vault.authority = v.address",
        "1:8",
        "give each a name of its own",
    ),
    "for that takes items apart": (
        "for (g,) in gains:\n    vault.deposited = g",
        "1:5",
        "the variable of a loop is a name",
    ),
    "any that takes items apart": (
        "x = any(u64(i) > 1 for i, in range(3))",
        "1:24",
        "the variable of a loop is a name",
    ),
    "any over a value": (
        "x = any(g > 1 for g in who)",
        "1:24",
        "a loop goes over range(…)",
    ),
    "any over a list that is made": (
        "x = any(g > 1 for g in [amount])",
        "1:24",
        "a loop goes over range(…)",
    ),
    "any over lists of different lengths": (
        "x = any(g > 1 for g, p in zip(gains, pairs))",
        "1:27",
        "write zip(…, strict=True)",
    ),
    "any with two names": (
        "x = any(g > 1 for g, h in gains)",
        "1:19",
        "the variable of a loop is a name",
    ),
    "any with a field as its variable": (
        "x = any(flag for vault.fee in gains)",
        "1:18",
        "the variable of a loop is a name",
    ),
    "any with an account's name": (
        "x = any(vault > 1 for vault in gains)",
        "1:23",
        "'vault' is a parameter",
    ),
    "any with the name of a value": (
        "g = amount\nx = any(g > 1 for g in gains)",
        "2:19",
        "'g' has a value: give the loop another name",
    ),
    "any with the name of a loop around it": (
        "for g in gains:\n    x = any(g > 1 for g in gains)",
        "2:23",
        "'g' has a value: give the loop another name",
    ),
    "any with a name of another type": (
        "x = any(g > 1 for g in gains)\ny = any(g for g in ticks)",
        "2:15",
        "'g' is u64 elsewhere, not bool: give the loop another name",
    ),
    "value of an item afterwards": (
        "x = any(g > 1 for g in gains)\nvault.deposited = g",
        "2:19",
        "'g' is not known here",
    ),
    "item of the other any": (
        "x = any(g > 1 for g in gains) and g > 1",
        "1:35",
        "'g' is not known here",
    ),
    "item in what it goes over": (
        "x = any(n > 1 for n in range(n))",
        "1:30",
        "'n' may have no value here",
    ),
    "account of an any afterwards": (
        "x = any(v.address == who for v in voters)\nvault.authority = v.address",
        "2:19",
        "'v' is not known here",
    ),
    "helper that writes in an any": (
        "x = any(put(vault, g) > 1 for g in gains)",
        "1:9",
        "assign its result first",
    ),
    "number of a turn in an all": (
        "x = all(i < amount for i in range(4))",
        "1:13",
        "write u64(i)",
    ),
    "comprehension that awaits": (
        "x = any(g > 1 async for g in gains)",
        "1:25",
        "no async",
    ),
    "generator": (
        "x = (g for g in gains)",
        "1:5",
        "bodies have comprehensions only in all(…) and any(…)",
    ),
    "comprehension of a dict": ("x = {g: g for g in gains}", "1:5", "comprehensions"),
    "comprehension of a set": ("x = {g for g in gains}", "1:5", "comprehensions"),
    "sum of a list": ("x = sum(gains)", "1:5", "no sum: write a loop"),
    "parameter that is called": (
        "x = flag(gains)",
        "1:5",
        "'flag' is a parameter or a variable here, not a function",
    ),
    "bytes that are kept": (
        "x = encoded(gains)",
        "1:5",
        "hashed at once, as in sha256(encoded(items))",
    ),
    "bytes of a struct": (
        "vault.mark = sha256(encoded(pair))",
        "1:29",
        "sha256 takes numbers, flags, addresses, bytes and lists, not Pair",
    ),
    "bytes of two values": (
        "vault.mark = sha256(encoded(amount, who))",
        "1:21",
        "encoded(…) takes 1 argument by position",
    ),
    # helpers with accounts
    "helper with another kind": ("x = decimals_of(tokens)", "1:17", "expected a Mint"),
    "helper with a number as account": (
        "x = decimals_of(amount)",
        "1:17",
        "not an account",
    ),
    "helper with a wallet that does not sign": (
        "x = signed_by(wallet)",
        "1:15",
        "a Signer",
    ),
}


def refusals(folder: Path, body: str, spec: str = SPEC) -> list[str]:
    """The refusals of a spec with *body*, each as "line:column: why", lines counted from the body's first."""
    file = folder / "spec.py"
    file.write_text(spec_with(body, spec), encoding="utf-8")
    with pytest.raises(McpsolError) as caught:
        read_spec(file)
    error = caught.value
    found = error.findings if isinstance(error, InvalidProgram) else [error]
    return [_shown(item, file) for item in found]


def accepted(folder: Path, body: str) -> ProgramModel:
    """The model of a spec with *body*, which is not refused."""
    file = folder / "spec.py"
    file.write_text(spec_with(body, SPEC), encoding="utf-8")
    return read_spec(file)


def spec_with(body: str, spec: str) -> str:
    """The text of a spec that ends with *body*."""
    return spec + "".join(f"{INDENT}{line}\n" for line in body.splitlines())


def _shown(item: object, file: Path) -> str:
    assert isinstance(item, SourceError)
    name, line, column = item.origin.rsplit(":", 2)
    assert name == str(file)
    inside = int(line) >= FIRST_LINE
    place = (
        f"{int(line) - FIRST_LINE + 1}:{int(column) - len(INDENT)}"
        if inside
        else f"{line}:{column}"
    )
    return f"{place}: {item.text}"


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_at_its_place(name: str, tmp_path: Path) -> None:
    body, place, why = REFUSED[name]
    found = refusals(tmp_path, body)
    assert len(found) == 1, found
    assert found[0].startswith(f"{place}: "), found
    assert why in found[0]


def test_every_refusal_is_reported_at_once(tmp_path: Path) -> None:
    body = (
        "x = 5\nvault.deposit = amount\nassert flag\nif amount:\n    y = small + amount"
    )
    places = [text.split(": ")[0] for text in refusals(tmp_path, body)]
    assert places == ["1:5", "2:1", "3:1", "4:4", "5:17"]


def test_a_refused_name_is_reported_once(tmp_path: Path) -> None:
    assert len(refusals(tmp_path, "x = amuont\ny = x + 1\nvault.deposited = y")) == 1


def test_a_helper_returns_on_every_path(tmp_path: Path) -> None:
    [found] = refusals(tmp_path, "require(sometimes(amount) > 0, self.Zero)")
    assert "sometimes may end without a return value" in found


@pytest.mark.parametrize(
    ("text", "value"), [("60 - 24", 36), ("60 + 24", 84), ("60 * 24", 1440)]
)
def test_numbers_that_are_written_out_are_counted(
    text: str, value: int, tmp_path: Path
) -> None:
    file = tmp_path / "spec.py"
    body = f"require(amount < {text}, self.Zero)"
    file.write_text(f"{SPEC}{INDENT}{body}\n", encoding="utf-8")
    bodies = bodies_of(read_spec(file)).instructions.values()
    [number] = (node for body in bodies for node in find(body.body, NumberValue))
    assert number.value == value


def test_columns_count_characters(tmp_path: Path) -> None:
    [found] = refusals(tmp_path, "require('ä' == 'ö', self.Zero); x = 5")[-1:]
    assert found.startswith("1:37: ")


def test_lines_end_where_python_ends_them(tmp_path: Path) -> None:
    spec = SPEC.replace("u64(1000)", "u64(1000)  # \x0c and \u2028")
    [found] = refusals(tmp_path, "require('ä' == 'ö', self.Zero); x = 5", spec)[-1:]
    assert found.startswith("1:37: ")


@pytest.mark.parametrize("start", ["\ufeff", "# coding: latin-1\n# ä\n"])
def test_a_spec_is_read_as_python_reads_it(start: str, tmp_path: Path) -> None:
    file = tmp_path / "spec.py"
    text = start + spec_with("vault.deposited = amount", SPEC)
    file.write_bytes(text.encode("latin-1" if "latin" in start else "utf-8"))
    assert bodies_of(read_spec(file)).instructions


#: As REFUSED, with accounts after the named ones that hold state.
REFUSED_STATE: dict[str, tuple[str, str, str]] = {
    "state that is written": (
        "for v in voters:\n    v.deposited = amount",
        "2:5",
        "is only read",
    ),
    "state that a helper writes": (
        "for v in voters:\n    x = put(v, amount)",
        "2:13",
        "is only read",
    ),
    "state that is closed in a loop": (
        "for v in voters:\n    close(v, wallet)",
        "2:5",
        "a loop cannot close an account",
    ),
    "another type of state": (
        "for v in voters:\n    x = v.lines",
        "2:9",
        "v has no field 'lines'",
    ),
    "bytes of state": ("for v in voters:\n    x = v.data", "2:9", "no field 'data'"),
}


#: Ways to know that a value that may be None is there.
KNOWN_TO_BE_THERE = [
    "if limit is None:\n    raise self.Zero\nvault.deposited = limit",
    "if limit is not None:\n    vault.deposited += limit",
    "require(limit is None or limit < amount, self.Zero)",
    "require(limit is not None and half(limit) > 3, self.Zero)",
    "x = limit if limit is not None else amount\nvault.deposited = x",
    "if limit is None or tiny is None:\n    return\nvault.deposited = limit + u64(tiny)",
    "x: u64 | None = None\nif x is None:\n    x = amount\nvault.deposited = x",
    "x: u64 | None = limit\nif flag:\n    x = amount\nelse:\n    x = half(amount)\nvault.deposited = x",
    "for i in range(3):\n    if limit is None:\n        continue\n    vault.deposited = limit",
    "match mood:\n    case None:\n        return\n    case _:\n        pass\nvault.mark = mark",
    "if deal is None:\n    return\nvault.deposited = deal.left",
    "x = tokens.delegate\nif x is None:\n    raise self.Zero\nvault.authority = x",
    "if helper is not None and helper.fee > 1:\n    helper.deposited += amount\n    x = put(helper, amount)",
    "x: Pubkey | None = vault.heir\nif x == vault.heir:\n    vault.heir = x",
    "vault.mode = mode\nvault.best = Score(left=vault.best.left + amount, mode=vault.mode)",
    "vault.heir = who\nvault.heir = None\nx = vault.heir\nif x is not None:\n    vault.authority = x",
    "match vault.mode:\n    case Mode.Slow:\n        vault.heir = other.heir\n    case _:\n        return",
    "if helper is None:\n    return\nvault.fee = fee_of(helper)",
    f"if pot is not None:\n    {MOVE.replace('source=source', 'source=pot')}",
]


#: Ways to close an account on one path, and to use it on another.
CLOSED_ELSEWHERE = [
    "if amount == 0:\n    close(vault, wallet)\n    return\nvault.deposited -= amount",
    "if flag:\n    close(vault, wallet)\n    raise self.Zero\nvault.fee = fee_of(vault)",
    "if flag:\n    vault.fee = u32(1)\nelse:\n    close(vault, wallet)",
    "if flag:\n    close(vault, wallet)\nelse:\n    close(vault, payer)",
    "if flag:\n    vault.fee = u32(1)\n    return\nclose(vault, wallet)",
    "match mode:\n    case Mode.Slow:\n        close(vault, wallet)\n    case _:\n        vault.fee = u32(1)",
]


LOOPS = [
    "for i in range(3):\n    pass\nfor i, g in enumerate(gains):\n    vault.deposited = g",
    "for i, g in enumerate(gains):\n    vault.deposited = g\nfor i in range(3):\n    pass",
    "for i, g in enumerate(gains):\n    pass\nfor i, p in enumerate(pairs):\n    vault.deposited = u64(i)",
]


def test_each_loop_with_a_name_of_another_type_has_the_same_reason(
    tmp_path: Path,
) -> None:
    found = refusals(
        tmp_path,
        "x = any(p.left > 1 for p in pairs)\ny = any(p > 1 for p in gains) or any(p > 2 for p in gains)",
    )
    assert len(found) == 2
    assert all("'p' is Pair elsewhere, not u64" in each for each in found), found


#: Conditions on all items or on any.
QUANTIFIED = [
    "vault.is_open = all(ticks)",
    "vault.is_open = any(not t for t in ticks)",
    "require(all(g > 0 and half(g) < amount for g in gains), self.Zero)",
    "x = any(v.address == who for v in voters) and any(v.address != who for v in voters)",
    "x = any(g == amount for g in gains)\ny = any(g > 1 for g in gains)",
    "for g in gains:\n    require(g > 0, self.Zero)\nx = any(g > 1 for g in gains)",
    "x = any(g > 1 for g in gains)\nfor g in gains:\n    vault.deposited = g",
    "x = any(LIMIT > 1 for LIMIT in gains)\nvault.deposited = LIMIT",
    "x = any(g == p.left for g, p in zip(gains, pairs, strict=True) if p.mode == mode)",
    "x = all(u64(i) < g or flag for i, g in enumerate(gains))",
    "x = all(any(p.left == g for p in pairs) for g in gains)",
    "x = all(limit < g for g in gains if limit is not None)",
    "x = any(limit < g for g in gains if limit is not None)",
    "if any(e.kind == 1 for e in extensions(mint)):\n    raise self.Zero",
    "for i in range(small):\n    if all(n >= i for n in range(u8(i), small)):\n        break",
    "vault.mark = sha256(encoded(gains), encoded(amount), who)",
]


@pytest.mark.parametrize("body", QUANTIFIED)
def test_conditions_on_items(body: str, tmp_path: Path) -> None:
    assert accepted(tmp_path, body).instructions


@pytest.mark.parametrize("body", LOOPS)
def test_loops_may_count_by_one_name(body: str, tmp_path: Path) -> None:
    assert accepted(tmp_path, body).instructions


def test_a_helper_is_told_the_name_of_the_program(tmp_path: Path) -> None:
    spec = SPEC.replace(
        "require(value > 0, Vault.Zero)", "require(value > 0, self.Zero)"
    )
    [found] = refusals(tmp_path, "check(amount)", spec)
    assert (
        "self.Zero is not an error of the program. Did you mean 'Vault.Zero'?" in found
    )


@pytest.mark.parametrize("body", CLOSED_ELSEWHERE)
def test_an_account_is_closed_on_the_paths_that_close_it(
    body: str, tmp_path: Path
) -> None:
    assert accepted(tmp_path, body).instructions


@pytest.mark.parametrize("body", KNOWN_TO_BE_THERE)
def test_a_value_that_was_checked_is_there(body: str, tmp_path: Path) -> None:
    assert accepted(tmp_path, body).instructions


@pytest.mark.parametrize(
    ("first", "last", "field"),
    [
        ("is_mint", "is_token_account", "amount"),
        ("is_token_account", "is_mint", "supply"),
    ],
)
@pytest.mark.parametrize("joint", [":\n    if ", " and "])
def test_of_two_kinds_the_last_that_was_shown_counts(
    first: str, last: str, field: str, joint: str, tmp_path: Path
) -> None:
    """No account is both, so what follows never runs; it has one meaning all the same."""
    conditions = (f"{kind}(wallet, token_program)" for kind in (first, last))
    body = f"if {joint.join(conditions)}:\n        vault.deposited = wallet.{field}"
    assert accepted(tmp_path, body).instructions


@pytest.mark.parametrize("name", REFUSED_STATE)
def test_state_after_the_named_accounts_is_only_read(name: str, tmp_path: Path) -> None:
    body, place, why = REFUSED_STATE[name]
    text = SPEC.replace("*voters: Signer", "*voters: Mut[State, ...]")
    (found,) = refusals(tmp_path, body, text)
    assert found.startswith(f"{place}: ")
    assert why in found


def test_what_accounts_after_the_named_ones_are_they_are_in_a_loop(
    tmp_path: Path,
) -> None:
    body = (
        "for v, g in zip(voters, gains, strict=True):\n"
        "    if is_before(vault.authority, v.address):\n"
        "        vault.deposited += fee_sum(v) + v.deposited + g"
    )
    text = SPEC.replace("*voters: Signer", "*voters: State")
    text = text.replace("class Mode", FEE_SUM + "class Mode", 1)
    file = tmp_path / "spec.py"
    file.write_text(spec_with(body, text), encoding="utf-8")
    assert read_spec(file).instructions
    body = (
        "for v in voters:\n"
        "    token_program.transfer(source=source, destination=v, authority=depositor, amount=v.amount)"
    )
    text = SPEC.replace("*voters: Signer", "*voters: Mut[TokenAccount, ...]")
    file.write_text(spec_with(body, text), encoding="utf-8")
    assert read_spec(file).instructions


FEE_SUM = """\
def fee_sum(state: "Vault.State") -> u64:
    return u64(state.fee)


"""

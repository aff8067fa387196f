"""Random method bodies, well typed: every row of the language table, as one spec with many instructions."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

KINDS = [f"{sign}{bits}" for sign in "ui" for bits in (8, 16, 32, 64, 128)]
ERRORS = 5
HEAD = """\
from mcpsol_py.spec import *
from mcpsol_py.spec import u8, u16, u32, u64, u128, i8, i16, i32, i64, i128

ADDRESS = "J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb"
LIMIT = u64(1000)
HOUR = 60 * 60
TWO = b"\\x02\\x00"
NOBODY = Pubkey("J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")


class Mode(Enum):
    Slow = variant()
    Fast = variant()
    Off = variant()


class Pair(Struct):
    left: u64
    right: i64
    mode: Mode
    last: u64 | None


class Score(Struct):
    best: u64
    stage: Mode
    is_last: bool


def share(amount: u64, part: u64) -> u64:
    with overflow(Random.E1):
        return amount // 100 * part


def larger(left: i64, right: i64) -> i64:
    if left > right:
        return left
    return right + share_of_one(right)


def share_of_one(value: i64) -> i64:
    require(value != 7, Random.E2)
    return value - value + 1


def must_differ(left: Pubkey, right: Pubkey) -> None:
    require(left != right, Random.E0)


def mode_of(value: u64) -> Mode:
    match value:
        case 0:
            return Mode.Slow
        case 1 | 2 | 18446744073709551615:
            return Mode.Fast
        case _:
            return Mode.Off


def sum_of(data: Data, at: u64, who: Pubkey) -> u64:
    if len(data) < 40 or data.pubkey(8) != who:
        return u64(len(data))
    found = data.u64(at)
    for i in range(u64(len(data))):
        if u64(i) > 5:
            break
        found = found.wrapping_add(u64(data[u64(i)]))
    rest = data[at:]
    return found.saturating_add(u64(rest[0])) ^ u64(rest.u16(1))


def mixed(one: Data, other: Data, at: u64, wide: u128, who: Pubkey) -> u64:
    part = one[2:at]
    same = part[0:2] == other[0:2] or who == other.pubkey(at)
    return at ^ u64(len(part)) if same else u64(wide)


def or_else(value: u64 | None, other: u64) -> u64:
    return other if value is None else value


def kept(value: u64, most: u64) -> u64 | None:
    if value > most:
        return None
    return value if value != 3 else None


def mode_or(mode: Mode | None, other: Mode) -> Mode:
    if mode is not None:
        return mode
    return other


def guest_of(guest: Pubkey | None, sure: bool | None) -> Pubkey | None:
    if guest is None or sure is None:
        return NOBODY
    return guest if sure else None


def total(s: "Random.S") -> u64:
    return s.f_u64 + u64(s.f_u32)


def pair_of(s: "Random.S", left: u64) -> Pair:
    with overflow(Random.E3):
        return Pair(right=s.f_i64 + 1, mode=mode_of(total(s)), left=left, last=kept(left, s.f_u64))


def weight(pair: Pair) -> u64:
    match pair.mode:
        case Mode.Slow:
            found = u64(1)
        case Mode.Fast | Mode.Off:
            found = pair.left
    return found


def weights(pairs: list[Pair], most: u64, keys: list[Pubkey]) -> u64:
    found = u64(len(keys))
    for i, one in enumerate(pairs):
        if u64(i) >= most:
            break
        for j, other in enumerate(pairs):
            if j == i:
                break
            require(one.left != other.left, Random.E2)
        found = found.wrapping_add(weight(one)).wrapping_mul(u64(i) + 1)
    return found


def knows(keys: list[Pubkey], who: Pubkey) -> bool:
    return any(key == who for key in keys) or all(who != key for key in keys if key != NOBODY)


def scored(s: "Random.S", is_last: bool) -> Score:
    return Score(best=s.score.best, is_last=is_last, stage=s.stage)


def rescore(s: "Mut[Random.S, ...]", score: Score) -> None:
    if score.best > s.score.best or s.stage != score.stage:
        s.score = score
    s.stage = score.stage


def bump(by: u64, s: "Mut[Random.S, ...]", left: u64) -> u64:
    s.f_u64 += by
    require(left != 3, Random.E4)
    return s.f_u64 ^ left


def reset(s: "Mut[Random.S, ...]", other: "Random.S") -> None:
    s.open = s.owner == other.owner
    if s.open and s.mark != other.mark:
        s.mark = other.mark
        s.f_u8 = s.f_u8.wrapping_add(u8(total(other) % 256))


def seen(mint: Mint, tokens: TokenAccount) -> u64:
    found = u64(mint.decimals)
    for extension in extensions(mint):
        match extension.kind:
            case 1 | 3:
                found += 1
            case 14:
                require(not extension.is_zero(1, 3), Random.E1)
            case 65535:
                return found.wrapping_add(u64(100))
            case _:
                found = found.wrapping_mul(3).wrapping_add(tokens.amount)
    return found


def may_take(tokens: TokenAccount, who: Pubkey) -> u64:
    if tokens.delegate is not None and tokens.delegate == who:
        return tokens.delegated_amount
    return tokens.amount if tokens.owner == who else u64(0)


def held_by(thing: Unchecked, token_program: TokenInterface) -> u64:
    if not is_token_account(thing, token_program):
        return u64(7) if is_owned(thing, NOBODY) else u64(9)
    return thing.amount


@program(name="random", address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
class Random:
    class S(Account):
        owner: Pubkey
        open: bool
        mark: Array[u8, 32]
        stage: Mode
        score: Score
"""
#: What state holds where Anchor does not write it.
OPTIONS = """\
        heir: COption[Pubkey]
        most: COption[u64]
        held: COption[Score]
"""


def low(kind: str) -> int:
    return -(1 << (int(kind[1:]) - 1)) if kind[0] == "i" else 0


def high(kind: str) -> int:
    return low(kind) + (1 << int(kind[1:])) - 1


def bare(value: str, kind: str) -> str:
    """An expression without conversions to the type that it has."""
    while value.startswith(f"{kind}("):
        value = value[len(kind) + 1 : -1]
    return value


@dataclass
class Bodies:
    """Makes the statements and expressions of one body. `env`: names of values by type."""

    r: random.Random
    target: str = "pinocchio"
    made: int = 0
    lines: list[str] = field(default_factory=list)
    #: no program is called here
    quiet: bool = False
    #: what the accounts after the named ones are
    crowd: str = "Unchecked"

    # --- expressions

    def literal(self, kind: str) -> str:
        near = [
            0,
            1,
            2,
            3,
            7,
            10,
            high(kind),
            high(kind) - 1,
            low(kind) if kind[0] == "u" else -1,
        ]
        some = self.r.choice([1, 2, 5, self.r.randint(0, min(high(kind), 100))])
        return str(self.r.choice(near) if self.r.random() < 0.5 else some)

    def atom(self, kind: str, env: dict[str, str]) -> str:
        have = [name for name, found in env.items() if found == kind]
        if have and self.r.random() < 0.8:
            return self.r.choice(have)
        return f"{kind}({self.literal(kind)})"

    def number(self, kind: str, env: dict[str, str], depth: int) -> str:
        r = self.r
        if depth <= 0 or r.random() < 0.25:
            return self.atom(kind, env)
        makers = [
            self.operator,
            self.operator,
            self.method,
            self.method,
            self.conversion,
        ]
        makers += [self.end, self.choice, self.min_max, self.special, self.special]
        makers += [self.special] * 5 if kind in ("u64", "u8") else []
        return r.choice(makers)(kind, env, depth - 1)

    def operator(self, kind: str, env: dict[str, str], depth: int) -> str:
        signs = ["+", "-", "&", "|", "^"]
        signs += [] if kind == "i128" else ["*"]
        signs += ["//", "%", "//", "%"] if kind[0] == "u" else []
        left, right = self.number(kind, env, depth), self.number(kind, env, depth)
        which = self.r.random()
        if which < 0.15:
            left = self.literal(kind)
        elif which < 0.4:
            right = self.literal(kind)
        return f"({left} {self.r.choice(signs)} {right})"

    def method(self, kind: str, env: dict[str, str], depth: int) -> str:
        how = self.r.choice(["wrapping", "saturating"])
        what = self.r.choice(["add", "sub"] + ([] if kind == "i128" else ["mul"]))
        right = (
            self.number(kind, env, depth)
            if self.r.random() < 0.8
            else self.literal(kind)
        )
        return f"{self.number(kind, env, depth)}.{how}_{what}({right})"

    def conversion(self, kind: str, env: dict[str, str], depth: int) -> str:
        fits = [k for k in KINDS if low(kind) <= low(k) and high(k) <= high(kind)]
        other = self.r.choice(fits if self.r.random() < 0.7 else KINDS)
        return f"{kind}({self.number(other, env, depth)})"

    def end(self, kind: str, env: dict[str, str], depth: int) -> str:
        if kind[0] == "i" and self.r.random() < 0.6:
            return f"(-{self.number(kind, env, depth)})"
        return f"{kind}.{self.r.choice(['MIN', 'MAX'])}"

    def choice(self, kind: str, env: dict[str, str], depth: int) -> str:
        yes, no = self.number(kind, env, depth), self.number(kind, env, depth)
        return f"({yes} if {self.condition(env, depth)} else {no})"

    def min_max(self, kind: str, env: dict[str, str], depth: int) -> str:
        left, right = self.number(kind, env, depth), self.number(kind, env, depth)
        return f"{self.r.choice(['min', 'max'])}({left}, {right})"

    def special(self, kind: str, env: dict[str, str], depth: int) -> str:
        if kind == "u64":
            amount = self.number(kind, env, depth)
            shared = f"share({amount}, {self.atom(kind, env)})"
            named = ["tokens.amount", "stash.amount", "LIMIT", "self.FEE", "pair.left"]
            named += ["Clock.get().slot", "Clock.get().epoch"]
            named += ["coins.amount", "coins.delegated_amount", "coin.supply"]
            named += [
                "seen(shown, coins)",
                f"may_take(coins, {self.r.choice(ADDRESSES)})",
            ]
            named += ["held_by(thing, interface)"]
            held = ["total(s)", "total(other)", f"weight({self.pair(env)})"]
            held += [self.data_number(kind, env), self.data_sum(env)]
            held += [f"weights(pairs, {self.atom(kind, env)}, keys)"]
            held += self.optional_numbers(kind, env)
            held += [f"{self.score(env)}.best", "s.score.best"]
            if self.target != "anchor":
                held += [f"or_else({self.r.choice(['s', 'other'])}.most, {amount})"]
            held += [
                f"(extra.f_u64 if extra is not None else {amount})",
                f"({amount} if extra is None else total(extra))",
                "(u64(4) if pot is None else pot.amount)",
            ]
            lists = self.r.sample(["pairs", "numbers", "keys", "crowd"], 2)
            held += [f"u64(len({items}))" for items in lists]
            return self.r.choice([shared, *named, *held, f"pair_of(s, {amount}).left"])
        if kind == "i64":
            larger = f"larger({self.atom(kind, env)}, {self.number(kind, env, depth)})"
            return self.r.choice(
                [
                    larger,
                    "Clock.get().unix_timestamp",
                    f"({self.atom(kind, env)} + HOUR)",
                    "pair.right",
                ]
            )
        known = "coin.decimals" if kind == "u8" else self.atom(kind, env)
        return self.r.choice([known, self.data_number(kind, env)])

    # --- values that may be None

    def optional_numbers(self, kind: str, env: dict[str, str]) -> list[str]:
        """Numbers that are taken of values that may be None."""
        some = self.atom(kind, env)
        return [
            f"or_else({self.maybe(env)}, {some})",
            f"or_else({self.maybe(env)}, {some})",
            f"(maybe if maybe is not None else {some})",
            f"({some} if twin is None else twin.left)",
            f"(u64(5) if twin is None or twin.last == {some} else or_else(twin.last, {some}))",
        ]

    def maybe(self, env: dict[str, str]) -> str:
        """A number that may be None."""
        one, other = self.atom("u64", env), self.atom("u64", env)
        return self.r.choice(
            [
                "maybe",
                "pair.last",
                "None",
                one,
                f"kept({one}, {other})",
                f"({one} if flag else None)",
                f"(None if {one} < {other} else maybe)",
                f"(None if {one} < {other} else {one})",
            ]
        )

    def optional_condition(self, env: dict[str, str]) -> str:
        some, wide = self.atom("u64", env), self.atom("i128", env)
        who, equal = self.r.choice(ADDRESSES), self.r.choice(["==", "!="])
        of_state = [f"s.score.is_last {equal} flag", f"s.stage {equal} mood"]
        if self.target != "anchor":
            of_state += [f"s.heir {equal} {who}", f"other.most {equal} {some}"]
            of_state += ["s.held is None", f"s.heir {equal} guest"]
        return self.r.choice(
            [
                *of_state,
                f"(maybe is None or maybe < {some})",
                f"(deep is not None and deep > {wide})",
                f"maybe {equal} {some}",
                f"{some} {equal} pair.last",
                f"kept({some}, s.f_u64) {equal} kept(maybe if maybe is not None else u64(2), {some})",
                f"mood {equal} {self.mode(env)}",
                "(mood is not None and mood == mode)",
                f"guest {equal} {who}",
                f"(guest is not None and is_before(guest, {who}))",
                f"guest_of(guest, sure) {equal} {who}",
                f"{who} {equal} guest_of(guest, sure)",
                "(sure is None or sure)",
                "(not (sure is not None and not sure))",
                f"coins.delegate {equal} guest",
                "(extra is not None and extra.open)",
                f"(extra is None or extra.f_u64 > {some} or extra.address {equal} {who})",
                f"(aide is not None and aide.address {equal} {who})",
                f"(pot is None or pot.mint {equal} {who})",
            ]
        )

    def account_lines(self, env: dict[str, str], level: int) -> list[str]:
        """What is done with accounts that the caller may leave out."""
        makers = [self.with_extra, self.with_extra, self.with_pot, self.with_aide]
        pad = "    " * level
        return [f"{pad}{line}" for line in self.r.choice(makers)(env, level)]

    def with_extra(self, env: dict[str, str], level: int) -> list[str]:
        """A block that reads and writes optional state, and may call programs meanwhile."""
        r, kind = self.r, self.r.choice(KINDS)
        inner = dict(env) | {f"extra.f_{kind}": kind for kind in KINDS}
        self.made += 1
        found = f"v{self.made}"
        some, other = self.number("u64", inner, 1), self.atom("u64", env)
        block = [line[4 * level :] for line in self.block(inner, 2, level + 1)]
        value = f"{self.number(kind, inner, 2)}.wrapping_add(extra.f_{kind})"
        changes = r.choice(
            [
                [f"extra.f_{kind} = {value}", f"extra.f_{kind} ^= {kind}(3)"],
                [f"extra.owner = {r.choice(ADDRESSES[1:])}", "reset(extra, other)"],
                [f"{found} = bump({some}, extra, {other})", f"extra.f_u64 |= {found}"],
            ]
        )
        lines = [*block, *(f"    {line}" for line in changes)]
        if r.random() < 0.6:
            return ["if extra is not None:", *lines]
        return ["if extra is None:", "    s.f_u64 ^= u64(5)", "else:", *lines]

    def with_pot(self, env: dict[str, str], level: int) -> list[str]:
        amount = self.r.choice(["u64(0)", "pot.amount // 2", self.atom("u64", env)])
        roles = f"source=pot, destination=purse, authority=owner, amount={amount}"
        return [
            "if pot is not None and pot.amount > 2:",
            "    pass" if self.quiet else f"    token_program.transfer({roles})",
            "    s.f_u64 ^= pot.amount",
        ]

    def with_aide(self, env: dict[str, str], level: int) -> list[str]:
        end = self.r.choice(
            [f"raise self.E{self.r.randrange(ERRORS)}", "s.open = True"]
        )
        return [
            "if aide is None:",
            f"    {end}",
            "else:",
            "    require(aide.address != who, self.E0)",
        ]

    def optional_lines(self, env: dict[str, str], level: int) -> list[str]:
        """A variable that may be None, and what is done once it is known to be there."""
        self.made += 2
        r, pad = self.r, "    " * level
        held, found = f"o{self.made}", f"v{self.made}"
        some, other = self.atom("u64", env), self.number("u64", env, 1)
        first = r.choice([self.maybe(env), "None"])
        lines = [f"{pad}{held}: u64 | None = {first}"]
        change = r.choice([self.maybe(env), some, "None"])
        lines += [f"{pad}if {self.condition(env, 1)}:", f"{pad}    {held} = {change}"]
        lines += r.choice(
            [
                [f"{pad}if {held} is None:", f"{pad}    {held} = {other}"],
                [
                    f"{pad}if {held} is None:",
                    f"{pad}    raise self.E{r.randrange(ERRORS)}",
                ],
                [
                    f"{pad}for turn{self.made} in range(u64(4)):",
                    f"{pad}    if {held} is None:",
                    f"{pad}        {held} = u64(turn{self.made}) + 2",
                    f"{pad}        continue",
                    f"{pad}    {found} = {held}.wrapping_mul(3) + 1",
                    f"{pad}    {held} = None",
                    f"{pad}    s.f_u64 ^= {found}",
                    f"{pad}{held} = {other}",
                ],
            ]
        )
        env[found] = "u64"
        return [*lines, f"{pad}{found} = {held}"]

    # --- data

    def offset(self, env: dict[str, str]) -> str:
        """An offset that is often within the data."""
        near = str(self.r.choice([0, 1, 2, 7, 8, 20, 40, 120]))
        return self.r.choice(
            [near, near, near, f"min({self.atom('u64', env)}, u64(9))"]
        )

    def data(self) -> str:
        """Data that is most often there: a wallet has none, and an instruction may have little."""
        if self.r.random() < 0.1:
            return self.r.choice(
                ["wallet.data", "sysvar.data_at(0)", "sysvar.data_at(0)"]
            )
        return "blob.data"

    def data_number(self, kind: str, env: dict[str, str]) -> str:
        data, at = self.data(), self.offset(env)
        more = [f"{data}[{at}]"] if kind == "u8" else []
        more += [f"u64(len({data}))"] if kind == "u64" else []
        more += ["sysvar.current_index"] if kind == "u16" else []
        return self.r.choice([f"{data}.{kind}({at})", *more])

    def data_sum(self, env: dict[str, str]) -> str:
        data, at, who = self.data(), self.offset(env), self.r.choice(ADDRESSES)
        at = f"u64({at})" if at.isdigit() else at
        far = self.r.choice(["u64(2)", "u64(7)", "u64(40)", at])
        wide = f"mixed({data}, {self.data()}, {far}, {self.atom('u128', env)}, {who})"
        return self.r.choice([f"sum_of({data}, {at}, {who})", wide])

    def data_condition(self, env: dict[str, str]) -> str:
        r, data = self.r, self.data()
        equal, order = (
            r.choice(["==", "!="]),
            r.choice(["<", "<=", ">", ">=", "==", "!="]),
        )
        who = r.choice(ADDRESSES)
        return r.choice(
            [
                f"{r.choice(['blob', 'wallet', 'tokens'])}.program {equal} {who}",
                f"{data}.pubkey({self.offset(env)}) {equal} {who}",
                f"sysvar.program_at({r.choice(['0', '0', '0', '1'])}) {equal} {who}",
                f"len({data}) {order} {r.choice([0, 5, 40, 41])}",
                f"{data}[{r.choice(['0:2', ':2', '3:5'])}] {equal} {r.choice(PAIRS)}",
                f"{data}[8:40] {equal} {r.choice(KEYS)}",
                f"tokens.data.u64(64) {order} tokens.amount",
            ]
        )

    def data_lines(self, env: dict[str, str], level: int) -> list[str]:
        """A variable that holds data, and what is read of it before another program is called."""
        pad, held, found = "    " * level, f"d{self.made + 1}", f"v{self.made + 2}"
        size = f"v{self.made + 3}"
        self.made += 3
        stop = f"min({self.atom('u64', env)}, u64(30))"
        part = self.r.choice([f"[{self.offset(env)}:]", f"[1:{stop}]", "", ""])
        kind = self.r.choice(KINDS)
        lines = [
            f"{pad}{held} = {self.data()}{part}",
            f"{pad}{size} = u64(len({held}))",
        ]
        lines += [f"{pad}if len({held}) > 20:", f"{pad}    {found} = {held}.{kind}(4)"]
        lines += [f"{pad}else:", f"{pad}    {found} = {self.atom(kind, env)}"]
        lines += [f"{pad}s.f_u64 = s.f_u64.wrapping_add({size})"]
        env |= {found: kind, size: "u64"}
        return lines

    def hash(self, env: dict[str, str]) -> str:
        r = self.r
        parts = [
            self.atom(r.choice(KINDS), env),
            self.condition(env, 0),
            r.choice(ADDRESSES),
        ]
        parts += [
            r.choice(["pairs", "numbers", "keys", "bits", "raw"]),
            f"encoded({r.choice(['pairs', 'numbers', 'keys', 'bits', 'flag', 'mark'])})",
        ]
        parts += [r.choice(KEYS), self.data(), f"{self.data()}[1:]", r.choice(PAIRS)]
        return f"sha256({', '.join(r.sample(parts, r.randint(1, 4)))})"

    def mode(self, env: dict[str, str]) -> str:
        named = [
            f"Mode.{self.r.choice(MODES)}",
            "mode",
            "pair.mode",
            "pair_of(other, u64(2)).mode",
        ]
        named += ["s.stage", "other.stage", "s.score.stage", f"{self.score(env)}.stage"]
        named += [f"mode_or({self.r.choice(['mood', 'None', 'Mode.Slow'])}, mode)"]
        return self.r.choice([*named, f"mode_of({self.atom('u64', env)})"])

    def score(self, env: dict[str, str]) -> str:
        """A struct that state holds."""
        parts = (
            f"best={self.atom('u64', env)}, is_last={self.r.choice(['flag', 's.open'])}"
        )
        made = f"Score({parts}, stage={self.r.choice(['mode', 's.stage', 'Mode.Off'])})"
        return self.r.choice(["s.score", "other.score", "scored(s, flag)", made])

    def pair(self, env: dict[str, str]) -> str:
        left, right = self.atom("u64", env), self.atom("i64", env)
        made = f"Pair(left={left}, last={self.maybe(env)}, mode={self.mode(env)}, right={right})"
        return self.r.choice(["pair", made, f"pair_of(s, {left})"])

    def condition(self, env: dict[str, str], depth: int) -> str:
        r, which = self.r, self.r.random()
        kind = r.choice(KINDS)
        if r.random() < 0.12:
            return self.data_condition(env)
        if r.random() < 0.12:
            return self.optional_condition(env)
        if r.random() < 0.1:
            return self.quantified(env, depth)
        if depth <= 0 or which < 0.45:
            sign = r.choice(["<", "<=", ">", ">=", "==", "!="])
            right = (
                self.number(kind, env, depth - 1)
                if r.random() < 0.8
                else self.literal(kind)
            )
            return f"{self.number(kind, env, depth - 1)} {sign} {right}"
        if which < 0.55:
            middle = r.choice([n for n, found in env.items() if found == kind])
            return f"{self.number(kind, env, depth - 1)} <= {middle} < {self.number(kind, env, depth - 1)}"
        if which < 0.65:
            pairs = [
                r.sample(ADDRESSES, 2),
                r.sample(KEYS, 2),
                [self.mode(env), self.mode(env)],
            ]
            pairs += [[r.choice(KEYS), self.hash(env)]] if depth > 0 else []
            left, right = r.choice(pairs)
            return f"{left} {r.choice(['==', '!='])} {right}"
        if which < 0.8:
            return r.choice(
                [
                    *(
                        "s.open",
                        "flag",
                        "not flag",
                        "not s.open",
                        "(s.open == flag)",
                        "True",
                        "(flag != (s.open and flag))",
                    ),
                    *(
                        "coins.is_frozen",
                        "not coins.is_frozen",
                        "coins.delegate is None",
                        "purse.delegate is not None",
                    ),
                    f"coins.delegate {r.choice(['==', '!='])} {r.choice([*ADDRESSES, 'blob.data.pubkey(8)'])}",
                    "(is_token_account(thing, interface) and thing.amount > 3)",
                    "(not is_mint(thing, token_program) or thing.decimals == a_u8)",
                    f"is_owned(thing, {r.choice(ADDRESSES)})",
                    f"is_on_curve({r.choice(ADDRESSES)})",
                    f"is_on_curve({r.choice(ADDRESSES)})",
                    f"is_before({r.choice(ADDRESSES)}, {r.choice(ADDRESSES)})",
                    self.derived(env),
                    f"is_owned(thing, {r.choice(ADDRESSES)})",
                ]
            )
        if which < 0.92:
            sign = r.choice(["and", "or"])
            return f"({self.condition(env, depth - 1)} {sign} {self.condition(env, depth - 1)})"
        return (
            f"(not {self.condition(env, depth - 1)})"
            if r.random() < 0.5
            else f"not ({self.condition(env, depth - 1)})"
        )

    def quantified(self, env: dict[str, str], depth: int) -> str:
        """A condition on all items of a list, of accounts, of numbers or of extensions, or on any of them."""
        r, which = self.r, self.r.choice(["all", "any"])
        if r.random() < 0.15:
            return r.choice([f"{which}(bits)", "knows(keys, who)"])
        self.made += 1
        item, beside, turn = (f"{name}{self.made}" for name in ("each", "pal", "nth"))
        sign = r.choice(["<", ">=", "==", "!="])
        few = r.choice(
            ["u8(3)", "min(a_u8, u8(3))", "2, 4", "s.f_u8 % 3, 4", "i16(-2), 2"]
        )
        over, own = r.choice(
            [
                *[("pairs", f"weight({item}) {sign} {self.atom('u64', env)}")] * 2,
                ("pairs", f"{item}.mode {r.choice(['==', '!='])} {self.mode(env)}"),
                ("numbers", f"{item} + 1 {sign} {self.number('u64', env, 0)}"),
                *[("raw", f"{item} {sign} {self.atom('u8', env)}")] * 2,
                ("bits", f"{item} {r.choice(['==', '!='])} s.open"),
                ("bits", r.choice([item, f"not {item}"])),
                *[("keys", f"{item} {r.choice(['==', '!='])} {r.choice(ADDRESSES)}")]
                * 2,
                *[("crowd", f"{self.of_crowd(item)} {sign} u64(4)") for _ in range(3)],
                *[(f"range({few})", f"u64({item}) {sign} {self.atom('u64', env)}")] * 2,
                ("extensions(shown)", f"{item}.kind {sign} 3"),
                ("extensions(coins)", f"{item}.is_zero({r.choice(['0, 1', '2, 4'])})"),
            ]
        )
        variables = item
        is_sequence, how = "(" not in over, r.random()
        if is_sequence and how < 0.25:
            variables, over = f"{item}, {beside}", f"zip({over}, numbers, strict=True)"
            own = f"({own} or {beside} {sign} {self.atom('u64', env)})"
        elif is_sequence and how < 0.5:
            variables, over = f"{turn}, {item}", f"enumerate({over})"
            own = f"({own} and u64({turn}) {sign} 1)"
        if depth > 0 and r.random() < 0.4:
            own = f"({own} {r.choice(['and', 'or'])} {self.condition(env, depth - 1)})"
        test = f" if {self.condition(env, 0)}" if r.random() < 0.25 else ""
        return f"{which}({own} for {variables} in {over}{test})"

    # --- statements

    def block(self, env: dict[str, str], count: int, level: int) -> list[str]:
        out: list[str] = []
        for _ in range(count):
            known = len(env)
            lines = self.statement(env, level)
            is_free = level == 2 and len(env) == known
            out += self.sometimes(lines) if is_free else lines
        return out or [f"{'    ' * level}pass"]

    def sometimes(self, lines: list[str]) -> list[str]:
        """Lines of a body that run in some calls only, so that what fails in them does not hide what follows."""
        if not lines or self.r.random() < 0.3:
            return lines
        return [
            f"        if {self.r.choice(SOMETIMES)}:",
            *(f"    {line}" for line in lines),
        ]

    def statement(self, env: dict[str, str], level: int) -> list[str]:
        r, pad, kind = self.r, "    " * level, self.r.choice(KINDS)
        which = r.random()
        if which < 0.03:
            return r.choice([self.match, self.data_lines, self.data_lines])(env, level)
        if which < 0.06:
            return r.choice([self.optional_lines, self.account_lines])(env, level)
        if which < 0.16:
            self.made += 1
            name, value = f"v{self.made}", self.number(kind, env, 2)
            env[name] = kind
            return [f"{pad}{name}{r.choice(['', f': {kind}'])} = {value}"]
        if which < 0.34:
            return [pad + self.set_field(kind, env)]
        if which < 0.42:
            mine = [name for name in env if name.startswith("v")]
            if not mine:
                return []
            name = r.choice(mine)
            value = self.number(env[name], env, 2)
            return [] if bare(value, env[name]) == name else [f"{pad}{name} = {value}"]
        if which < 0.45:
            return [
                f"{pad}require({self.condition(env, 2)}, self.E{r.randrange(ERRORS)})"
            ]
        if which < 0.6:
            inner = self.block(env, r.randint(1, 2), level + 1)
            return [f"{pad}with overflow(self.E{r.randrange(ERRORS)}):", *inner]
        if which < 0.8 and level < 5:
            return (
                self.branch(env, level) if r.random() < 0.65 else self.loop(env, level)
            )
        if which < 0.86:
            amount, gain = self.number("u64", env, 2), self.number("i64", env, 2)
            rest = (
                f"mark={r.choice(KEYS)}, mode={self.mode(env)}, pair={self.pair(env)}"
            )
            guest = r.choice(["guest", "None", "who", "coins.delegate"])
            rest += f", last={self.maybe(env)}, guest={guest}, twin={r.choice(['twin', self.pair(env)])}"
            made = f"self.Ev(gain={gain}, who={r.choice(ADDRESSES)}, amount={amount}, {rest})"
            if self.quiet or r.random() < 0.6:
                return [f"{pad}emit({made})"]
            return [f"{pad}emit_cpi({made}, authority=event_authority, program=this)"]
        if which < 0.94:
            return [] if self.quiet else [pad + self.token_call(env)]
        if which < 0.95:
            return [f"{pad}must_differ({r.choice(ADDRESSES)}, {r.choice(ADDRESSES)})"]
        if which < 0.965:
            return [pad + self.change(env)]
        if which < 0.98:
            return r.choice([self.match, self.data_lines])(env, level)
        end = r.choice(
            [
                f"raise self.E{r.randrange(ERRORS)}",
                f"return {self.number('u64', env, 2)}",
            ]
        )
        return [f"{pad}if {self.condition(env, 1)}:", f"{pad}    {end}"]

    def loop(self, env: dict[str, str], level: int) -> list[str]:
        r, pad = self.r, "    " * level
        self.made += 1
        if r.random() < 0.5:
            return r.choice([self.over_extensions, *[self.over_items] * 2])(env, level)
        name, kind = f"turn{self.made}", r.choice(KINDS)
        few = f"{kind}(3)"
        most = f"min({self.atom(kind, env)}, {few})"
        bounds = [
            few,
            most,
            "4",
            f"1, {few}",
            "s.f_u8 % 3, 4",
            *([] if kind[0] == "i" else [f"{most}, 4"]),
        ]
        number = f"v{self.made}"
        inner = dict(env) | {number: "u64"}
        lines = [f"{pad}for {name} in range({r.choice(bounds)}):"]
        lines += [
            f"{pad}    {number} = u64({name})",
            *self.block(inner, r.randint(1, 3), level + 1),
        ]
        word = r.choice(["break", "continue"])
        lines += (
            [f"{pad}    if {self.condition(inner, 1)}:", f"{pad}        {word}"]
            if r.random() < 0.5
            else []
        )
        sum_of = r.choice(["+=", "|=", "-="])
        return [*lines, f"{pad}    s.f_u64 {sum_of} {number}"]

    def over_items(self, env: dict[str, str], level: int) -> list[str]:
        """A loop over a list or the accounts after the named ones, and what it reads of each."""
        r, pad, item, number = (
            self.r,
            "    " * level,
            f"item{self.made}",
            f"v{self.made}",
        )
        items, value = r.choice(
            [
                ("pairs", f"weight({item})"),
                ("pairs", f"{item}.left"),
                ("numbers", item),
                ("raw", f"u64({item})"),
                *[("keys", f"(u64(1) if {item} == {r.choice(ADDRESSES)} else u64(2))")]
                * 2,
                *[("crowd", self.of_crowd(item)) for _ in range(4)],
            ]
        )
        first, is_zipped = f"{item} in {items}", r.random() < 0.3
        if is_zipped:
            first = f"{item}, beside{self.made} in zip({items}, numbers, strict=True)"
            value = f"beside{self.made} ^ {value}"
        elif r.random() < 0.5:
            first, value = (
                f"turn{self.made}, {item} in enumerate({items})",
                f"u64(turn{self.made}) ^ {value}",
            )
        inner = dict(env) | {number: "u64"}
        lines = [f"{pad}for {first}:", f"{pad}    {number} = {value}"]
        if items == "crowd":
            lines += self.with_item(item, number, level + 1)
        lines += self.block(inner, r.randint(0, 2), level + 1)
        if r.random() < 0.3:
            lines += [f"{pad}    if {self.condition(inner, 1)}:"]
            lines += [f"{pad}        {r.choice(['break', 'continue'])}"]
        return [*lines, f"{pad}    s.f_u64 = s.f_u64.wrapping_add({number})"]

    def of_crowd(self, item: str) -> str:
        """A number that one of the accounts after the named ones gives."""
        who = self.r.choice(ADDRESSES)
        of_all = [
            f"(u64(5) if {item}.address == who else u64(6))",
            f"(u64(3) if {item}.address != {who} else u64(4))",
            f"(u64(1) if is_before({item}.address, {who}) else u64(2))",
        ]
        of_kind = {
            "Unchecked": [
                f"held_by({item}, interface)",
                f"u64(len({item}.data))",
                f"(u64(7) if {item}.program == {who} else u64(8))",
            ],
            "Ref[S, ...]": [
                f"{item}.f_u64",
                f"total({item})",
                f"(u64(9) if {item}.owner == {who} or {item}.open else total(s))",
            ],
            "Mut[TokenAccount, ...]": [
                f"{item}.amount",
                f"({item}.delegated_amount if {item}.mint == {who} else u64(1))",
                f"may_take({item}, {who})",
            ],
        }[self.crowd]
        return self.r.choice([*of_all, *of_kind, *of_kind])

    def with_item(self, item: str, number: str, level: int) -> list[str]:
        """What a loop does with one of the accounts after the named ones."""
        pad = "    " * level
        if self.crowd == "Unchecked" and self.r.random() < 0.5:
            return [
                f"{pad}if is_token_account({item}, token_program):",
                f"{pad}    s.f_u64 ^= {item}.amount",
            ]
        if self.crowd == "Mut[TokenAccount, ...]" and not self.quiet:
            amount = self.r.choice([number, "u64(0)", "purse.amount // 2"])
            return [
                f"{pad}token_program.transfer(source=purse, destination={item}, authority=owner, amount={amount})"
            ]
        return []

    def over_extensions(self, env: dict[str, str], level: int) -> list[str]:
        pad, number = "    " * level, f"v{self.made}"
        one = f"extension{self.made}"
        was_quiet, self.quiet = self.quiet, True
        lines = [
            f"{pad}for {one} in extensions({self.r.choice(['shown', 'shown', 'coins'])}):",
            f"{pad}    {number} = u64({one}.kind)",
            *self.block(dict(env) | {number: "u64"}, self.r.randint(0, 2), level + 1),
            f"{pad}    if {one}.is_zero({self.r.choice(['0, 1', '2, 4', '30, 40'])}):",
            f"{pad}        {self.r.choice(['break', 'continue', 's.f_u64 ^= ' + number])}",
            f"{pad}    s.f_u64 |= {number}",
        ]
        self.quiet = was_quiet
        return lines

    def change(self, env: dict[str, str]) -> str:
        """A helper that writes state, or a field that is no number."""
        self.made += 1
        by, left = self.number("u64", env, 1), self.number("u64", env, 1)
        name = f"v{self.made}"
        found = self.r.choice(
            [
                f"{name} = bump({by}, s, {left})",
                "reset(s, other)",
                f"rescore(s, {self.score(env)})",
                *self.named_fields(env),
                f"s.mark = {self.r.choice(KEYS[1:])}",
                f"s.mark = {self.r.choice(KEYS[1:])}",
                f"s.mark = {self.hash(env)}",
            ]
        )
        if found.startswith("v"):
            env[name] = "u64"
        return found

    def named_fields(self, env: dict[str, str]) -> list[str]:
        """Fields of state that are structs, variants, or may be None."""
        score = self.score(env)
        score = score if score != "s.score" else "other.score"
        stage = self.mode(env)
        stage = stage if stage != "s.stage" else "other.stage"
        plain = [f"s.score = {score}", f"s.stage = {stage}", f"spare.stage = {stage}"]
        if self.target == "anchor":
            return plain
        heir = self.r.choice(["guest", "None", "who", "other.heir", "coins.delegate"])
        held = self.r.choice([self.score(env), "None", "other.held"])
        most = self.maybe(env)
        return [*plain, f"s.heir = {heir}", f"s.most = {most}", f"s.held = {held}"]

    def match(self, env: dict[str, str], level: int) -> list[str]:
        r, pad = self.r, "    " * level
        self.made += 1
        name = f"v{self.made}"
        subject, cases = r.choice(
            [
                ("mode", [f"Mode.{m}" for m in MODES]),
                ("pair.mode", [f"Mode.{m}" for m in MODES]),
                ("a_u8", ["0", "1 | 2", "255", "7"]),
                ("s.f_i16", ["-1", "0 | 1", "-32768"]),
                ("s.stage", [f"Mode.{m}" for m in MODES]),
                ("mood", ["None", *(f"Mode.{m}" for m in MODES)]),
                ("maybe", ["0 | 1", "None"]),
            ]
        )
        is_enum = subject not in ("a_u8", "s.f_i16", "maybe")
        is_whole = is_enum and r.random() < 0.5
        if is_enum and not is_whole:
            cases = r.sample(cases, 2)
        kind = r.choice(KINDS)
        lines = [f"{pad}match {subject}:"]
        for case in [*cases, *([] if is_whole else ["_"])]:
            inner = self.block(dict(env), r.randint(0, 2), level + 2)
            set_it = f"{pad}        {name} = {self.number(kind, env, 1)}"
            lines += [f"{pad}    case {case}:", *inner, set_it]
        env[name] = kind
        return lines

    def set_field(self, kind: str, env: dict[str, str]) -> str:
        which = self.r.random()
        if which < 0.1:
            return f"s.owner = {self.r.choice(ADDRESSES[1:])}"
        if which < 0.2:
            return f"s.open = {self.condition(env, 1)} or s.open"
        if which < 0.6:
            value = self.number(kind, env, 3)
            is_same = bare(value, kind) == f"s.f_{kind}"
            return f"s.f_{kind} = {'other.f_' + kind if is_same else value}"
        sign = self.r.choice(
            ["+=", "-=", "|=", "^="] + ([] if kind == "i128" else ["*="])
        )
        right = (
            self.number(kind, env, 2) if self.r.random() < 0.7 else self.literal(kind)
        )
        return f"{'s' if which < 0.9 else 'spare'}.f_{kind} {sign} {right}"

    def branch(self, env: dict[str, str], level: int) -> list[str]:
        r, pad = self.r, "    " * level
        lines = [
            f"{pad}if {self.condition(env, 2)}:",
            *self.block(dict(env), r.randint(1, 3), level + 1),
        ]
        if r.random() < 0.2:
            lines += [
                f"{pad}elif {self.condition(env, 1)}:",
                *self.block(dict(env), 1, level + 1),
            ]
        if r.random() < 0.5:
            lines += [f"{pad}else:", *self.block(dict(env), r.randint(1, 2), level + 1)]
        if r.random() < 0.3:
            self.made += 1
            name, kind = f"v{self.made}", r.choice(KINDS)
            yes, no = self.number(kind, env, 2), self.number(kind, env, 2)
            lines += [f"{pad}if {self.condition(env, 1)}:", f"{pad}    {name} = {yes}"]
            lines += [f"{pad}else:", f"{pad}    {name} = {no}"]
            env[name] = kind
        return lines

    def token_call(self, env: dict[str, str]) -> str:
        amount = self.r.choice(
            [
                self.atom("u64", env),
                "u64(3)",
                "u64(0)",
                "tokens.amount // 2",
                "min(tokens.amount, s.f_u64)",
            ]
        )
        call, roles = self.r.choice(TOKEN_CALLS)
        given = (
            roles
            if call.endswith(("close_account", "revoke", "idempotent"))
            else f"{roles}, amount={amount}"
        )
        if call.endswith("checked"):
            given = f"decimals={self.r.choice(['coin.decimals', 'u8(6)', 'u8(6)', 'a_u8'])}, {given}"
        who, authority = (
            self.r.choice(["s", "owner", "other"]),
            self.r.choice(["owner"] * 5 + ["s"]),
        )
        return f"{call}({given.format(who=who, authority=authority)})"

    def derived(self, env: dict[str, str]) -> str:
        """A condition about an address that a program derives. Two of three are of accounts that the scene derives."""
        number = self.atom(self.r.choice(KINDS), env)
        seed = self.r.choice(["b's'", "mark", "flag", "who"])
        sign = self.r.choice(["==", "!="])
        return self.r.choice(
            [
                f"s.address {sign} find_program_address({seed}, program=this.address)",
                f"{self.r.choice(ADDRESSES)} {sign} find_program_address(b's', {number}, program=NOBODY)",
                f"nest.address {sign} find_program_address({NEST}, program=associated_program.address)",
            ]
        )

    def opening(self) -> list[str]:
        """State that the body makes, or has."""
        if self.r.random() < 0.7:
            return []
        lines = ["if is_new(fresh):", "    n = create(self.S, fresh, payer=owner)"]
        lines += ["else:", "    n = load(self.S, fresh)", "n.f_u8 = fresh.bump"]
        lines += ["n.f_u64 ^= Data(mark).u64(0, big_endian=True)"]
        error = f"self.E{self.r.randrange(ERRORS)}"
        lines += ["if flag and not s.open:", f"    raise {error}.carrying(n)"]
        return [f"        {line}" for line in lines]

    def ending(self, env: dict[str, str]) -> list[str]:
        """Close an account with state, whose fields have no values from then on. It is closed once at most."""
        if self.r.random() < 0.7:
            return []
        to = self.r.choice(["owner", "owner", "owner", "s"])
        closing = [
            f"        if {self.condition(env, 1)}:",
            f"            close(spare, {to})",
        ]
        return closing if self.r.random() < 0.7 else [f"        close(spare, {to})"]


ACCOUNTS = (
    'self, s: Mut[S, seeds(b"s")], other: Ref[S, ...], spare: Mut[S, ...],'
    " tokens: Mut[TokenAccount, ...], purse: Mut[TokenAccount, ...], stash: Mut[TokenAccount, ...],"
    " mint: Mut[Mint, ...], owner: Payer, token_program: TokenProgram,"
    " interface: TokenInterface, coin: Mut[Mint, mint(program='interface')], shown: Mint,"
    " coins: Mut[TokenAccount, associated('coin', 'owner', program='interface')],"
    " change: Mut[TokenAccount, token(mint='coin', program='interface')], thing: Unchecked,"
    " blob: Unchecked, wallet: Mut[Unchecked, ...], sysvar: Instructions,"
    " event_authority: Ref[Unchecked, seeds(b'event_authority')], this: Ref[ProgramAccount, address(ADDRESS)],"
    " fresh: Mut[Unchecked, seeds(b'fresh')], system_program: SystemProgram,"
    " extra: Mut[S, ...] | None, aide: Signer | None, pot: Mut[TokenAccount, ...] | None,"
    " nest: Mut[Unchecked, ...], nester: Unchecked, associated_program: AssociatedTokenProgram,"
    " *crowd: {crowd},"
)
#: What the accounts after the named ones are.
CROWDS = ["Unchecked", "Ref[S, ...]", "Mut[TokenAccount, ...]"]
LISTS = "pairs: list[Pair], numbers: list[u64], keys: list[Pubkey], bits: list[bool], raw: list[u8],"
OTHERS = (
    "who: Pubkey, flag: bool, mode: Mode, pair: Pair, mark: Array[u8, 32], maybe: u64 | None, deep: i128 | None,"
    " guest: Pubkey | None, mood: Mode | None, twin: Pair | None, sure: bool | None"
)
#: The seeds of an associated token account.
NEST = "nester.address, interface.address, coin.address"
PROGRAMS = "system_program=system_program, token_program=interface"
#: The calls of token programs, and their accounts.
TOKEN_CALLS = [
    ("token_program.transfer", "source=tokens, destination=purse, authority=s"),
    ("token_program.transfer", "source=purse, destination=tokens, authority=owner"),
    ("token_program.transfer", "source=stash, destination=purse, authority=owner"),
    ("token_program.burn", "account=purse, mint=mint, authority=owner"),
    ("token_program.mint_to", "mint=mint, account=tokens, mint_authority=s"),
    (
        "token_program.close_account",
        "account=stash, destination=owner, authority=owner",
    ),
    (
        "token_program.transfer_checked",
        "source=purse, mint=mint, destination=tokens, authority=owner",
    ),
    ("token_program.approve", "source=purse, delegate={who}, owner=owner"),
    (
        "interface.transfer_checked",
        "source=coins, mint=coin, destination=change, authority={authority}",
    ),
    ("interface.transfer", "source=change, destination=coins, authority=s"),
    ("interface.approve", "source=coins, delegate={who}, owner=owner"),
    ("interface.revoke", "source=coins, authority={authority}"),
    ("interface.burn", "account=coins, mint=coin, authority={authority}"),
    *[
        (
            "associated_program.create_idempotent",
            f"payer=owner, account=nest, owner=nester, mint=coin, {PROGRAMS}",
        )
    ]
    * 2,
]
#: The instruction by which the program calls itself with an event.
TAKES_EVENTS = """\
    @instruction(discriminator=b"\\xe4")
    def take_event(
        self, event_authority: Ref[Signer, seeds(b"event_authority")], event: RemainingBytes
    ) -> None:
        \'\'\'Carries an event.\'\'\'
        return
"""
MODES = ["Slow", "Fast", "Off"]
#: Conditions that hold in about a third of all calls, for different ones.
SOMETIMES = ["flag", "s.open", *(f"mode == Mode.{mode}" for mode in MODES)]
SOMETIMES += ["other.open and flag", *(f"s.f_{kind} > 2" for kind in KINDS)]
SOMETIMES += [f"a_{kind} & 3 < 2" for kind in KINDS]
PAIRS = ['b"\\x02\\x00"', 'b"\\x00\\x00"', "TWO"]
KEYS = ["s.mark", "other.mark", "mark"]
ADDRESSES = [
    "s.owner",
    "s.address",
    "owner.address",
    "who",
    "NOBODY",
    "tokens.address",
    "other.owner",
    "coin.address",
    "change.mint",
    "purse.owner",
]


#: Names of variables that mean something in Rust, or in the handlers that are made.
ODD_NAMES = """
it bytes value error event item items account accounts args ctx data view state held condition bounds index
one two type move ref fn let mut impl loop where crate super Ok Err Some Box Vec Result usize str program
program_id processor helpers checks events pda hash own opened core alloc std x e w i s_state s_data
other_data n_view new_view pinocchio kind amount match found address lamports signer seeds remaining result
info
"""


def with_odd_names(r: random.Random, body: list[str]) -> list[str]:
    """A body in which some variables have odd names."""
    text = "\n".join(body)
    made = sorted(
        set(re.findall(r"\b(?:v|o|item|each|pal|nth|turn|extension|beside)\d+\b", text))
    )
    some = [name for name in made if r.random() < 0.25][:40]
    odd = dict(zip(some, r.sample(ODD_NAMES.split(), len(some)), strict=True))
    return re.sub(
        r"\b[a-z]+\d+\b", lambda found: odd.get(found[0], found[0]), text
    ).split("\n")


def bodies_text(seed: int, bodies: int, target: str = "pinocchio") -> str:
    """The random bodies of a spec alone, without the helpers that they call."""
    text = spec_text(seed, bodies, target)
    return text[text.index("    @instruction") :]


def spec_text(seed: int, bodies: int, target: str = "pinocchio") -> str:
    """A spec with that many instructions, f0, f1, …, each with a random body that *target* can render."""
    r = random.Random(seed)
    fields = "".join(f"        f_{kind}: {kind}\n" for kind in KINDS)
    lines = [HEAD + ("" if target == "anchor" else OPTIONS) + fields]
    lines += [
        "    class Ev(Event):",
        "        who: Pubkey",
        "        amount: u64",
        "        gain: i64",
        "        mark: Array[u8, 32]",
        "        mode: Mode",
        "        pair: Pair",
        "        last: u64 | None",
        "        guest: Pubkey | None",
        "        twin: Pair | None",
        "",
    ]
    lines += ["    FEE = constant(u64, 250)"]
    lines += [f'    E{i} = error("error {i}")' for i in range(ERRORS)]
    arguments = ", ".join(f"a_{kind}: {kind}" for kind in KINDS)
    lines += ["", *TAKES_EVENTS.splitlines()]
    for i in range(bodies):
        made = Bodies(r, target, crowd=r.choice(CROWDS))
        env = {f"s.f_{kind}": kind for kind in KINDS} | {
            f"a_{kind}": kind for kind in KINDS
        }
        env |= {
            f"{name}.f_{kind}": kind for kind in KINDS for name in ("other", "spare")
        }
        body = [*made.opening(), *made.block(env, r.randint(5, 9), 2)]
        body += made.ending(env)
        returned = r.choice(["u64", "u64", "u64 | None"])
        env = {
            name: kind for name, kind in env.items() if not name.startswith("spare.")
        }
        lines += [
            "",
            "    @instruction",
            f"    def f{i}({ACCOUNTS.format(crowd=made.crowd)} {arguments}, {LISTS} {OTHERS}) -> {returned}:",
        ]
        result = made.number("u64", env, 3)
        if "None" in returned:
            result = f"{result} if {made.condition(env, 1)} else None"
        lines += [
            '        """A random body."""',
            *with_odd_names(r, [*body, f"        return {result}"]),
        ]
    return "\n".join(lines) + "\n"

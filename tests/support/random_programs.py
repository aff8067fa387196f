"""Runs random method bodies: one program of many instructions, called in the simulator and in LiteSVM."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

from solders.compute_budget import set_compute_unit_limit
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.build import build_program
from mcpsol_py.build.cargo import compile_crate, read_crate
from mcpsol_py.build.toolchain import find_toolchain
from mcpsol_py.render import render
from mcpsol_py.solana.addresses import (
    ASSOCIATED_TOKEN_PROGRAM,
    INSTRUCTIONS_SYSVAR,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.sources.spec import read_spec
from tests.functional.targets import REPO
from tests.support.oracle import Oracle
from tests.support.random_bodies import KINDS, MODES, high, low, spec_text

#: The extension that every associated token account of Token-2022 has.
IMMUTABLE_OWNER = b"\x07\0\0\0"
#: The accounts that a call may get wrong. It gets one wrong at most, because targets differ in which check is first.
FAULTS = ["other", "stash", "blob", "crowd", "crowd", "extra", "pot"]
KEYS = (bytes(32), bytes(range(32)), bytes(31) + b"\x01")


def build(folder: Path, seed: int, bodies: int, target: str = "pinocchio") -> Oracle:
    """Render and build a spec of random bodies in *folder*."""
    (folder / "spec.py").write_text(spec_text(seed, bodies, target), encoding="utf-8")
    return built(folder, target)


def built(folder: Path, target: str = "pinocchio") -> Oracle:
    """Render and build the spec in *folder*."""
    spec = folder / "spec.py"
    render(read_spec(spec), target=target, out=folder / "crate", source="spec.py")
    make_workspace(folder / "crate", target)
    if target == "pinocchio":
        made = build_program(folder / "crate")
        assert not made.wrong, "the SVM cannot pass the arguments of these functions"
        return Oracle(spec, made.so.read_bytes())
    compiled = compile_crate(read_crate(folder / "crate"), find_toolchain("std"))
    return Oracle(spec, compiled.so.read_bytes(), features="all")


def built_from(spec: Path, folder: Path) -> Oracle:
    """Render and build a spec of the tests in *folder*."""
    shutil.copy(spec, folder / "spec.py")
    return built(folder)


def make_workspace(crate: Path, target: str) -> None:
    """Make the crate a workspace of its own, with the versions of the committed crates of its target."""
    with (crate / "Cargo.toml").open("a", encoding="utf-8") as manifest:
        manifest.write("\n[workspace]\n")
    committed = "programs" if target == "pinocchio" else f"tests/targets/{target}"
    shutil.copy(REPO / committed / "Cargo.lock", crate / "Cargo.lock")


def value(r: random.Random, kind: str) -> int:
    """A number of the type, most often near zero or near an end."""
    which = r.random()
    if which < 0.7:
        near = r.choice([0, 1, 2, 3, 5, 7, 10, 100, -1, -2])
        return max(low(kind), min(high(kind), near))
    if which < 0.85:
        ends = [
            high(kind),
            high(kind) - 1,
            high(kind) // 2,
            low(kind),
            low(kind) + (kind[0] == "i"),
        ]
        return r.choice(ends)
    return r.randint(low(kind), high(kind))


def listed(r: random.Random) -> bytes:
    """Extensions of a mint, sometimes malformed."""
    made = b""
    for _ in range(r.randint(0, 3)):
        kind, length = r.choice([1, 2, 3, 14, 18, 0xFFFF, 0]), r.choice([0, 1, 4, 40])
        begins = r.choice([0, 0, 0, 1, 2, 3])  # what is not zero
        data = (bytes([r.randint(0, 255)]) * begins + bytes(length))[:length]
        data = data[::-1] if r.random() < 0.3 else data
        made += kind.to_bytes(2, "little") + length.to_bytes(2, "little") + data
    return made + r.choice(
        [b"", b"", b"\0", b"\1", b"\5\0\x09", b"\1\0\x20\0\0", bytes(9)]
    )


def random_names(oracle: Oracle) -> list[str]:
    """The instructions with a random body: f0, f1, …"""
    return [
        ix.name for ix in oracle.program.model.instructions if ix.name != "take_event"
    ]


def run(oracle: Oracle, seed: int, calls: int) -> None:
    """Call every instruction *calls* times, each time from other state."""
    r = random.Random(seed)
    scene = RandomScene(oracle, r)
    for name in random_names(oracle):
        for _ in range(calls):
            scene.call(name)


def differences(oracle: Oracle, seed: int, calls: int) -> list[str]:
    """Call every instruction *calls* times. Returns where Python and the SVM differ; the first place of each body."""
    r = random.Random(seed)
    scene = RandomScene(oracle, r)
    found = []
    for name in random_names(oracle):
        try:
            for _ in range(calls):
                scene.call(name)
        except Exception as error:  # noqa: BLE001  # only named errors may end a call
            found.append(f"seed {seed}: {name}: {type(error).__name__}: {error}")
            scene = RandomScene(oracle, r)
    return found


class RandomScene:
    """The accounts that every random body takes."""

    def __init__(self, oracle: Oracle, r: random.Random) -> None:
        self.oracle, self.r = oracle, r
        oracle.start()
        self.owner = oracle.wallet()
        self.state = Pubkey.find_program_address([b"s"], oracle.address)[0]
        self.event_authority = Pubkey.find_program_address(
            [b"event_authority"], oracle.address
        )[0]
        self.other, self.stranger = Pubkey.new_unique(), Keypair().pubkey()
        self.mint = oracle.mint(self.state)
        self.tokens = oracle.tokens(self.mint, self.state, 0)
        self.purse = oracle.tokens(self.mint, self.owner.pubkey(), 0)
        self.stash = oracle.tokens(self.mint, self.owner.pubkey(), 0)
        self.spare, self.extra = Pubkey.new_unique(), Pubkey.new_unique()
        self.pot = oracle.tokens(self.mint, self.owner.pubkey(), 0)
        self.coin, self.shown, self.change = (Pubkey.new_unique() for _ in range(3))
        self.things = [
            self.purse,
            self.mint,
            self.change,
            self.shown,
            self.owner.pubkey(),
        ]
        self.blob, self.wallet = Pubkey.new_unique(), oracle.wallet().pubkey()

    def call(self, name: str) -> None:
        r, oracle = self.r, self.oracle
        fault = r.choice(FAULTS) if r.random() < 0.15 else ""
        for key in (self.state, self.other, self.spare, self.extra):
            self.put(key)
        most, owner = 2**61, self.owner.pubkey()
        oracle.mint(self.state, self.mint)
        coins, interface = self.put_coins()
        held = [(self.tokens, self.state), (self.purse, owner), (self.stash, owner)]
        held += [(self.pot, owner)]
        for key, holder in held:
            has_none = key == self.stash and r.random() < 0.5
            oracle.tokens(
                self.mint, holder, 0 if has_none else min(value(r, "u64"), most), key
            )
        oracle.set_clock(unix_timestamp=value(r, "i64"), slot=r.randint(1, 10**6))
        args: dict[str, object] = {f"a_{kind}": value(r, kind) for kind in KINDS}
        args |= {"mode": r.choice(MODES), "mark": r.choice(KEYS)}
        pairs = [self.pair() for _ in range(r.randint(1, 4))]
        pair = pairs.pop()
        args |= {
            "maybe": self.maybe(value(r, "u64")),
            "deep": self.maybe(value(r, "i128")),
            "guest": self.maybe(r.choice([self.stranger, owner])),
            "mood": self.maybe(r.choice(MODES)),
            "twin": self.maybe(self.pair()),
            "sure": self.maybe(r.random() < 0.5),
        }
        numbers = [value(r, "u64") for _ in range(r.randint(0, 3))]
        args |= {"pairs": pairs, "numbers": numbers}
        args["keys"] = [
            r.choice([self.stranger, owner]) for _ in range(r.randint(0, 2))
        ]
        args["raw"] = list(r.randbytes(r.randint(0, 3)))
        args["bits"] = [r.random() < 0.6 for _ in range(r.randint(0, 3))]
        args |= {
            "pair": pair,
            "who": r.choice([self.stranger, self.owner.pubkey(), oracle.address]),
            "flag": r.random() < 0.5,
        }
        accounts: dict[str, Any] = {
            "crowd": self.crowd(name, len(numbers), has_fault=fault == "crowd"),
            "s": self.state,
            "other": r.choice([self.state, self.spare])
            if fault == "other"
            else self.other,
            "spare": self.spare,
            "tokens": self.tokens,
            "purse": self.purse,
            "stash": self.purse if fault == "stash" else self.stash,
            "mint": self.mint,
            "owner": self.owner.pubkey(),
            "interface": interface,
            "coin": self.coin,
            "shown": self.shown,
            "coins": coins,
            "change": self.change,
            "thing": r.choice(self.things),
            "blob": self.state if fault == "blob" else self.blob,
            "wallet": self.wallet,
            "sysvar": INSTRUCTIONS_SYSVAR,
            "event_authority": self.event_authority,
            "this": oracle.address,
            "fresh": Pubkey.find_program_address([b"fresh"], oracle.address)[0],
            "system_program": Pubkey.default(),
            **self.nest(interface),
            "extra": r.choice([self.other, self.state])
            if fault == "extra"
            else self.maybe(self.extra),
            "aide": self.maybe(owner),
            "pot": r.choice([self.purse, self.other])
            if fault == "pot"
            else self.maybe(self.pot),
        }
        self.put_blob()
        limit = set_compute_unit_limit(r.choice([1_000_000, 1_300_000]))
        before = (limit,) if r.random() < 0.5 else ()
        oracle.call(name, accounts, args, self.owner, before=before)

    def maybe(self, found: object) -> object:
        """A value, or None."""
        return found if self.r.random() < 0.6 else None

    def score(self) -> dict[str, object]:
        best, stage = value(self.r, "u64"), self.r.choice(MODES)
        return {"best": best, "stage": stage, "is_last": self.r.random() < 0.5}

    def pair(self) -> dict[str, object]:
        r = self.r
        numbers = {"left": value(r, "u64"), "right": value(r, "i64")}
        last = self.maybe(value(r, "u64"))
        return {**numbers, "mode": r.choice(MODES), "last": last}

    def crowd(self, name: str, near: int, *, has_fault: bool) -> list[Pubkey]:
        """Accounts after the named ones: often *near* of them, and without a fault of the kind that the spec says."""
        r = self.r
        rules = self.oracle.program.instruction(name).model.remaining[0].constraints
        tokens = [self.tokens, self.purse, self.stash, self.change]
        fitting = [self.stranger, self.owner.pubkey(), self.other, *tokens]
        if rules is not None:
            fitting = [self.other, self.spare] if rules.state else tokens
        if has_fault:
            fitting = [self.state, self.stranger, self.purse]
        count = near if r.random() < 0.6 else r.randint(0, 3)
        return [r.choice(fitting) for _ in range(count)]

    def nest(self, program: Pubkey) -> dict[str, Pubkey]:
        """The address of an associated token account, most often the right one, where there may be none yet."""
        r = self.r
        nester = Pubkey.new_unique() if r.random() < 0.5 else self.wallet
        owner = self.stranger if r.random() < 0.1 else nester
        return {
            "nest": associated_token(owner, self.coin, program),
            "nester": nester,
            "associated_program": ASSOCIATED_TOKEN_PROGRAM,
        }

    def put_blob(self) -> None:
        """Data of another program, of another length."""
        r = self.r
        who = bytes(r.choice([self.stranger, self.owner.pubkey()]))
        data = (
            r.choice([b"\x02\x00", b"\x00\x00"])
            + r.randbytes(6)
            + r.choice([who, *KEYS])
        )
        data += r.randbytes(120)
        size = r.choice([0, 9, 40, 41]) if r.random() < 0.15 else len(data)
        self.oracle.put_data(
            self.blob, r.choice([self.stranger, TOKEN_2022_PROGRAM]), data[:size]
        )

    def put_coins(self) -> tuple[Pubkey, Pubkey]:
        """A mint and its accounts under one of the token programs. Returns the owner's account, and the program."""
        r, oracle, owner = self.r, self.oracle, self.owner.pubkey()
        program = r.choice([TOKEN_PROGRAM, TOKEN_2022_PROGRAM])
        is_new = program == TOKEN_2022_PROGRAM
        oracle.mint(self.state, self.coin, program=program)
        oracle.mint(
            self.state, self.shown, program=TOKEN_2022_PROGRAM, extensions=listed(r)
        )
        coins = associated_token(owner, self.coin, program)
        more: dict[str, Any] = {"program": program}
        oracle.tokens(self.coin, self.state, r.randint(0, 50), self.change, **more)
        if is_new and r.random() < 0.5:
            more["extensions"] = IMMUTABLE_OWNER
        if r.random() < 0.7:
            more["delegate"] = r.choice([self.state, self.stranger, owner])
            more["delegated_amount"] = r.choice([0, 3, 2**40])
        more["is_frozen"] = r.random() < 0.1
        oracle.tokens(self.coin, owner, r.choice([0, 3, 2**32]), coins, **more)
        return coins, program

    def put(self, key: Pubkey) -> None:
        """State with other numbers."""
        fields: dict[str, object] = {f"f_{kind}": value(self.r, kind) for kind in KINDS}
        owner = self.r.choice([self.stranger, self.owner.pubkey(), self.oracle.address])
        fields["mark"] = self.r.choice(KEYS)
        fields |= {"stage": self.r.choice(MODES), "score": self.score()}
        if "heir" in vars(self.oracle.simulator.new_state("S")):  # not on Anchor
            heir = self.r.choice([self.stranger, self.owner.pubkey()])
            fields |= {
                "heir": self.maybe(heir),
                "most": self.maybe(value(self.r, "u64")),
            }
            fields["held"] = self.maybe(self.score())
        self.oracle.put_state(
            key, "S", owner=owner, open=self.r.random() < 0.5, **fields
        )

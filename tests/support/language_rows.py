"""The rows of the language table in docs/bodies.md, and how each is known in the text of a body.

A new row of the table takes three steps, and `tests/functional/test_bodies_random.py` fails until they are done:

1. tests/support/random_bodies.py writes it: `special` for a new number, `condition` for a new condition, `statement`
   for a new statement, ACCOUNTS and OTHERS for what a body takes, HEAD for a helper.
2. ROWS has its first column, and a pattern for each form that the row shows.
3. If it reads something, `RandomScene` in tests/support/random_programs.py gives it values that make a difference.

`nice python -m tests.long bodies TARGET --bodies 40` then compares forty bodies with it in Python and in an SVM.
"""

from __future__ import annotations

import re

from tests.functional.targets import REPO

#: By row, patterns that must all be found in generated bodies.
ROWS: dict[str, list[str]] = {
    "add, subtract, multiply": [r" \+ ", r" - ", r" \* ", r" \+= "],
    "divide unsigned numbers": [r" // ", r" % "],
    "negate a signed number": [r"\(-[a-z]"],
    "combine bits": [r" & ", r" \| ", r" \^ "],
    "name the error of an overflow": [r"with overflow\(self\.E\d\):"],
    "let a result wrap or stop at the end": [
        rf"\.{how}_{what}\("
        for how in ("wrapping", "saturating")
        for what in ("add", "sub", "mul")
    ],
    "convert a number": [
        rf"\b{kind}\([\w(]*[a-z]\." for kind in ("u8", "u64", "i32", "i128")
    ],
    "use the ends of a type": [r"\.MIN\b", r"\.MAX\b"],
    "take the smaller or larger number": [r"\bmin\(", r"\bmax\("],
    "repeat": [
        r"in range\([^,]+\):",
        r"in range\(.+, .+\):",
        r"\bbreak\b",
        r"\bcontinue\b",
        r"= u64\(turn",
    ],
    "compare": [
        r" <= \S+ < ",
        r" == ",
        r" != ",
        r"(owner|address|who) [!=]= ",
        r"\(s\.open == flag\)",
        r"mode [!=]= |[!=]= mode",
        r"mark [!=]= ",
    ],
    "join conditions": [
        r"\) and \(|[\w)] and [\w(]",
        r"[\w)] or [\w(]",
        r"\bnot \(|\(not ",
    ],
    "check": [r"require\("],
    "fail": [r"raise self\.E"],
    "fail with bytes for the caller": [r"raise self\.E\d\.carrying\(n\)"],
    "branch": [r"\bif .+:$", r"\belif .+:$", r"\belse:$"],
    "branch by a value": [
        r"match mode:",
        r"case 0",
        r"case 1 \| 2",
        r"case Mode\.",
        r"case None:",
        r"case _:",
    ],
    "keep a value": [r"^ +v\d+ = ", r"^ +v\d+: \w+ = "],
    "read and write state": [r"= .*\bs\.f_", r"^ +s\.f_\w+ = ", r"^ +s\.f_\w+ \+= "],
    "keep a struct, a variant or a value that may be missing in state": [
        r"^ +s\.stage = ",
        r"^ +s\.score = ",
        r"^ +s\.(heir|most|held) = ",
        r"s\.score\.best",
        r"s\.stage [!=]= |[!=]= s\.stage",
        r"(scored|rescore)\(s, ",
        r"or_else\((s|other)\.most, ",
        r"s\.heir [!=]= ",
    ],
    "use an address": [r"s\.address", r"\.owner [!=]= "],
    "read a token account": [
        rf"\b\w+\.{field}\b"
        for field in (
            "amount",
            "mint",
            "owner",
            "delegate",
            "delegated_amount",
            "is_frozen",
        )
    ],
    "read a mint": [r"coin\.decimals", r"coin\.supply"],
    "ask for a delegate": [
        r"delegate is None",
        r"delegate is not None",
        r"delegate [!=]= ",
    ],
    "take a value that may be missing": [
        r"\bor_else\((maybe|pair\.last|None|kept\()",
        r"\bguest_of\(guest, sure\)",
        r"mood[:,) ]",
        r"twin is None",
    ],
    "ask whether it is there": [
        r"^ +if o\d+ is None:$",
        r"maybe is None or maybe < ",
        r"deep is not None and deep > ",
        r"maybe if maybe is not None else",
        r"guest (==|!=) ",
    ],
    "use an account that may be left out": [
        r"^ +if extra is not None:$",
        r"^ +if extra is None:$",
        r"^ +if aide is None:$",
        r"extra is None or extra\.",
        r"extra\.f_\w+ (=|\+=)",
        r"source=pot, ",
        r"total\(extra\)",
        r"bump\(.*, extra, ",
        r"reset\(extra",
        r"aide\.address",
        r"pot\.(amount|mint)",
    ],
    "have a value that may be missing": [
        r"o\d+: u64 \| None = None$",
        r"^ +o\d+ = None$",
        r" if flag else None",
        r"^ +return .* else None$",
        r"last=None",
    ],
    "tell keys from derived addresses": [r"is_on_curve\("],
    "ask what an account is": [
        r"\bis_token_account\(",
        r"not is_mint\(",
        r"\bis_owned\(",
        r"\bheld_by\(",
    ],
    "look at Token-2022's extensions": [
        r"for extension\d* in extensions\((shown|coins)\):",
        r"extension\d*\.kind",
        r"extension\d*\.is_zero\(",
        r"\bseen\(shown, coins\)",
    ],
    "read an account's bytes": [
        r"\.data(_at\(0\))?\[(\d|min\()",
        *(rf"\.data\.{kind}\(" for kind in ("u8", "u64", "i32", "i128", "pubkey")),
        r"= blob\.data$",
        r"len\(",
    ],
    "take a part of bytes": [r"\[8:40\] ", r"\[:2\] ", r"\[[^]:]+:\]"],
    "learn which program owns an account": [r"blob\.program ", r"tokens\.program "],
    "read the transaction": [r"\.current_index", r"\.program_at\(", r"\.data_at\("],
    "move tokens": [
        r"token_program\.transfer\(.*authority=s",
        r"\.transfer\(.*authority=owner",
    ],
    "move tokens of either token program": [
        r"interface\.transfer_checked\(.*authority=s",
        r"token_program\.transfer_checked\(",
    ],
    "allow a delegate to move tokens": [
        r"interface\.approve\(",
        r"\.revoke\(source=coins",
    ],
    "make and destroy tokens": [r"\.mint_to\(", r"\.burn\("],
    "close a token account": [r"\.close_account\("],
    "name a variant of an enum": [r"Mode\.(Slow|Fast|Off)"],
    "make and read a struct": [r"\bPair\(left=", r"pair\.left"],
    "keep and compare bytes of a fixed length": [r"s\.mark = ", r"mark [!=]= "],
    "hash values": [
        r"= sha256\(",
        r"[!=]= sha256\(",
        r"sha256\(.*(pairs|numbers|keys|bits|raw)",
        r"sha256\(.*encoded\((pairs|numbers|keys|bits)\)",
        r"sha256\(.*encoded\((flag|mark)\)",
    ],
    "go over a list": [
        *(rf"in {name}:" for name in ("pairs", "numbers", "keys", "raw")),
        r"in enumerate\(pairs\):",
        r"len\((pairs|numbers|keys)\)",
        r"\bweights\(pairs, ",
    ],
    "go over the accounts after the named ones": [
        r"item\d+ in crowd:",
        r"in enumerate\(crowd\):",
        r"len\(crowd\)",
        r"item\d+\.address ",
        r"item\d+\.(f_u64|owner)",
        r"item\d+\.(amount|mint)",
        r"item\d+\.(data|program)",
        r"(total|held_by|may_take)\(item\d+",
        r"destination=item\d+",
    ],
    "go over several at once": [
        rf" in zip\(({name}), numbers, strict=True\):"
        for name in ("pairs|keys", "crowd")
    ],
    "ask whether a condition holds for all items, or for any": [
        r"\b(all|any)\(bits\)",
        r"\bknows\(keys, ",
        *(
            rf"\b{which}\(.+ for \w+ in {items}( if .+)?\)"
            for which in ("all", "any")
            for items in ("pairs", "numbers", "keys", "crowd", r"range\(.+\)")
        ),
        r"\b(all|any)\(.+ for \w+ in extensions\(",
        r"\b(all|any)\(.+ for \w+, \w+ in enumerate\((pairs|crowd|keys)\)",
        r"\b(all|any)\(.+ for \w+, \w+ in zip\((pairs|crowd|keys), numbers, strict=True\)",
        r"\ball\(.+ for \w+ in \w+ if .+\)",
        r"\bany\(.+ for \w+ in \w+ if .+\)",
        r"\b(all|any)\(\(*\w+\.is_zero\(",
        r"\b(all|any)\(.+ for \w+ in raw( if .+)?\)",
    ],
    "derive an address": [r"find_program_address\("],
    "create an associated token account": [r"\.create_idempotent\("],
    "order addresses": [r"is_before\("],
    "read a big-endian number": [r"big_endian=True"],
    "read bytes of a fixed length": [r"Data\(mark\)\.u64\("],
    "ask whether an account exists": [r"is_new\(fresh\)"],
    "create an account with state": [r"n = create\(self\.S, fresh, payer=owner\)"],
    "use state that an account may have": [r"n = load\(self\.S, fresh\)"],
    "use the bump of an address with seeds": [r"fresh\.bump"],
    "close an account with state": [r"\bclose\(spare, owner\)", r"\bclose\(spare, s\)"],
    "log an event": [r"emit\(self\.Ev\("],
    "record an event by a call": [r"emit_cpi\(self\.Ev\("],
    "return data": [r"^ +return "],
    "read the clock": [
        rf"Clock\.get\(\)\.{field}" for field in ("unix_timestamp", "slot", "epoch")
    ],
    "use a constant": [r"self\.FEE", r"\bLIMIT\b", r"\bHOUR\b", r"\bNOBODY\b"],
    "share code": [
        rf"\b{name}\("
        for name in (
            "share",
            "larger",
            "must_differ",
            "mode_of",
            "total",
            "pair_of",
            "bump",
            "reset",
        )
    ],
}


def rows_of_docs() -> list[str]:
    """The first column of the language table."""
    text = (REPO / "docs/bodies.md").read_text(encoding="utf-8")
    table = text[text.index("## The language") : text.index("## What is refused")]
    rows = [
        line.split("|")[1].strip()
        for line in table.splitlines()
        if line.startswith("|")
    ]
    return rows[2:]  # without the head


def missing(text: str) -> dict[str, list[str]]:
    """The rows that the bodies in *text* do not have, each with the patterns that were not found."""
    left = {
        row: [each for each in patterns if not re.search(each, text, re.MULTILINE)]
        for row, patterns in ROWS.items()
    }
    return {row: patterns for row, patterns in left.items() if patterns}

"""Finds the checks in a rendered crate's sources, and writes them so that a number switches one of them off."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

__all__ = ["MARKER", "MODULE", "Mutant", "Numbers", "guarded"]

#: The number's place in the compiled program: these bytes, with the number instead of the two zeros.
MARKER = bytes.fromhex("00009e3779b97f4a")

#: The module that says which check is off, src/mutants.rs.
MODULE = """//! Which check is off.

use pinocchio::Address;

#[used]
static CHOSEN: u64 = 0x4a7f_b979_379e_0000;

/// Is the check with this number off? The number is written into the compiled program.
#[inline(never)]
pub fn off(number: u16) -> bool {
    // SAFETY: a static, which is always there. Volatile, because the compiler must not know the number.
    (unsafe { core::ptr::addr_of!(CHOSEN).read_volatile() }) as u16 == number
}

/// The value, or None if the check is off.
#[allow(dead_code)]
pub fn unless<T>(number: u16, value: Option<T>) -> Option<T> {
    value.filter(|_| !off(number))
}

/// The bump of a derived address that is not compared.
#[allow(dead_code)]
pub fn bump<const N: usize>(seeds: &[&[u8]; N], program: &Address) -> u8 {
    Address::derive_program_address(seeds, program).map_or(255, |(_, bump)| bump)
}
"""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A program without one check. `instruction` is empty for a check that all instructions share."""

    number: int
    file: str
    text: str
    instruction: str

    @property
    def key(self) -> str:
        """The check's name in the list of those that no attack can reach."""
        return f"{self.file}: {self.text}"


@dataclass
class Numbers:
    """The mutants so far, numbered from 1."""

    mutants: list[Mutant] = field(default_factory=list)

    def take(self, file: str, text: str) -> int:
        """The number of a new mutant."""
        folder, _, name = file.rpartition("/")
        number = len(self.mutants) + 1
        owner = name.removesuffix(".rs") if folder == "instruction" else ""
        text = " ".join(text.split())
        while any((each.file, each.text) == (file, text) for each in self.mutants):
            text += ", again"  # so that each has a key of its own
        self.mutants.append(Mutant(number, file, text, owner))
        return number


#: Statements that do nothing but check: a call whose value is dropped.
_STATEMENT = re.compile(
    r"^[ ]*(?P<call>checks::(?!data\b)\w+|ensure|token_program|r\.end|account\.check_borrow)\(",
    re.M,
)
#: A check whose value is used: the bump of a derived address.
_FOUND = re.compile(r"^[ ]*let \w+ = (?P<call>checks::found)\(", re.M)
#: A check of an account's type, with or without a variable for its state.
_LOAD = re.compile(
    r"^[ ]*(?:let \w+ = )?(?P<type>[A-Z]\w+)::load\((?P<data>\w+)\)\?;", re.M
)
#: A part of a check of a token account or mint, as an argument.
_PART = re.compile(r"\bSome\(")

#: Conditions inside the checks that instructions share: (file, condition, what stands there if it is off).
_CONDITIONS = (
    (r"state/.*", "data.len() >= Self::LEN", "true"),
    (
        r"state/.*",
        "u64::from_le_bytes(*found) == u64::from_le_bytes(Self::DISCRIMINATOR)",
        "true",
    ),
    (r"state/.*", "*found == Self::DISCRIMINATOR", "true"),
    (r"checks\.rs", "is_kind(data, TOKEN_ACCOUNT_SIZE, 2)", "true"),
    (r"checks\.rs", "data.get(108).is_some_and(|state| *state != 0)", "true"),
    (r"checks\.rs", "is_kind(data, MINT_SIZE, 1)", "true"),
    (r"checks\.rs", "data.get(45).is_some_and(|state| *state == 1)", "true"),
    (r"checks\.rs", "data.len() != MULTISIG_SIZE", "true"),
    (r"checks\.rs", "data.get(TOKEN_ACCOUNT_SIZE) == Some(&kind)", "true"),
    (r"entrypoint\.rs", "input.cast::<u64>().read() > MAX_ACCOUNTS as u64", "false"),
)
_FLAG = "_ => Err(malformed())"


def guarded(file: str, text: str, numbers: Numbers) -> str:
    """The source *file* with each of its checks behind its number."""
    for rewrite in (_statements, _found, _loads, _conditions, _flags):
        text = rewrite(file, text, numbers)
    return text


def _replaced(
    text: str,
    pattern: re.Pattern[str],
    new: Callable[[re.Match[str], str], tuple[str, int]],
) -> str:
    """Replace what *new* makes of each match; it returns the text and where the rest goes on."""
    parts, at = [], 0
    for match in pattern.finditer(text):
        if match.start() < at:
            continue
        replacement, end = new(match, text)
        parts += [text[at : match.start()], replacement]
        at = end
    return "".join([*parts, text[at:]])


def _statements(file: str, text: str, numbers: Numbers) -> str:
    def guard(match: re.Match[str], whole: str) -> tuple[str, int]:
        end = _closing(whole, match.end()) + 1
        if not whole.startswith("?;", end):  # the value of a function, or of a variable
            return whole[match.start() : match.end()], match.end()
        statement = whole[match.start() : end]
        number = numbers.take(file, statement)
        inner = "".join(_parts(file, statement, numbers))
        return f"if !crate::mutants::off({number}) {{\n{inner}?;\n}}", end + 2

    return _replaced(text, _STATEMENT, guard)


def _parts(file: str, statement: str, numbers: Numbers) -> Iterator[str]:
    """The pieces of a check of a token account or mint, each `Some(…)` behind a number of its own."""
    at = 0
    if re.match(r"\s*checks::(token|mint)_account", statement):
        for match in _PART.finditer(statement):
            end = _closing(statement, match.end()) + 1
            part = statement[match.start() : end]
            number = numbers.take(file, f"{statement.strip()} without {part}")
            yield statement[at : match.start()]
            yield f"crate::mutants::unless({number}, {part})"
            at = end
    yield statement[at:]


def _found(file: str, text: str, numbers: Numbers) -> str:
    def guard(match: re.Match[str], whole: str) -> tuple[str, int]:
        end = _closing(whole, match.end()) + 1
        call = whole[match.start("call") : end]
        number = numbers.take(file, call)
        seeds = whole[whole.index("&[", match.end()) : end - 1]
        seeds, program = (
            seeds[: _closing(seeds, 2) + 1],
            seeds[_closing(seeds, 2) + 2 :],
        )
        other = f"crate::mutants::bump({seeds}, {program.split(',')[0].strip()})"
        start = whole[match.start() : match.start("call")]
        value = f"if crate::mutants::off({number}) {{ {other} }} else {{ {call}? }}"
        return f"{start}{value}", end + 1

    return _replaced(text, _FOUND, guard)


def _loads(file: str, text: str, numbers: Numbers) -> str:
    if not file.startswith("instruction/"):
        return text

    def guard(match: re.Match[str], _: str) -> tuple[str, int]:
        load = f"{match['type']}::load({match['data']})"
        number = numbers.take(file, f"{load}, without the type")
        blind = f"unsafe {{ &*{match['data']}.as_ptr().cast::<{match['type']}>() }}"
        value = f"if crate::mutants::off({number}) {{ {blind} }} else {{ {load}? }};"
        variable = match[0].partition(match["type"])[0] or "let _ = "
        return (
            f"{variable if 'let' in variable else 'let _ = '}{value}",
            match.end(),
        )

    return _replaced(text, _LOAD, guard)


def _conditions(file: str, text: str, numbers: Numbers) -> str:
    for pattern, condition, off in _CONDITIONS:
        if not re.fullmatch(pattern, file):
            continue
        words = r"\s*".join(
            re.escape(word) for word in re.findall(r"\w+|\S", condition)
        )
        match = re.search(words, text)
        if match is not None:
            number = numbers.take(file, condition)
            value = (
                f"(if crate::mutants::off({number}) {{ {off} }} else {{ {match[0]} }})"
            )
            text = text[: match.start()] + value + text[match.end() :]
    return text


def _flags(file: str, text: str, numbers: Numbers) -> str:
    if file != "codec.rs" or _FLAG not in text:
        return text
    number = numbers.take(file, "a flag of neither 0 nor 1")
    return text.replace(
        _FLAG, f"_ if crate::mutants::off({number}) => Ok(true),\n{_FLAG}", 1
    )


def _closing(text: str, start: int) -> int:
    """Where the bracket that is open at *start* closes. Brackets in byte strings do not count."""
    depth, at = 1, start
    while depth:
        string = re.compile(r'b"(?:[^"\\]|\\.)*"').match(text, at)
        if string is not None:
            at = string.end()
            continue
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[at], 0)
        at += 1
    return at - 1

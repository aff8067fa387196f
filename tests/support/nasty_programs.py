"""Programs whose names and docs try to leave their place in rendered code."""

from __future__ import annotations

from mcpsol_py.model.program import (
    Account,
    AccountType,
    ConstSeed,
    Discriminator,
    ErrorCode,
    Event,
    Instruction,
    Pda,
    ProgramModel,
)
from mcpsol_py.model.types import (
    BORSH_STRING,
    PUBKEY,
    U64,
    Enum,
    Field,
    Link,
    Struct,
    TypeDef,
    Variant,
)

NASTY = [
    '"); std::process::abort(); //',
    "*/ pub fn evil() {} /*",
    '"# r#" "##',
    "line\nbreak\r\nand\u2028more\u2029",
    "{{ crate.name }}{% raw %}{# x #}",
    "\u202etxet\u202c\u200b\u2066",
    "'; \\",
    "#![allow(warnings)] #[no_mangle]",
    "x" * 1_000_000,
]


def program(text: str, name: str) -> ProgramModel:
    """A program whose every text is *text* and whose every name is made with *name*."""
    docs = (text, text)
    kind = f"{name}Kind"
    fields = (
        Field(f"{name}a", U64, docs),
        Field(f"{name}b", Link(kind), docs),
        Field(f"{name}c", BORSH_STRING, docs),
    )
    body = Struct((Field(f"{name}x", PUBKEY, docs), Field(f"{name}y", U64, docs)))
    return ProgramModel(
        name=f"{name}program",
        docs=docs,
        version=text[:50],
        address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb",
        instructions=(
            Instruction(
                f"{name}go",
                Discriminator(b"12345678"),
                fields,
                (
                    Account(
                        f"{name}state",
                        writable=True,
                        docs=docs,
                        pda=Pda((ConstSeed(text.encode()[:32]),)),
                    ),
                    Account(f"{name}signer", signer=True, docs=docs),
                    Account(
                        f"{name}fixed",
                        address="11111111111111111111111111111112",
                        docs=docs,
                    ),
                ),
                docs=docs,
                hints=(("when", text),),
                returns=Link(kind),
            ),
        ),
        accounts=(
            AccountType(
                f"{name}State", Discriminator(b"abcdefgh"), Link(f"{name}State"), docs
            ),
        ),
        events=(
            Event(
                f"{name}Event", Discriminator(b"ijklmnop"), Link(f"{name}Event"), docs
            ),
        ),
        errors=(ErrorCode(6000, f"{name}Error", text),),
        types=(
            TypeDef(
                kind,
                Enum(
                    (
                        Variant(f"{name}One", None, None, docs),
                        Variant(f"{name}Two", body),
                    )
                ),
                docs,
                shape="enum",
            ),
            TypeDef(f"{name}State", body, docs),
            TypeDef(f"{name}Event", body, docs),
        ),
        origin=text[:200],
    )


def strings_gone(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pages are as many as the texts need: a list of literals counts as one literal."""
    out: list[tuple[str, str]] = []
    for token in found:
        if token == ("string", "") and out[-2:] == [("string", ""), ("punct", ",")]:
            out.pop()
            continue
        out.append(token)
    return out

"""Names that Anchor and its macros use, and identifiers that its macros accept."""

from __future__ import annotations

import re
from hashlib import sha256

from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.type_text import type_text
from mcpsol_py.render.handlers.modules import HANDLER_MODULES
from mcpsol_py.render.rust import IdentifierPool, Rust, ident

__all__ = [
    "ARGUMENT_STRUCTS",
    "FUNCTIONS",
    "MODULES",
    "TYPES",
    "anchor_discriminator",
    "argument_struct_names",
    "plain_identifier",
    "upper_camel",
]

_TYPES = """
Account AccountInfo AccountLoader AccountMeta Accounts AccountsExit AnchorDeserialize
AnchorSerialize AssociatedToken Box Bumps Clock Context CpiContext Cursor Default
Discriminator EpochSchedule Err Error Event Id Instruction Instructions Interface
InterfaceAccount Key LazyAccount Lamports ListTools Migration Mint None Ok Option Owner
Owners Program ProgramData ProgramError Pubkey RemainingBytes Rent Result Rewards Self
Signer SlotHashes SlotHistory Some Space StakeHistory String SystemAccount System Sysvar
ToAccountInfo ToAccountInfos ToAccountMetas Token Token2022 TokenAccount TokenInterface
UncheckedAccount UpgradeableLoaderState Vec InitSpace Owned
"""
#: Types that Anchor's prelude and Rust's bring into each file, or that the #[program] macro makes.
TYPES = tuple(_TYPES.split())
_MODULES = """
accounts constants cpi error events helpers instruction instructions list_tools processor
program state tokens types
anchor_lang anchor_spl std core alloc entry try_entry
"""
#: Modules of the crate and those that the #[program] macro makes.
MODULES = (*_MODULES.split(), *HANDLER_MODULES)
_ARGUMENT_STRUCTS = """
ListTools Ok Err Some None Option Result Vec String Box Default Discriminator Owner Pubkey
"""
#: Structs that the #[program] macro may not make for an instruction: its own code uses these names beside them.
ARGUMENT_STRUCTS = frozenset(_ARGUMENT_STRUCTS.split())
#: Names that no instruction may have: its module comes in by a glob, before the crates of those names.
FUNCTIONS = (
    "list_tools",
    "entry",
    "processor",
    "super_",
    "self_",
    "crate_",
    "std",
    "core",
    "alloc",
    "anchor_lang",
    "anchor_spl",
)


def upper_camel(name: str) -> str:
    """The name of the struct that Anchor's macro (the crate heck) makes for a function."""
    return "".join(word[:1].upper() + word[1:].lower() for word in name.split("_"))


def argument_struct_names(model: ProgramModel) -> set[str]:
    """Names of types of arguments that the #[program] macro also gives to structs of arguments."""
    made = {upper_camel(ident(ix.name)) for ix in model.instructions}
    return _argument_types(model) & made


def _argument_types(model: ProgramModel) -> set[str]:
    names: set[str] = set()
    for ix in model.instructions:
        for field in ix.args:
            words = re.findall(r"\w+", type_text(field.type))
            names.update(str(ident(word, "pascal")) for word in words)
    return names


def plain_identifier(names: IdentifierPool, name: str, kind: str) -> Rust:
    """Like `names.take`, but never raw, because Anchor's macros make other identifiers of it.

    *kind* is the word that is added to a keyword, such as "field".
    """
    taken = names.take(name)
    if not taken.startswith("r#"):
        return taken
    return names.take(f"{taken.removeprefix('r#')} {kind}")


def anchor_discriminator(kind: str, name: str) -> bytes:
    """The discriminator that Anchor derives. *kind*: "global" (an instruction), "account" or "event"."""
    return sha256(f"{kind}:{name}".encode()).digest()[:8]

"""The differences between the Rust libraries that a crate may use: how it holds, borrows and signs for accounts.

Everything else (codec, types, state, events, errors, order of checks) is the same for both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from mcpsol_py.errors import RenderError
from mcpsol_py.render.rust import Rust, code

__all__ = ["MODULES", "NATIVE", "PINOCCHIO", "TARGETS", "Target", "target_of"]


@dataclass(frozen=True, slots=True)
class Target:
    """One library. `folders`: the folders of its templates, in order of precedence."""

    name: str
    folders: tuple[str, ...]
    #: an account that is written, one that is only read, and the list of all, as types
    written: Rust
    read: Rust
    listed: Rust
    generics: Rust
    handler_accounts: Rust
    accounts_mut: bool
    #: an instruction is handed over in registers, and its exit code comes back in one
    by_registers: bool
    seed: Rust
    #: an account's address, its data, its data to be written; {x} is the account
    key: str
    data: str
    data_mut: str
    #: the variable `data` that holds it, as a slice
    loaded: str
    imports: dict[str, str] = field(default_factory=dict)
    #: names that only the library files (checks, codec, entrypoint, schema) import
    library_imports: dict[str, str] = field(default_factory=dict)

    @property
    def mutable(self) -> Rust:
        return code("mut " if self.accounts_mut else "")

    def address(self, x: str) -> str:
        """The expression for the account's address: a reference."""
        return self.key.format(x=x)

    def borrow(self, x: str) -> str:
        return self.data.format(x=x)

    def borrow_mut(self, x: str) -> str:
        return self.data_mut.format(x=x)

    def seed_of(self, expression: str) -> str:
        """One seed, in the library's form."""
        return f"Seed::from({expression})" if self.name == "pinocchio" else expression

    def signers(self, seeds: Iterable[str]) -> str:
        """The signers of a call that one derived address signs."""
        listed = ", ".join(map(self.seed_of, seeds))
        return (
            f"&[Signer::from(&[{listed}])]"
            if self.name == "pinocchio"
            else f"&[&[{listed}]]"
        )


_CRATE = {
    "Reader": "crate::codec",
    "Writer": "crate::codec",
    "Output": "crate::codec",
    "Flag": "crate::codec",
    **{f"{kind}{bits}": "crate::codec" for kind in "UI" for bits in (16, 32, 64, 128)},
    "F32": "crate::codec",
    "F64": "crate::codec",
    "Check": "crate::error",
    "Call": "crate::entrypoint",
    "exit_code": "crate::entrypoint",
    "checks": "crate",
    "ids": "crate",
    "instruction": "crate",
    "schema": "crate",
    "processor": "crate",
    "log": "crate::log",
    "log_data": "crate::log",
    "return_data": "crate::log",
}

PINOCCHIO = Target(
    name="pinocchio",
    folders=("pinocchio",),
    written=code("&'a mut AccountView"),
    read=code("&'a AccountView"),
    listed=code("&'a mut [AccountView]"),
    generics=code("<'a>"),
    handler_accounts=code("&mut Accounts"),
    accounts_mut=True,
    by_registers=True,
    seed=code("Seed<'_>"),
    key="{x}.address()",
    data="checks::data({x})?",
    loaded="data",
    data_mut="{x}.try_borrow_mut()?",
    imports={
        **_CRATE,
        "AccountView": "pinocchio",
        "Address": "pinocchio",
        "ProgramResult": "pinocchio",
        "ProgramError": "pinocchio::error",
        "Seed": "pinocchio::cpi",
        "Signer": "pinocchio::cpi",
        "Vec": "alloc::vec",
        "Box": "alloc::boxed",
    },
    library_imports={
        "MaybeUninit": "core::mem",
        "PhantomData": "core::marker",
        "from_raw_parts": "core::slice",
        "from_raw_parts_mut": "core::slice",
        "address_eq": "pinocchio::address",
        "cold_path": "pinocchio::hint",
        "deserialize": "pinocchio::entrypoint",
        "MAX_PERMITTED_DATA_INCREASE": "pinocchio::account",
        "Rent": "pinocchio::sysvars::rent",
        "Sysvar": "pinocchio::sysvars",
        "InitializeAccount3": "pinocchio_token::instructions",
        "InitializeMint2": "pinocchio_token::instructions",
        "Transfer": "pinocchio_system::instructions",
    },
)

NATIVE = Target(
    name="native",
    folders=("native", "pinocchio"),
    written=code("&'a AccountInfo<'info>"),
    read=code("&'a AccountInfo<'info>"),
    listed=code("&'a [AccountInfo<'info>]"),
    generics=code("<'a, 'info>"),
    handler_accounts=code("&Accounts"),
    accounts_mut=False,
    by_registers=False,
    seed=code("&[u8]"),
    key="{x}.key",
    data="{x}.try_borrow_data()?",
    loaded="&data",
    data_mut="{x}.try_borrow_mut_data()?",
    imports={
        **_CRATE,
        "AccountInfo": "solana_program::account_info",
        "Address": "solana_program::pubkey::Pubkey as Address",
        "ProgramResult": "solana_program::entrypoint",
        "ProgramError": "solana_program::program_error",
    },
    library_imports={
        "MaybeUninit": "core::mem",
        "AccountMeta": "solana_program::instruction",
        "Instruction": "solana_program::instruction",
        "MAX_PERMITTED_DATA_INCREASE": "solana_program::entrypoint",
        "MAX_SEED_LEN": "solana_program::pubkey",
        "Rent": "solana_program::rent",
        "Sysvar": "solana_program::sysvar",
        "invoke": "solana_program::program",
        "invoke_signed": "solana_program::program",
    },
)

_LIBRARIES = (PINOCCHIO, NATIVE)

#: The targets that `render_crate` takes. Anchor has views of its own: render/anchor.
#: Those that end in "-module" only add list_tools to a program that exists: render/module.py.
MODULES = ("pinocchio-module", "native-module", "anchor-module")
TARGETS = ("pinocchio", "native", "anchor", *MODULES)


def target_of(name: str) -> Target:
    """The target called *name*. Raises RenderError."""
    for target in _LIBRARIES:
        if target.name == name:
            return target
    raise RenderError(f"unknown target {name!r}; expected one of {', '.join(TARGETS)}.")

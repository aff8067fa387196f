"""The views of Rust types: each type's declaration, and the code that reads and writes it."""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.render.rust import Rust, code, lifetime_of

__all__ = [
    "EnumView",
    "RustField",
    "StructView",
    "Value",
    "VariantForm",
]


@dataclass(frozen=True, slots=True)
class Value:
    """A Rust expression for a value to write: `self.amount` (a place), or `item` (a reference)."""

    text: str
    is_ref: bool

    @property
    def value(self) -> str:
        return f"*{self.text}" if self.is_ref else self.text

    @property
    def ref(self) -> str:
        return self.text if self.is_ref else f"&{self.text}"


@dataclass(frozen=True, slots=True)
class RustField:
    """One field. `read` is an expression, `write` are statements. `name` is empty in a tuple."""

    name: Rust
    type: Rust
    docs: tuple[Rust, ...]
    read: Rust
    write: tuple[Rust, ...]

    @property
    def declaration(self) -> str:
        """The field in the declaration of a struct."""
        return f"{self.name}: {self.type}"

    @property
    def initializer(self) -> str:
        """The field in an expression that makes a struct."""
        return f"{self.name}: {self.read}"

    @property
    def reading(self) -> Rust:
        """The statement that reads the field into a variable."""
        return code(f"let {self.name} = {self.read};")


@dataclass(frozen=True, slots=True)
class StructView:
    """A named type with fields. `generics` is "<'a>" or empty."""

    name: Rust
    generics: Rust
    derives: Rust
    docs: tuple[Rust, ...]
    fields: tuple[RustField, ...]
    is_tuple: bool
    #: statements that read each field into a variable of its name, and that write them all
    reads: tuple[Rust, ...]
    writes: tuple[Rust, ...]
    build: Rust
    is_struct: bool = True
    #: the program reads values of this type, and writes them
    is_read: bool = True
    is_written: bool = True

    @property
    def reader(self) -> Rust:
        return lifetime_of(self.generics)

    @property
    def r(self) -> Rust:
        """The reader's name, with an underscore if it is not used."""
        return code("r" if self.reads else "_r")

    @property
    def w(self) -> Rust:
        return code("w" if self.writes else "_w")


@dataclass(frozen=True, slots=True)
class VariantForm:
    """One variant: its declaration, the pattern that binds its fields, and how it is read and written."""

    tag: Rust
    docs: tuple[Rust, ...]
    is_unit: bool
    declaration: Rust
    pattern: Rust
    build: Rust
    writes: tuple[Rust, ...]


@dataclass(frozen=True, slots=True)
class EnumView:
    """A named enum. `read_tag` reads the number that tells its variants apart."""

    name: Rust
    generics: Rust
    derives: Rust
    docs: tuple[Rust, ...]
    variants: tuple[VariantForm, ...]
    read_tag: Rust
    has_payload: bool
    is_struct: bool = False
    is_read: bool = True
    is_written: bool = True

    @property
    def reader(self) -> Rust:
        return lifetime_of(self.generics)

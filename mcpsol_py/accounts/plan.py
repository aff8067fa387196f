"""The accounts of an instruction, prepared once for many calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from solders.pubkey import Pubkey

from mcpsol_py.accounts.account_names import AccountNames
from mcpsol_py.accounts.conventions import MintSeed, token_program_mints
from mcpsol_py.accounts.inputs import address_of
from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.accounts.members import item_at
from mcpsol_py.accounts.required import FillCheck
from mcpsol_py.accounts.resolution import Resolution, Resolver
from mcpsol_py.items import items_by_name, types_by_name
from mcpsol_py.model.program import Instruction
from mcpsol_py.model.relations import Relation, relations_of
from mcpsol_py.model.types import Struct, Tuple, Type
from mcpsol_py.names import ByName

if TYPE_CHECKING:
    from mcpsol_py.codec.compiled import Codecs

__all__ = ["Plan"]


class Plan(AccountNames):
    """The accounts and arguments of one instruction by name, and the types of account data.

    `resolve` begins one call. Making a plan never fails: an account that cannot be resolved raises
    when a call needs it.
    """

    def __init__(self, codecs: Codecs, instruction: Instruction) -> None:
        super().__init__(instruction)
        self.codecs = codecs
        self.args = items_by_name(instruction.args)
        self.arg_names = ByName(self.args)
        self.arg_values = dict(instruction.arg_values)
        self.facade_of = address_of(codecs.model.facade_of)
        #: the program's address in the source
        self.own_address = codecs.model.address

    @cached_property
    def _relations(self) -> Mapping[tuple[str, ...], Sequence[Relation]]:
        return relations_of(self.instruction)

    def relations(self, leaf: Leaf) -> Sequence[Relation]:
        """Return the accounts whose data have the address of *leaf*."""
        return self._relations.get(leaf.path, ())

    @cached_property
    def token_program_mints(self) -> Mapping[int, Sequence[MintSeed]]:
        """The mints that decide each token program, by the token program's index."""
        return token_program_mints(self)

    @cached_property
    def _state_types(self) -> ByName[Type]:
        return ByName(types_by_name(self.codecs.model.accounts))

    # --- types ---------------------------------------------------------------------------------

    def knows_arg(self, path: Sequence[str]) -> bool:
        """Return whether the first step of *path* is an argument of the instruction."""
        return bool(path) and path[0] in self.arg_names

    def arg_type(self, path: Sequence[str]) -> Type | None:
        """Return the type of an argument, or of the part of one, or None."""
        arg = self.arg_names.get(path[0]) if path else None
        return None if arg is None else self.walk_type(arg.type, path[1:])

    def state_type(self, name: str) -> Type | None:
        """Return the type of an account type of this program, or None."""
        return self._state_types.get(name)

    def walk_type(self, node: Type | None, path: Sequence[str]) -> Type | None:
        """Return the type at *path* in *node*: fields by name, tuple members by number."""
        found = node
        for step in path:
            if found is None:
                return None
            found = _member_type(self.codecs.layouts.resolver.target(found), step)
        return found

    # --- calls ---------------------------------------------------------------------------------

    def must_give(self, *, wallet: bool = True, online: bool = True) -> list[Leaf]:
        """Return the accounts that a caller must give, even with all arguments. None is optional.

        *wallet*: the caller has a wallet. *online*: account data can be read.
        """
        check = FillCheck(self, wallet=wallet, online=online)
        required = [leaf for leaf in self.leaves if not leaf.account.optional]
        return [leaf for leaf in required if not check.fills(leaf)]

    def resolve(
        self,
        args: Mapping[str, Any],
        accounts: Mapping[str, Any],
        *,
        program_id: Pubkey,
        wallet: object = None,
        payer: object = None,
        remaining: Sequence[Any] = (),
        resolvers: Mapping[str, Resolver] | None = None,
        online: bool = False,
    ) -> Resolution:
        """Begin one call.

        Raises UnknownName for an account that the instruction does not have, EncodeError for a
        value that is not an address, MissingAccount for a required account that is given as None.
        """
        return Resolution(
            self,
            args,
            accounts,
            program_id,
            wallet,
            payer,
            remaining,
            resolvers or {},
            online,
        )


def _member_type(node: Type, step: str) -> Type | None:
    if isinstance(node, Struct):
        return ByName(types_by_name(node.fields)).get(step)
    return item_at(node.items, step) if isinstance(node, Tuple) else None

"""What the code of one instruction's accounts shares while it is made."""

from __future__ import annotations

from mcpsol_py.errors import RenderError
from mcpsol_py.model.program import Constraints, Instruction
from mcpsol_py.render.account_lookup import (
    AccountLookup,
    NamedAccount,
    flatten,
    remaining_docs,
)
from mcpsol_py.render.relations import ImpliedChecks, implied_checks
from mcpsol_py.render.rust import IdentifierPool, Rust, code, comment, doc
from mcpsol_py.render.view.accounts.views import AccountsView, Slot
from mcpsol_py.render.view.context import CrateContext
from mcpsol_py.render.view.state import StateView

__all__ = ["Scope"]


class Scope:
    """The accounts of one instruction, the variables of their checks, and the view that is made of them."""

    def __init__(
        self, ix: Instruction, context: CrateContext, arg_names: dict[str, Rust] | None
    ) -> None:
        self.ix = ix
        self.context = context
        self.target = context.target
        #: the Rust names of the arguments; None if they are not decoded
        self.arg_names = arg_names
        self.names = IdentifierPool(
            "program_id",
            "accounts",
            "args",
            "remaining",
            "rest",
            "data",
            "state",
            "self_",
        )
        implied = implied_checks(ix, context.types.resolver, context.checkable)
        self.accounts = self._named(implied)
        self.lookup = AccountLookup(ix, self.accounts)
        self.view = self._view()
        for what in implied.unchecked:
            self.not_checked(what)
        #: variables with fields of state, by the account's path and the field
        self.captured: dict[tuple[tuple[str, ...], str], str] = {}
        #: variables with bumps, and the other seeds, by the account's path
        self.bumps: dict[tuple[str, ...], str] = {}
        self.seeds: dict[tuple[str, ...], list[str]] = {}

    def _named(self, implied: ImpliedChecks) -> list[NamedAccount]:
        flat = flatten(self.ix.accounts)
        omitted = self.ix.optional_accounts == "omitted"
        needed = max(
            (i + 1 for i, (_, a) in enumerate(flat) if not a.optional), default=0
        )
        return [
            NamedAccount(
                path,
                account,
                self.names.take("_".join(path)),
                omitted and i >= needed,
                implied.constraints.get(path, Constraints()),
            )
            for i, (path, account) in enumerate(flat)
        ]

    def _view(self) -> AccountsView:
        head = [a.name for a in self.accounts if not a.is_tail]
        has_tail = len(head) < len(self.accounts)
        takes_rest = has_tail or bool(self.ix.remaining)
        rest = "rest @ .." if takes_rest else ".."
        return AccountsView(
            slots=tuple(map(self._slot, self.accounts)),
            pattern=code(f"[{', '.join([*head, rest])}]"),
            has_tail=has_tail,
            needs_some=bool(head),
            takes_rest=takes_rest,
            remaining=bool(self.ix.remaining),
            remaining_docs=doc(remaining_docs(self.ix)),
        )

    def _slot(self, a: NamedAccount) -> Slot:
        model = a.model
        pointer = self.target.written if model.writable else self.target.read
        is_there = f"{self.target.address('account')} != program_id"
        return Slot(
            name=a.name,
            type=code(f"Option<{pointer}>" if model.optional else pointer),
            build=self._build(a),
            docs=doc(model.docs),
            is_tail=a.is_tail,
            is_optional=model.optional and not a.is_tail,
            if_there=code(f"Some({a.name}).filter(|account| {is_there})"),
        )

    def _build(self, a: NamedAccount) -> Rust:
        """The account as an item of the struct. An optional one that is only read loses its `mut`."""
        if self.target.accounts_mut and a.model.optional and not a.model.writable:
            return code(f"{a.name}: {a.name}.map(|account| &*account)")
        return a.name

    # --- code ---------------------------------------------------------------------------------------------------------

    def address(self, a: NamedAccount) -> str:
        """The expression for the account's address."""
        return self.target.address(a.name)

    def address_of(self, name: str, beside: NamedAccount, purpose: str) -> str:
        """The address of the account *name*, or of a constant if *name* is an address."""
        named = self.lookup.find(name, beside)
        if named is not None:
            return self.given_address(named)
        return self.fixed_address(beside, purpose, name)

    def check(self, a: NamedAccount, *statements: str) -> None:
        """Adds checks, which run only if the account is there."""
        self.view.checks += map(code, self.guarded(a, *statements))

    def check_existing(self, a: NamedAccount, *statements: str) -> None:
        """Adds checks, which run only if the account is there and this call does not create it."""
        if not statements:
            return
        if a.constraints.init is None:
            self.check(a, *statements)
        else:
            self.check(a, f"if !checks::is_new({a.name}) {{", *statements, "}")

    def not_checked(self, what: str) -> None:
        """Notes in the code and beside the handler that something is not checked."""
        self.view.checks += comment([f"NOT CHECKED: {what}"])
        self.view.unchecked.append(what)

    def given_address(self, a: NamedAccount) -> str:
        """The expression for the address of an account that a check compares, so that it cannot be left out."""
        if not a.model.optional:
            return self.address(a)
        return self.target.address(f"checks::given({a.name}.as_ref())?")

    def line(self, text: str) -> None:
        """Adds one line to the checks."""
        self.view.checks.append(code(text))

    def guarded(self, a: NamedAccount, *statements: str) -> list[str]:
        """The statements, which run only if the account is there."""
        if not a.model.optional or not statements:
            return list(statements)
        return [f"if let Some({a.name}) = {a.name}.as_ref() {{", *statements, "}"]

    def fault(self, a: NamedAccount, check: str, otherwise: str) -> str:
        """The error of a failed check: the program's own, or else the check *otherwise*."""
        own = self.context.errors.for_check(a.constraints.errors, check)
        return own or f"Check::{otherwise}"

    def fixed_address(self, a: NamedAccount, suffix: str, text: str) -> str:
        """A reference to an address. The program's own is the one at which it runs. Raises RenderError."""
        if text == self.context.types.resolver.model.address:
            return "program_id"
        return f"&{self.constant(a, suffix, text)}"

    def constant(self, a: NamedAccount, suffix: str, text: str) -> Rust:
        """The constant in ids.rs for an address. Raises RenderError."""
        try:
            name = self.context.addresses.take(text, f"{a.stem}_{suffix}".strip("_"))
        except ValueError as error:
            raise self.lookup.refusal(
                a, f"{text!r} is not an address: {error}"
            ) from error
        return code(f"ids::{name}")

    def state(self, a: NamedAccount) -> StateView:
        """The account's type. Raises RenderError if it has no Rust form."""
        name = a.constraints.state or ""
        state = self.context.states.get(name)
        if state is None:
            raise self.refusal(
                a, f"no Rust was generated for the account type {name!r}"
            )
        why = self.context.ambiguous.get(name)
        if why is not None:
            raise self.refusal(
                a, f"data of {name} may be of another type, because {why}"
            )
        return state

    def refusal(self, a: NamedAccount, why: str) -> RenderError:
        """An error about the account."""
        return self.lookup.refusal(a, why)

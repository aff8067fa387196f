"""How the three Rust libraries read accounts and call programs, as handlers use them."""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.bodies.calls import ASSOCIATED_CALLS, PROGRAM_CALLS
from mcpsol_py.bodies.tree import CallProgram, EmitCall, OpenState
from mcpsol_py.errors import RenderError
from mcpsol_py.model.program import Account
from mcpsol_py.names import pascal
from mcpsol_py.render.handlers.names import RustNames, StructNames

__all__ = ["ANCHOR", "NATIVE", "NOT_THERE", "PINOCCHIO", "Dialect"]

#: The error of an optional value or account that is not there.
NOT_THERE = "ProgramError::InvalidArgument"


@dataclass(frozen=True, slots=True)
class Dialect:
    """One library; this class writes what pinocchio and solana-program have in common.

    `key`: a reference to the address of the account {x}. `same`: a condition, two references {a} and {b}
    to addresses show the same. `read`, `write`: an expression that borrows the data of the account {x}.
    """

    clock: str
    get_clock: str
    key: str
    same: str
    read: str
    write: str
    #: what follows a struct or enum that is used again afterwards
    duplicate: str = ""
    #: the type of addresses
    address_type: str = "Address"
    #: the type of an account that a helper takes
    account_type: str = "&AccountView"
    #: an optional account {x} as an Option of a reference
    optional: str = "{x}.as_deref()"
    #: whether an account is copied before it is borrowed, so that its address can be read meanwhile
    copies: bool = False
    #: whether one function makes the calls that a handler makes from several places
    shares_calls: bool = False
    #: the module that creates associated token accounts
    associated: str = "checks"
    #: the function that sets return data
    return_data: str = "crate::log::return_data"
    #: the value that an error equals after an overflow
    overflow: str = "ProgramError::ArithmeticOverflow"

    def account(self, place: str, account: Account) -> str:
        """An account as handlers use it. A condition has shown that an optional one is there."""
        if not account.optional:
            return place
        return f"{self.optional.format(x=place)}.ok_or({NOT_THERE})?"

    def address(self, account: str) -> str:
        """The address of an account as a value."""
        return f"*{self.key.format(x=account)}"

    def address_reference(self, account: str) -> str:
        """A reference to the address of an account."""
        return self.key.format(x=account)

    def info(self, account: str) -> str:
        """An account as `crate::bytes` takes it."""
        return account

    def field(self, names: RustNames, account: str, name: str) -> str:
        """A field of an account's state."""
        state, held = names.states[account], self._held(names, account)
        if name in state.coded:
            return f"{held}.get_{_function(state.fields[name])}()?"
        place = f"{held}.{state.fields[name]}"
        return f"{place}.get()" if name in state.wrapped else place

    def _held(self, names: RustNames, account: str, *, writes: bool = False) -> str:
        """An account's borrowed state."""
        held = names.borrowed[account]
        if account not in names.optional:
            return held
        return (
            f"{held}.{'as_deref_mut' if writes else 'as_deref'}().ok_or({NOT_THERE})?"
        )

    def state_argument(self, names: RustNames, account: str, *, writes: bool) -> str:
        """An account's state as an argument of a helper."""
        return self._held(names, account, writes=writes)

    def set_field(self, names: RustNames, account: str, name: str, value: str) -> str:
        """A statement that writes a field of an account's state."""
        state, held = (
            names.states[account],
            self._held(names, account, writes=True),
        )
        place = f"{held}.{state.fields[name]}"
        if name in state.coded:
            new = names.inner("value")
            call = f"{held}.set_{_function(state.fields[name])}(&{new})?"
            return f"{{ let {new} = {value}; {call}; }}"
        if name not in state.wrapped:
            return f"{place} = {value};"
        if account in names.optional:  # the value may read the same state
            new = names.inner("value")
            return f"{{ let {new} = {value}; {place}.set({new}); }}"
        return f"{place}.set({value});"

    def account_argument(self, names: RustNames, account: str) -> str:
        """An account as an argument of a helper."""
        return names.accounts[account]

    def ask(self, function: str, *given: str) -> str:
        """A call of a function about an account."""
        return f"checks::{function}({', '.join(given)})"

    def is_new(self, account: str) -> str:
        """A condition: an account does not exist yet."""
        return f"checks::is_new({account})"

    def list_bytes(self, items: str, put: str) -> str:
        """The bytes of a list, as they are in an instruction's data. `put`: writes one `item` to `w`."""
        return f"crate::hash::list({items}, |item, w| {put})"

    def extensions(self, account: str) -> str:
        """The extensions of a mint or token account, for a loop."""
        return f"checks::Extensions::of(&{self.read.format(x=account)}?)"

    def borrow(self, names: RustNames, account: str, *, writes: bool) -> list[str]:
        """Statements that borrow an account's state."""
        if account in names.optional:
            return self._borrow_optional(names, account, writes=writes)
        view, state = names.accounts[account], names.states[account].type
        data, held = names.guards[account], names.borrowed[account]
        if not writes:
            return [
                f"let {data} = {self.read.format(x=view)}?;",
                f"let {held} = {state}::load(&{data})?;",
            ]
        lines = []
        if self.copies:
            lines.append(f"let mut {names.views[account]} = *{view};")
            view = names.views[account]
        return [
            *lines,
            f"let mut {data} = {self.write.format(x=view)}?;",
            f"let {held} = {state}::load_mut(&mut {data})?;",
        ]

    def _borrow_optional(
        self, names: RustNames, account: str, *, writes: bool
    ) -> list[str]:
        """Statements that borrow the state of an account if it is there."""
        view = self.optional.format(x=names.optional[account])
        state, data = names.states[account].type, names.guards[account]
        lines, mut, load, deref = [], "", "load", "as_deref"
        read = self.read
        if writes:
            mut, load, deref, read = "mut ", "load_mut", "as_deref_mut", self.write
        if writes and self.copies:
            copied = names.views[account]
            lines.append(f"let mut {copied} = {view}.copied();")
            view = f"{copied}.as_mut()"
        return [
            *lines,
            f"let {mut}{data} = {view}.map(|it| {read.format(x='it')}).transpose()?;",
            f"let {mut}{names.borrowed[account]} = {data}.{deref}().map(|it| {state}::{load}(it)).transpose()?;",
        ]

    def give_back(self, names: RustNames, account: str) -> list[str]:
        """Statements that end the borrow of an account's state."""
        return [f"drop({names.guards[account]});"]

    def require(self, condition: str, error: str) -> str:
        """A statement that fails with the error unless the condition holds."""
        return f"checks::ensure({condition}, {error})?;"

    def if_there(self, place: str, name: str, lines: list[str]) -> list[str]:
        """Statements that run if an optional account is there; they use it as *name*."""
        return [
            f"if let Some({name}) = {self.optional.format(x=place)} {{",
            *lines,
            "}",
        ]

    def different(self, one: str, other: str) -> str:
        """A statement that fails if two accounts are the same."""
        return f"checks::different({one}, {other})?;"

    def close(self, account: str, destination: str) -> str:
        """A statement that closes an account."""
        return f"checks::close({account}, {destination})?;"

    def open(self, names: RustNames, node: OpenState) -> list[str]:
        """Statements after which an account holds state of the program, or that fail."""
        view, state = names.accounts[node.account], names.opened_states[node.state].type
        if node.payer is None:
            return [
                f"checks::state({view}, {names.program})?;",
                f"{state}::load(&{self.read.format(x=view)}?)?;",
            ]
        return self._create(names, node, view, state)

    def _create(
        self, names: RustNames, node: OpenState, view: str, state: str
    ) -> list[str]:
        lines, account = [], view
        if self.copies:  # its seeds borrow the accounts
            copied = names.variables.take("new_view")
            lines.append(f"let mut {copied} = *{view};")
            view, account = copied, f"&mut {copied}"
        payer = names.accounts[node.payer or ""]
        signers = f"&[{self.signed(names, node.account)}]"
        made = f"account: {account}, payer: {payer}, space: {state}::LEN"
        made = f"{made}, owner: {names.program}, signers: {signers}"
        return [
            *lines,
            f"checks::Create {{ {made} }}.invoke()?;",
            f"{state}::create(&mut {self.write.format(x=view)}?)?;",
        ]

    def state_bytes(self, names: RustNames, account: str) -> str:
        """The bytes of state that the body opened."""
        state = names.states[account].type
        return f"{names.guards[account]}.get(..{state}::LEN).unwrap_or_default()"

    def emit(self, event: StructNames, parts: list[str]) -> str:
        """A statement that logs an event."""
        return f"events::{event.type} {{ {', '.join(parts)} }}.emit()?;"

    def event_bytes(
        self, names: RustNames, event: StructNames, parts: list[str]
    ) -> str:
        """The bytes with which a program calls itself to log an event."""
        kind = f"events::{event.type}"
        made = f"{kind} {{ {', '.join(parts)} }}"
        new = names.inner("bytes")
        start = f"let mut {new} = crate::own::start::<{kind}>(&{kind}::DISCRIMINATOR)?;"
        return f"{{ {start} {made}.encode(&mut {new})?; {new} }}"

    def emit_call(self, names: RustNames, call: EmitCall, event: str) -> str:
        """An expression by which a program calls itself with these bytes."""
        accounts = f"{names.accounts[call.program]}, {names.accounts[call.authority]}"
        return f"crate::own::emit({accounts}, &{event}, &[{self.signed(names, call.authority)}])?"

    def signed(self, names: RustNames, account: str) -> str:
        """The seeds with which the program signs for an account."""
        return f"&{names.seeds[account]}"

    def call(self, names: RustNames, call: CallProgram, values: dict[str, str]) -> str:
        """An expression that calls another program."""
        if call.call not in ASSOCIATED_CALLS:
            return self._token_call(names, call, values)
        accounts = (self.info(names.accounts[account]) for _, account in call.accounts)
        signers = "" if call.signer is None else self.signed(names, call.signer)
        return f"{self.associated}::create_idempotent([{', '.join(accounts)}], &[{signers}])?"

    def _token_call(
        self, names: RustNames, call: CallProgram, values: dict[str, str]
    ) -> str:
        """An expression that calls a token program."""
        raise NotImplementedError


def _function(field: str) -> str:
    """The name of a field as a part of another name."""
    return field.removeprefix("r#")


# --- pinocchio ------------------------------------------------------------------------------------


class _Pinocchio(Dialect):
    """The structs of pinocchio-token have the names of SPL Token's instructions, and its order of accounts."""

    def signed(self, names: RustNames, account: str) -> str:
        return f"Signer::from(&{names.seeds[account]})"

    def _token_call(
        self, names: RustNames, call: CallProgram, values: dict[str, str]
    ) -> str:
        accounts = [names.accounts[account] for _, account in call.accounts]
        values = {name: values[name] for name in PROGRAM_CALLS[call.call].values}
        made = ", ".join([*accounts, *values.values()])
        made = f"pinocchio_token::instructions::{pascal(call.call)}::new({made})"
        signers = ""
        if call.signer is not None:
            signers = f"&[{self.signed(names, call.signer)}]"
        if call.by_interface:
            program = self.address_reference(names.accounts[call.program])
            return f"checks::{call.call}(&{made}, {signers or '&[]'}, {program})?"
        return f"{made}.invoke_signed({signers})?" if signers else f"{made}.invoke()?"


PINOCCHIO = _Pinocchio(
    clock="pinocchio::sysvars::clock::Clock",
    get_clock="<pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?",
    key="{x}.address()",
    same="pinocchio::address::address_eq({a}, {b})",
    read="{x}.try_borrow()",
    write="{x}.try_borrow_mut()",
    copies=True,
    shares_calls=True,
)


# --- solana-program -------------------------------------------------------------------------------


#: The arguments of calls of token programs, as bytes.
_BYTES = {"amount": "&u64::to_le_bytes({})", "decimals": "&[{}]"}


class _Native(Dialect):
    def _token_call(
        self, names: RustNames, call: CallProgram, values: dict[str, str]
    ) -> str:
        called = PROGRAM_CALLS[call.call]
        *others, authority = (names.accounts[account] for _, account in call.accounts)
        accounts = ", ".join(
            f"({account}, {str(role.written).lower()})"
            for account, role in zip(others, called.others.values(), strict=True)
        )
        data = [
            f"&[{called.number}]",
            *(_BYTES[n].format(values[n]) for n in called.values),
        ]
        signers = (
            "&[]" if call.signer is None else f"&[{self.signed(names, call.signer)}]"
        )
        program = names.accounts[call.program]
        given = (
            f"{program}, &[{accounts}], {authority}, &[{', '.join(data)}], {signers}"
        )
        return f"checks::call_tokens({given})?"


NATIVE = _Native(
    clock="solana_program::clock::Clock",
    get_clock="<solana_program::clock::Clock as solana_program::sysvar::Sysvar>::get()?",
    key="{x}.key",
    same="{a} == {b}",
    read="{x}.try_borrow_data()",
    write="{x}.try_borrow_mut_data()",
    account_type="&AccountInfo",
)


# --- Anchor ---------------------------------------------------------------------------------------

#: The roles for which the structs of anchor_spl::token have other names than SPL Token.
_ANCHOR_ROLES: dict[str, dict[str, str]] = {
    "transfer": {"source": "from", "destination": "to"},
    "transfer_checked": {"source": "from", "destination": "to"},
    "approve": {"source": "to", "owner": "authority"},
    "revoke": {},
    "mint_to": {"account": "to", "mint_authority": "authority"},
    "burn": {"account": "from"},
    "close_account": {},
}


class _Anchor(Dialect):
    """Anchor reads accounts before the handler and writes them after it, so nothing of them is borrowed here.

    The code reads the state that a body opens before it uses it, and writes it afterwards.
    """

    def info(self, account: str) -> str:
        return f"&{account}.to_account_info()"  # large accounts are boxed

    def address(self, account: str) -> str:
        return f"{account}.key()"

    def field(self, names: RustNames, account: str, name: str) -> str:
        return self._field(names, account, name, writes=False)

    def _field(self, names: RustNames, account: str, name: str, *, writes: bool) -> str:
        state = self._state(names, account, writes=writes)
        return f"{state}.{names.states[account].fields[name]}"

    def _state(self, names: RustNames, account: str, *, writes: bool) -> str:
        """The state of an account. That of an item of a loop, or that the body opened, is a variable."""
        is_held = account in names.locals or account in names.opened
        held = names.borrowed if is_held else names.accounts
        if writes and account in names.optional:
            return f"{names.optional[account]}.as_mut().ok_or({NOT_THERE})?"
        return held[account]

    def state_argument(self, names: RustNames, account: str, *, writes: bool) -> str:
        if account in names.parameters:
            return names.accounts[account]
        state = self._state(names, account, writes=writes)
        if account in names.optional:
            return state
        return f"{'&mut' if writes else '&'} {state}"

    def set_field(self, names: RustNames, account: str, name: str, value: str) -> str:
        return f"{self._field(names, account, name, writes=True)} = {value};"

    def list_bytes(self, items: str, put: str) -> str:
        return f"crate::hash::list({items})"

    def account_argument(self, names: RustNames, account: str) -> str:
        return f"&{names.accounts[account]}.to_account_info()"

    def ask(self, function: str, *given: str) -> str:
        """Read from the account's data: another program may have changed it since Anchor read it."""
        account, *others = given
        parts = ", ".join([f"&{account}.to_account_info()", *others])
        return f"crate::tokens::{function}({parts})"

    def is_new(self, account: str) -> str:
        return f"crate::opened::is_new({self.info(account)})"

    def extensions(self, account: str) -> str:
        return f"crate::tokens::Extensions::of(&{account}.to_account_info().try_borrow_data()?)"

    def borrow(self, names: RustNames, account: str, *, writes: bool) -> list[str]:
        if account in names.opened:
            return self._open(names, account, writes=writes)
        if account not in names.locals:
            return []
        kind = f"Account::<crate::state::{names.states[account].type}>"
        item = names.accounts[account]
        return [f"let {names.borrowed[account]} = {kind}::try_from({item})?;"]

    def _open(self, names: RustNames, account: str, *, writes: bool) -> list[str]:
        """Statements that read state that the body opened."""
        held, state = names.borrowed[account], names.states[account].type
        info = self.info(names.accounts[account])
        word, how = ("let mut", "written") if writes else ("let", "read")
        made = f"crate::opened::{how}::<crate::state::{state}>({info})?"
        return [f"{word} {held} = {made};"]

    def give_back(self, names: RustNames, account: str) -> list[str]:
        return [f"drop({names.borrowed[account]});"] if account in names.opened else []

    def open(self, names: RustNames, node: OpenState) -> list[str]:
        info = self.info(names.accounts[node.account])
        state = f"crate::state::{names.opened_states[node.state].type}"
        if node.payer is None:
            return [f"crate::opened::check::<{state}>({info})?;"]
        payer = self.info(names.accounts[node.payer])
        seeds = f"&[{self.signed(names, node.account)}]"
        given = f"{info}, {payer}, {state}::LEN, {seeds}"
        return [f"crate::opened::create::<{state}>({given})?;"]

    def state_bytes(self, names: RustNames, account: str) -> str:
        return f"&{names.borrowed[account]}.bytes()?"

    def require(self, condition: str, error: str) -> str:
        return f"require!({condition}, {error});"

    def different(self, one: str, other: str) -> str:
        fault = "anchor_lang::error::ErrorCode::ConstraintDuplicateMutableAccount"
        return f"require_keys_neq!({one}.key(), {other}.key(), {fault});"

    def close(self, account: str, destination: str) -> str:
        return f"{account}.close({destination}.to_account_info())?;"

    def event_bytes(
        self, names: RustNames, event: StructNames, parts: list[str]
    ) -> str:
        made = f"crate::events::{event.type} {{ {', '.join(parts)} }}"
        return f"anchor_lang::Event::data(&{made})"

    def emit_call(self, names: RustNames, call: EmitCall, event: str) -> str:
        both = (names.accounts[call.program], names.accounts[call.authority])
        accounts = ", ".join(f"&{account}.to_account_info()" for account in both)
        return f"crate::own::emit({accounts}, &{event}, &[{self.signed(names, call.authority)}])?"

    def signed(self, names: RustNames, account: str) -> str:
        if not names.seeds[account]:
            raise RenderError(
                f"the target anchor cannot sign for {account} yet: one of its seeds has no form there."
            )
        return names.seeds[account]

    def emit(self, event: StructNames, parts: list[str]) -> str:
        return f"emit!(crate::events::{event.type} {{ {', '.join(parts)} }});"

    def _token_call(
        self, names: RustNames, call: CallProgram, values: dict[str, str]
    ) -> str:
        fields = _ANCHOR_ROLES[call.call]
        parts = ", ".join(
            f"{fields.get(role, role)}: {names.accounts[account]}.to_account_info()"
            for role, account in call.accounts
        )
        module = "token_interface" if call.by_interface else "token"
        accounts = f"anchor_spl::{module}::{pascal(call.call)} {{ {parts} }}"
        program = f"{names.accounts[call.program]}.key()"
        context = f"CpiContext::new({program}, {accounts})"
        if call.signer is not None:
            seeds = self.signed(names, call.signer)
            context = f"CpiContext::new_with_signer({program}, {accounts}, &[{seeds}])"
        ordered = [values[name] for name in PROGRAM_CALLS[call.call].values]
        called = f"anchor_spl::{module}::{call.call}({', '.join([context, *ordered])})?"
        # deprecated, because mints with transfer fees or hooks refuse it; the body decides
        is_plain = call.by_interface and call.call == "transfer"
        return f"#[allow(deprecated)]\n{called}" if is_plain else called


ANCHOR = _Anchor(
    clock="anchor_lang::prelude::Clock",
    get_clock="<anchor_lang::prelude::Clock as anchor_lang::prelude::SolanaSysvar>::get()?",
    key="&{x}.key()",
    same="{a} == {b}",
    read="",
    write="",
    duplicate=".clone()",
    optional="{x}.as_ref()",
    associated="crate::associated",
    address_type="Pubkey",
    account_type="&AccountInfo",
    return_data="anchor_lang::solana_program::program::set_return_data",
    overflow="anchor_lang::error::Error::from(ProgramError::ArithmeticOverflow)",
)

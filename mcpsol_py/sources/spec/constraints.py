"""The constraints of an account: `has_one`, `seeds`, `init`, `close`, `token`, …

To add a constraint, write its word in `spec_words` and add a method for it to `_CONSTRAINTS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeAlias

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model.program import Account, Constraints, Init, Pda, TokenConstraint
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import PUBKEY
from mcpsol_py.sources import spec_words as words
from mcpsol_py.sources.spec.ignored import refuse_ignored
from mcpsol_py.sources.spec.parameters import (
    TOKEN_PROGRAMS,
    AccountParameter,
    Parameters,
    check_address,
)
from mcpsol_py.sources.spec.seeds import SeedReader

__all__ = ["ConstraintReader", "ErrorName"]

_MAX_ACCOUNT = 10 * 1024 * 1024
_MAX_NEW_ACCOUNT = 10 * 1024

#: Returns the attribute of the program class that holds an error; the path is for problems.
ErrorName: TypeAlias = Callable[[words.error, str], str]


@dataclass
class AccountDraft:
    """What the constraints of one account have said so far."""

    parameter: AccountParameter
    signs: bool
    executable: bool
    address: str | None = None
    pda: Pda | None = None
    state: str | None = None
    owner: str | None = None
    has_one: list[tuple[str, str]] = field(default_factory=list)
    init: Init | None = None
    close: str | None = None
    realloc: int | None = None
    realloc_payer: str | None = None
    token: TokenConstraint | None = None
    errors: list[tuple[str, str]] = field(default_factory=list)

    def account(self) -> Account:
        """Return the model's account."""
        p = self.parameter
        constraints = Constraints(
            state=self.state,
            owner=self.owner,
            has_one=tuple(self.has_one),
            init=self.init,
            close=self.close,
            realloc=self.realloc,
            realloc_payer=self.realloc_payer,
            token=self.token,
            executable=self.executable,
            sysvar=p.base.__name__ if issubclass(p.base, words.Sysvar) else None,
            errors=tuple(self.errors),
            one_of=getattr(p.base, "mcpsol_one_of", ()),
        )
        return Account(
            name=p.name,
            writable=p.writable,
            signer=self.signs,
            optional=p.optional,
            address=self.address,
            pda=self.pda,
            docs=p.docs,
            # Never None, which would mean that the source cannot express constraints.
            constraints=constraints,
        )


class ConstraintReader:
    """Reads the constraints of the accounts of one instruction."""

    def __init__(
        self,
        parameters: Parameters,
        path: str,
        options: words.ProgramOptions,
        error_name: ErrorName,
    ) -> None:
        self.parameters = parameters
        self.path = path
        self.definitions = parameters.definitions
        self.options = options
        self.error_name = error_name
        self.seed_reader = SeedReader(parameters)

    def account(self, p: AccountParameter) -> Account:
        """Read all constraints of the account *p*. Raises SourceError."""
        refuse_ignored(p)
        draft = self._by_kind(p)
        for remark in p.remarks:
            read = _CONSTRAINTS.get(type(remark))
            if read is not None:
                read(self, draft, remark)
        self._check_whole(draft)
        return draft.account()

    def _by_kind(self, p: AccountParameter) -> AccountDraft:
        """Return what the class of the annotation says by itself."""
        is_program = issubclass(p.base, words.ProgramAccount)
        draft = AccountDraft(p, p.signs, is_program or words.executable in p.remarks)
        if p.is_state:
            draft.state = self.definitions.state(p.base).name
        elif issubclass(p.base, words.Kind):
            draft.address = p.base.mcpsol_address
        if issubclass(p.base, words.Wallet):
            draft.owner = words.SystemProgram.mcpsol_address
        elif issubclass(p.base, words.TokenAccount):
            draft.token = TokenConstraint("account")
        elif issubclass(p.base, words.Mint):
            draft.token = TokenConstraint("mint")
        return draft

    def _check_whole(self, draft: AccountDraft) -> None:
        p = draft.parameter
        changes = any((draft.init, draft.close, draft.realloc))
        if changes and not p.writable:
            raise SourceError(
                "an account that is created, closed or resized must be Mut."
            )
        if draft.init is not None:
            self._check_created(draft)

    def _check_created(self, draft: AccountDraft) -> None:
        if draft.parameter.optional:
            raise SourceError("an account that is created cannot be optional.")
        if draft.token is not None:
            self._check_new_token(draft.token)

    def on_error(
        self, draft: AccountDraft, check: str, error: words.error | None
    ) -> None:
        """Record the custom error of a failed check."""
        if error is not None:
            path = f"{self.path}.{draft.parameter.dotted}"
            draft.errors.append((check, self.error_name(error, path)))

    # --- fields, addresses, owners

    def has_one(self, draft: AccountDraft, word: words.has_one) -> None:
        p, account = draft.parameter, word.account or word.field
        kind = self.parameters.field_type(p, word.field)
        if kind != PUBKEY:
            raise SourceError(
                f"has_one compares addresses; {word.field!r} is a {type_text(kind)}."
            )
        self.parameters.need(account, p.path)
        draft.has_one.append((word.field, account))
        self.on_error(draft, f"has_one:{word.field}", word.error)

    def seeds(self, draft: AccountDraft, word: words.seeds) -> None:
        draft.pda = self.seed_reader.pda(word, draft.parameter)
        self.on_error(draft, "seeds", word.error)

    def owner(self, draft: AccountDraft, word: words.owner) -> None:
        self.parameters.need_account_or_address(word.owner, draft.parameter.path)
        draft.owner = word.owner
        self.on_error(draft, "owner", word.error)

    def address(self, draft: AccountDraft, word: words.address) -> None:
        if draft.address is not None:
            raise SourceError(
                f"{draft.parameter.base.__name__} has its address already."
            )
        draft.address = check_address(word.address)
        self.on_error(draft, "address", word.error)

    def otherwise(self, draft: AccountDraft, word: words.otherwise) -> None:
        self.on_error(draft, "signer", word.signer)
        self.on_error(draft, "address", word.address)

    # --- creating, closing, resizing

    def init(self, draft: AccountDraft, word: words.init) -> None:
        p = draft.parameter
        self._need_payer(word.payer, p)
        if word.if_needed and not self.options.allow_init_if_needed:
            raise SourceError(
                "if_needed=True accepts an account that somebody else may have made. If the handler"
                " is safe with that, write @program(allow_init_if_needed=True)."
            )
        self._check_space(word.space, p)
        draft.init = Init(word.payer, word.space, word.if_needed)
        if not p.has(words.seeds) and not p.has(words.associated):
            draft.signs = True  # a new account without seeds signs for itself

    def _check_space(self, space: int | None, p: AccountParameter) -> None:
        if p.is_state:
            self._check_state_space(space, p)
        elif not issubclass(p.base, (words.TokenAccount, words.Mint)):
            raise SourceError(
                "init is for this program's state, a TokenAccount or a Mint."
            )
        elif space is not None:
            raise SourceError(
                "token accounts and mints have a size of their own: leave out space."
            )

    def _check_state_space(self, space: int | None, p: AccountParameter) -> None:
        if space is None:
            if self.definitions.state(p.base).size is None:
                raise SourceError(
                    f"{p.base.__name__} has no fixed size: write init(…, space=…), discriminator included."
                )
            return
        self._check_holds_state(space, p)
        if not 0 < space <= _MAX_NEW_ACCOUNT:
            raise SourceError(
                f"an account is created with 1 to {_MAX_NEW_ACCOUNT} bytes, not {space}."
            )

    def _check_holds_state(self, space: int, p: AccountParameter) -> None:
        size = self.definitions.state(p.base).size
        if size is not None and space < size:
            raise SourceError(
                f"{p.base.__name__} takes {size} bytes, space={space} is too small."
            )

    def close(self, draft: AccountDraft, word: words.close) -> None:
        if draft.state is None:
            raise SourceError("only this program's own state can be closed.")
        if not self.parameters.need(word.to, draft.parameter.path).writable:
            raise SourceError(
                f"{word.to!r} gets the lamports, so it must be Mut or Payer."
            )
        draft.close = word.to

    def realloc(self, draft: AccountDraft, word: words.realloc) -> None:
        if draft.state is None:
            raise SourceError("only this program's own state can be resized.")
        if type(word.space) is not int or not 0 < word.space <= _MAX_ACCOUNT:
            raise SourceError(
                f"a size is 1 to {_MAX_ACCOUNT} bytes, not {abbr(word.space)}."
            )
        self._check_holds_state(word.space, draft.parameter)
        self._need_payer(word.payer, draft.parameter)
        draft.realloc, draft.realloc_payer = word.space, word.payer

    def _need_payer(self, name: object, p: AccountParameter) -> None:
        found = self.parameters.need(name, p.path)
        if not (found.writable and found.signs):
            raise SourceError(
                f"{name!r} pays, so it must be a Payer (a signer that is written)."
            )
        self.parameters.need_program(
            words.SystemProgram, "the system program creates and pays"
        )

    # --- tokens

    def token(self, draft: AccountDraft, word: words.token) -> None:
        p = draft.parameter
        _check_base(p, words.TokenAccount, "token")
        draft.token = TokenConstraint(
            "account", word.mint, word.authority, None, word.program
        )
        self._need_parts(p, word.program, word.mint, word.authority)

    def associated(self, draft: AccountDraft, word: words.associated) -> None:
        p = draft.parameter
        _check_base(p, words.TokenAccount, "associated")
        draft.token = TokenConstraint(
            "associated", word.mint, word.authority, None, word.program
        )
        self._need_parts(p, word.program, word.mint, word.authority)
        draft.pda = self.seed_reader.associated_pda(word, p)

    def mint(self, draft: AccountDraft, word: words.mint) -> None:
        p, decimals = draft.parameter, word.decimals
        _check_base(p, words.Mint, "mint")
        if decimals is not None and not 0 <= decimals <= 255:
            raise SourceError(f"decimals are 0 to 255, not {decimals}.")
        draft.token = TokenConstraint(
            "mint", None, word.authority, decimals, word.program
        )
        self._need_parts(p, word.program, word.authority)

    def _need_parts(
        self, p: AccountParameter, program: str | None, *names: str | None
    ) -> None:
        """Check that the accounts of a token constraint are there, and that *program* is a token program."""
        self.parameters.need_all(p.path, *names)
        if program is None:
            return
        if not issubclass(self.parameters.need(program, p.path).base, TOKEN_PROGRAMS):
            raise SourceError(
                f"anybody can write a program that owns accounts like these, so {program!r} must be a"
                " TokenProgram, Token2022Program or TokenInterface."
            )

    def _check_new_token(self, token: TokenConstraint) -> None:
        """Check that a token account or mint can be created: its programs, mint, authority, decimals."""
        if token.program is None and self.parameters.token_program() is None:
            raise SourceError(
                "the token program makes the account: add the parameter"
                " `token_program: TokenProgram`."
            )
        if token.kind == "associated":
            why = "the associated token program creates the account"
            self.parameters.need_program(words.AssociatedTokenProgram, why)
            return
        needed, message = _NEEDED_TO_CREATE[token.kind]
        if None in needed(token):
            raise SourceError(message)


def _check_base(p: AccountParameter, wanted: type, word: str) -> None:
    if not issubclass(p.base, wanted):
        raise SourceError(
            f"{word}(…) is for a {wanted.__name__}, not for {p.base.__name__}."
        )


#: Kind of token constraint -> the attributes that a new account needs, and the error without them.
_NEEDED_TO_CREATE: dict[
    str, tuple[Callable[[TokenConstraint], tuple[object, ...]], str]
] = {
    "account": (
        attrgetter("mint", "authority"),
        "to create a token account, write token(mint=…, authority=…).",
    ),
    "mint": (
        attrgetter("authority", "decimals"),
        "to create a mint, write mint(authority=…, decimals=…).",
    ),
}

#: Word -> method. Words without a method (signer, executable, Mut, Ref) are read from the
#: parameter.
_CONSTRAINTS: dict[type, Callable[[ConstraintReader, AccountDraft, Any], None]] = {
    words.has_one: ConstraintReader.has_one,
    words.seeds: ConstraintReader.seeds,
    words.init: ConstraintReader.init,
    words.close: ConstraintReader.close,
    words.realloc: ConstraintReader.realloc,
    words.owner: ConstraintReader.owner,
    words.address: ConstraintReader.address,
    words.otherwise: ConstraintReader.otherwise,
    words.token: ConstraintReader.token,
    words.associated: ConstraintReader.associated,
    words.mint: ConstraintReader.mint,
}

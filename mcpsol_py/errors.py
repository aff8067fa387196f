"""Every error that this library raises on purpose, in one tree.

McpsolError                  base class; `reason` is a stable name for programs to test
├─ SourceError               a spec, IDL or configuration file cannot be read
│  ├─ UnknownDialect         the document is not an IDL of a known dialect
│  ├─ UnsupportedType        a type that the program model cannot express
│  └─ UnresolvedName         a name that the document does not define
├─ InvalidProgram            the program has findings of level error
├─ NotUsable                 an instruction, account or event that cannot be used
├─ UnknownName               no instruction, account, type or event has this name
├─ CodecError                values and bytes do not match
│  ├─ EncodeError            a value does not fit its type
│  └─ DecodeError            bytes do not fit a type
├─ SchemaError               list_tools pages cannot be written or read
│  ├─ PageTooLarge           a page does not fit into return data
│  └─ MalformedPage          a page cannot be read
├─ RenderError               a crate cannot be written
│  └─ EditedByHand           a generated file was edited
├─ BuildError                a crate does not build
│  ├─ ToolchainMissing       this machine has no compiler for Solana programs
│  ├─ WrongArithmetic        the compiler would translate wide arithmetic wrongly
│  └─ TooManyArguments       the SVM cannot pass a function's arguments
├─ ClientError               an operation on a chain failed
│  ├─ TransportError         the endpoint did not give a usable answer
│  ├─ NoSchema               the program has no list_tools and no IDL
│  ├─ MissingAccount         an account has to be given and was not
│  ├─ PdaError               an address cannot be derived from its seeds
│  ├─ MissingSigner          a required signature is missing
│  ├─ InvalidSigner          a value among the signers cannot sign
│  ├─ InvalidTransaction     instructions cannot be made into a transaction
│  ├─ CannotSign             a transaction cannot be signed as it is
│  ├─ AccountNotFound        an account to read does not exist, or is not of the program
│  ├─ TransactionTooLarge    a transaction is larger than a packet
│  ├─ NoProgram              there is no program at an address
│  ├─ DeployRefused          a deployment would fail or lose something
│  ├─ SendUnknown            a transaction was sent and its outcome is unknown
│  ├─ LandedDifferently      a transaction took something else than its simulation showed
│  └─ ProgramFailed          a program failed on chain
├─ PolicyError               the bridge's policy forbids the call
├─ PaymentError              an x402 payment failed or was refused
└─ StorageError              the payment database cannot be used now

A message says where the problem is, what was found, and what to do. It never contains a key, a
signature or a payment payload. Each class writes its own message, so equal errors read the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from solders.transaction import VersionedTransaction

__all__ = [
    "AccountNotFound",
    "BuildError",
    "CannotSign",
    "ClientError",
    "CodecError",
    "DecodeError",
    "DeployRefused",
    "EditedByHand",
    "EncodeError",
    "InvalidProgram",
    "InvalidSigner",
    "InvalidTransaction",
    "LandedDifferently",
    "MalformedPage",
    "McpsolError",
    "MissingAccount",
    "MissingSigner",
    "NoProgram",
    "NoSchema",
    "NotUsable",
    "PageTooLarge",
    "PaymentError",
    "PdaError",
    "PolicyError",
    "ProgramFailed",
    "RenderError",
    "SchemaError",
    "SendUnknown",
    "SourceError",
    "StorageError",
    "TooManyArguments",
    "ToolchainMissing",
    "TransactionTooLarge",
    "TransportError",
    "UnknownDialect",
    "UnknownName",
    "UnresolvedName",
    "UnsupportedType",
    "WrongArithmetic",
    "abbr",
    "suggest",
]


def abbr(value: object, limit: int = 79) -> str:
    """Return the repr of *value*, shortened in the middle to at most *limit* characters."""
    text = (
        repr(value[: 2 * limit] + value[-2 * limit :])
        if isinstance(value, str) and len(value) > 4 * limit
        else repr(value)
    )
    if len(text) <= limit:
        return text
    head = (limit - 3) // 2
    return f"{text[:head]}...{text[-(limit - 3 - head) :]}"


def suggest(name: str, candidates: Iterable[str]) -> str:
    """Return a sentence with the names that exist: the nearest first, then at most ten of them."""
    names = list(dict.fromkeys(candidates))
    if not names:
        return "No names are available."
    near = [known for known in names if _letters(known) == _letters(name)]
    near = near or get_close_matches(name, names, n=1, cutoff=0.6)
    text = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
    if len(names) <= 10:
        return text + "Available: " + ", ".join(names) + "."
    return text + f"There are {len(names)}: {', '.join(names[:10])}, and more."


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


def _json_value(value: object) -> Any:
    if isinstance(value, (str, int, bool, type(None))):
        return value
    if isinstance(value, (bytes, bytearray)):
        return "0x" + bytes(value).hex()
    if isinstance(value, (list, tuple)):
        plain = (str, int, bool, type(None))
        return [item if isinstance(item, plain) else str(item) for item in value]
    return str(value)


class McpsolError(Exception):
    """Base class. `reason` is a stable name; `details()` is what --json and MCP results contain."""

    reason: ClassVar[str] = "error"

    def details(self) -> dict[str, Any]:
        """Return the public attributes as JSON values, with `reason` and `message`."""
        out: dict[str, Any] = {"reason": self.reason, "message": str(self)}
        for key, value in vars(self).items():
            if key.startswith("_") or key in out:
                continue
            out[key] = _json_value(value)
        return out


# --- sources ---------------------------------------------------------------------------------------------------------


class SourceError(McpsolError):
    """A spec, an IDL or a configuration file cannot be read.

    `origin` is the file or module, `path` the place in it ("instructions[2].args[0]").
    """

    reason = "source_error"

    def __init__(self, message: str, *, origin: str = "", path: str = "") -> None:
        super().__init__(message)
        self.text = message
        self.origin = origin
        self.path = path

    def at(self, origin: str = "", path: str = "") -> SourceError:
        """Return this error with *path* put before its own, and *origin* if it has none."""
        if path:
            joiner = "" if not self.path or self.path.startswith("[") else "."
            self.path = f"{path}{joiner}{self.path}"
        self.origin = self.origin or origin
        return self

    def __str__(self) -> str:
        where = ": ".join(filter(None, (self.origin, self.path)))
        return f"{where}: {self.text}" if where else self.text

    def details(self) -> dict[str, Any]:
        out = super().details()
        out.pop("text", None)
        return out


class UnknownDialect(SourceError):
    """The document is not an IDL of a known dialect."""

    reason = "unknown_dialect"


class UnsupportedType(SourceError):
    """A type that the program model cannot express. `found` is the type as written."""

    reason = "unsupported_type"

    def __init__(
        self, message: str, *, found: str = "", origin: str = "", path: str = ""
    ) -> None:
        super().__init__(message, origin=origin, path=path)
        self.found = found


class UnresolvedName(SourceError):
    """A name that the document refers to and does not define."""

    reason = "unresolved_name"

    def __init__(
        self,
        kind: str,
        name: str,
        candidates: Iterable[str] = (),
        *,
        origin: str = "",
        path: str = "",
    ) -> None:
        self.name = name
        self.candidates = tuple(candidates)
        super().__init__(
            f"no {kind} named {name!r}. {suggest(name, self.candidates)}",
            origin=origin,
            path=path,
        )


class InvalidProgram(McpsolError):
    """The program has findings of level error. All of them are listed."""

    reason = "invalid_program"

    def __init__(self, findings: Sequence[object], origin: str = "") -> None:
        self.findings = tuple(findings)
        self.origin = origin
        super().__init__()

    def __str__(self) -> str:
        head = f"{self.origin}: " if self.origin else ""
        count = len(self.findings)
        lines = [
            f"{head}{count} finding{'' if count == 1 else 's'} must be fixed first:"
        ]
        return "\n".join(lines + [f"  {finding}" for finding in self.findings[:50]])


class NotUsable(McpsolError):
    """An instruction, account or event that cannot be used. The program's others can."""

    reason = "not_usable"

    def __init__(self, kind: str, name: str, why: str) -> None:
        self.kind, self.name, self.why = kind, name, why
        super().__init__(f"{kind} {name!r} cannot be used: {why}")


class UnknownName(McpsolError):
    """No instruction, account, type, event or argument has this name.

    `hint` is a sentence that replaces the list of candidates, if the name exists elsewhere.
    """

    reason = "unknown_name"

    def __init__(
        self,
        kind: str,
        name: str,
        candidates: Iterable[str],
        where: str = "",
        hint: str = "",
    ) -> None:
        self.kind, self.name = kind, name
        self.candidates = tuple(candidates)
        self.where, self.hint = where, hint
        super().__init__()

    def __str__(self) -> str:
        head = f"{self.where}: " if self.where else ""
        offer = self.hint or suggest(self.name, self.candidates)
        return f"{head}no {self.kind} named {abbr(self.name)}. {offer}"

    @classmethod
    def check(
        cls,
        kind: str,
        names: Iterable[str],
        candidates: Collection[str],
        where: str = "",
    ) -> None:
        """Raise the error for the first of *names* that is no candidate."""
        for name in names:
            if name not in candidates:
                raise cls(kind, str(name)[:80], candidates, where)


# --- codec -----------------------------------------------------------------------------------------------------------


class CodecError(McpsolError):
    """Values and bytes do not match.

    `path` is the place in the value ("swap.amount_in"), `type` the type as text.
    """

    reason = "codec_error"

    def __init__(self, message: str, *, path: str = "", type: str = "") -> None:
        super().__init__(message)
        self.text = message
        self.path = path
        self.type = type

    def under(self, step: str) -> CodecError:
        """Return this error with *step*, a name or "[3]", put before its path."""
        if not self.path:
            self.path = step
        elif self.path.startswith("["):
            self.path = step + self.path
        else:
            self.path = f"{step}.{self.path}"
        return self

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text

    def details(self) -> dict[str, Any]:
        out = super().details()
        out.pop("text", None)
        return out


class EncodeError(CodecError):
    """A value does not fit its type."""

    reason = "encode_error"

    def __init__(
        self, message: str, *, value: object = None, path: str = "", type: str = ""
    ) -> None:
        super().__init__(message, path=path, type=type)
        self._value = value

    @property
    def value(self) -> object:
        """The value that was given."""
        return self._value


class DecodeError(CodecError):
    """Bytes do not fit a type.

    `offset` is the place in the data; of the bytes `wanted`, only those `left` are there.
    """

    reason = "decode_error"

    def __init__(
        self,
        message: str,
        *,
        offset: int = 0,
        wanted: int = 0,
        left: int = 0,
        path: str = "",
        type: str = "",
    ) -> None:
        super().__init__(message, path=path, type=type)
        self.offset, self.wanted, self.left = offset, wanted, left


# --- schema ----------------------------------------------------------------------------------------------------------


class SchemaError(McpsolError):
    """list_tools pages cannot be written or read."""

    reason = "schema_error"


class PageTooLarge(SchemaError):
    """A page does not fit into return data, which holds 1,024 bytes."""

    reason = "page_too_large"

    def __init__(self, tool: str, size: int, limit: int = 1024) -> None:
        self.tool, self.size, self.limit = tool, size, limit
        super().__init__(
            f"tool {tool!r} needs {size:,} bytes as a schema page; return data holds {limit:,}. "
            f"Shorten its descriptions by {size - limit:,} bytes, or use --descriptions short."
        )


class MalformedPage(SchemaError):
    """A page cannot be read. `cursor` is the page that was requested, `data` its first bytes."""

    reason = "malformed_page"

    def __init__(self, cursor: int, why: str, data: bytes = b"") -> None:
        self.cursor, self.why, self.data = cursor, why, data[:64]
        super().__init__(
            f"list_tools page at cursor {cursor}: {why}"
            + (f" (starts {abbr(data[:64])})" if data else "")
        )


# --- render and build ------------------------------------------------------------------------------------------------


class RenderError(McpsolError):
    """A crate cannot be written. `place` is the instruction and the path of the account that it is about, if any."""

    reason = "render_error"

    def __init__(
        self, message: str, *, place: tuple[str, tuple[str, ...]] = ("", ())
    ) -> None:
        super().__init__(message)
        self.place = place


class EditedByHand(RenderError):
    """A generated file lacks its header or was changed. It is not overwritten."""

    reason = "edited_by_hand"

    def __init__(
        self, file: str, why: str = "its 'Rendered by idl2mcp' header is gone"
    ) -> None:
        self.file = file
        super().__init__(
            f"{file}: this generated file was edited by hand ({why}). "
            "Move your change into a handler file or the source, delete the file, and render again."
        )


class BuildError(McpsolError):
    """A crate does not build. `output` is the end of the compiler's output."""

    reason = "build_error"

    def __init__(self, crate: str, why: str, output: str = "") -> None:
        self.crate, self.why, self.output = crate, why, output
        super().__init__(f"{crate}: {why}" + (f"\n{output}" if output else ""))


class ToolchainMissing(BuildError):
    """This machine has no compiler for Solana programs."""

    reason = "toolchain_missing"

    def __init__(self, looked_for: Sequence[str], advice: str) -> None:
        self.looked_for = tuple(looked_for)
        super().__init__(
            "no toolchain for Solana programs",
            f"looked for {', '.join(looked_for)}. {advice}",
        )


class WrongArithmetic(BuildError):
    """The compiler would translate operations on 128-bit integers wrongly (build/ir_check.py).

    `functions` names each as "function (operation)".
    """

    reason = "wrong_arithmetic"

    def __init__(self, crate: str, functions: Sequence[str]) -> None:
        self.functions = tuple(functions)
        listed = "; ".join(self.functions[:10]) + (
            "; …" if len(self.functions) > 10 else ""
        )
        super().__init__(
            crate,
            f"128-bit arithmetic in {listed} (u64::checked_mul uses it too). This compiler translates "
            "it wrongly and reports no error, because a library function is missing. Use 32-bit "
            "halves, divide first, remove another crate's __multi3 and similar functions, or build "
            "with cargo build-sbf.",
        )


class TooManyArguments(BuildError):
    """Functions of a program take more words of arguments than the SVM passes in registers (build/ir_check.py).

    `functions` names each as "function (6 arguments)".
    """

    reason = "too_many_arguments"

    def __init__(self, crate: str, functions: Mapping[str, Sequence[str]]) -> None:
        """`functions`: each with the way from the entry point to it."""
        self.functions = tuple(functions)
        shown = list(functions.items())[:5]
        listed = "; ".join(
            f"{name}, by way of {' > '.join(way)}" for name, way in shown
        )
        more = "; …" if len(functions) > len(shown) else ""
        super().__init__(
            crate,
            f"expected functions of at most 5 words of arguments, got {listed}{more}. This compiler puts the "
            "sixth word where a cluster does not let a program write, so each such call would fail "
            '("Access violation in stack frame"). Mark your function #[inline(always)], or give it one tuple or '
            "struct in place of several values. Do without a library's function of that kind, or build "
            "with cargo build-sbf.",
        )


# --- client ----------------------------------------------------------------------------------------------------------


class ClientError(McpsolError):
    """An operation on a chain failed."""

    reason = "client_error"


class TransportError(ClientError):
    """The endpoint did not give a usable answer.

    `retryable`: asking again later may help. `code` is the JSON-RPC error's number or the HTTP
    status below 500 with which the endpoint refused; None if it may have done what was asked.
    `endpoint` has no path and no query, because providers put API keys there.
    """

    reason = "transport_error"

    def __init__(
        self,
        endpoint: str,
        why: str,
        *,
        retryable: bool = False,
        code: int | None = None,
        retry_after: float = 0.0,
    ) -> None:
        self.endpoint, self.why, self.retryable, self.code = (
            endpoint,
            why,
            retryable,
            code,
        )
        self._retry_after = retry_after
        super().__init__(f"{endpoint}: {why}")

    @property
    def retry_after(self) -> float:
        """The seconds that the endpoint asked to wait."""
        return self._retry_after


class NoSchema(ClientError):
    """The program has no list_tools pages and no IDL account. `outcome` says what was tried."""

    reason = "no_schema"

    def __init__(self, program_id: str, outcome: str) -> None:
        self.program_id, self.outcome = program_id, outcome
        super().__init__(
            f"program {program_id} serves no schema: {outcome}. "
            "Give its IDL: in Python as idl=, on the command line as SOURCE with --program-id."
        )


class MissingAccount(ClientError):
    """An account has to be given. `why` says why its address could not be found otherwise."""

    reason = "missing_account"

    def __init__(
        self, instruction: str, account: str, why: str, also: Sequence[str] = ()
    ) -> None:
        self.instruction, self.account, self.why = instruction, account, why
        #: other accounts that have to be given too
        self.also = tuple(also)
        text = f"{instruction}.{account}: the account's address is missing: {why}. Give it by name."
        super().__init__(
            text + (f" Also to be given: {', '.join(self.also)}." if self.also else "")
        )


class PdaError(ClientError):
    """An address cannot be derived from its seeds."""

    reason = "pda_error"

    def __init__(self, account: str, why: str) -> None:
        self.account, self.why = account, why
        super().__init__(f"{account}: {why}")


class MissingSigner(ClientError):
    """Accounts have to sign, and their key pairs were not given."""

    reason = "missing_signer"

    def __init__(self, addresses: Iterable[str]) -> None:
        self.addresses = tuple(addresses)
        one = len(self.addresses) == 1
        super().__init__(
            f"the transaction needs {'a signature' if one else 'signatures'} of {', '.join(self.addresses)}. "
            f"Pass {'its key pair' if one else 'their key pairs'} among the signers."
        )


class InvalidSigner(ClientError, TypeError):
    """A value among the signers cannot sign. `type_name` is its type."""

    reason = "invalid_signer"

    def __init__(self, type_name: str, why: str = "") -> None:
        self.type_name = type_name
        super().__init__(why or f"{type_name} is not a signer: expected a Keypair")


class InvalidTransaction(ClientError):
    """Instructions cannot be made into a transaction.

    For example because of too many accounts, a number out of range or a malformed signature.
    """

    reason = "invalid_transaction"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"cannot make a transaction: {why}")


class CannotSign(ClientError):
    """A transaction that somebody else built cannot be signed as it is, or not with the signers that were given."""

    reason = "cannot_sign"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"cannot sign the transaction: {why}")


class AccountNotFound(ClientError):
    """An account to read does not exist, or belongs to another program. `wanted` is its type."""

    reason = "account_not_found"

    def __init__(self, address: str, wanted: str, why: str) -> None:
        self.address, self.wanted, self.why = address, wanted, why
        super().__init__(f"cannot read account {address} as {wanted}: {why}")


class TransactionTooLarge(ClientError):
    """A transaction is larger than a packet, which holds 1,232 bytes."""

    reason = "transaction_too_large"

    def __init__(self, size: int, limit: int = 1232, advice: str = "") -> None:
        self.size, self.limit = size, limit
        super().__init__(
            f"the transaction takes {size:,} bytes; a packet holds {limit:,}. "
            + (advice or "Use fewer instructions, or an address lookup table.")
        )


class NoProgram(ClientError):
    """There is no program at an address of this cluster. `advice` says what to do."""

    reason = "no_program"

    def __init__(self, program_id: str, endpoint: str, advice: str = "") -> None:
        self.program_id, self.endpoint, self.advice = program_id, endpoint, advice
        super().__init__(
            f"{endpoint}: there is no program at {program_id}"
            + (f". {advice}" if advice else "")
        )


class DeployRefused(ClientError):
    """A deployment or publication would fail, do more than was asked, or cost more than was shown.

    Nothing was sent for it. What the same run sent before stays within what was shown.
    """

    reason = "deploy_refused"

    def __init__(self, what: str, why: str, would_do: str) -> None:
        self.what, self.why, self.would_do = what, why, would_do
        super().__init__(f"{what}: {why}. {would_do}")


class SendUnknown(ClientError):
    """A transaction was sent and its outcome is unknown. Look it up before sending another one.

    `transaction` is the signed transaction, if the sender has it. Sending the same transaction
    again is safe: it lands once at most.
    """

    reason = "send_unknown"

    def __init__(
        self, signature: str, why: str, transaction: VersionedTransaction | None = None
    ) -> None:
        self.signature, self.why = signature, why
        self._transaction = transaction
        super().__init__(
            f"transaction {signature}: outcome unknown: {why}. Look it up before sending again."
        )

    @property
    def transaction(self) -> VersionedTransaction | None:
        """The signed transaction, or None if the sender does not have it."""
        return self._transaction


class LandedDifferently(ClientError):
    """A transaction landed and took something else from the wallet than its simulation showed.

    `simulated` and `landed` are the base units that left the wallet, by mint.
    """

    reason = "landed_differently"

    def __init__(
        self,
        signature: str,
        simulated: Mapping[str, int],
        landed: Mapping[str, int],
        advice: str,
    ) -> None:
        self.signature = signature
        self.simulated, self.landed = _amounts(simulated), _amounts(landed)
        super().__init__(
            f"transaction {signature} landed and took {self.landed} from the wallet; "
            f"its simulation showed {self.simulated}. {advice}"
        )


def _amounts(flows: Mapping[str, int]) -> str:
    """Return amounts by mint in words: "5,000 lamports, 7 base units of mint …"."""
    units = {mint: f"base units of {mint}" for mint in flows} | {"SOL": "lamports"}
    return (
        ", ".join(f"{amount:,} {units[mint]}" for mint, amount in flows.items())
        or "nothing"
    )


class ProgramFailed(ClientError):
    """A program failed on chain.

    `program_id` is the program that failed, the innermost of the call stack; `stack` has the ids
    from the outermost to it. `name` is the error's name, `code` its custom error number or None,
    `logs` the transaction's logs.
    """

    reason = "program_failed"

    def __init__(
        self,
        program_id: str,
        name: str,
        message: str = "",
        *,
        code: int | None = None,
        logs: Sequence[str] = (),
        stack: Sequence[str] = (),
        instruction_index: int | None = None,
    ) -> None:
        self.program_id, self.name, self.code = program_id, name, code
        self.error_message = message
        #: sentences about what the caller can check or change
        self.hints: tuple[str, ...] = ()
        #: what the program returned with its error, decoded; None if it returned nothing
        self.returned: object = None
        self.logs, self.stack = tuple(logs), tuple(stack)
        self.instruction_index = instruction_index
        number = f" ({code})" if code is not None else ""
        super().__init__(
            f"program {program_id} failed with {name}{number}"
            + (f": {message}" if message else "")
        )

    def details(self) -> dict[str, Any]:
        out = super().details()
        del out["returned"]
        return out if self.returned is None else {**out, "returned": self.returned}


class PolicyError(McpsolError):
    """The bridge's policy forbids the call. `rule` is the rule, as in the policy file."""

    reason = "policy_refused"

    def __init__(self, rule: str, why: str) -> None:
        self.rule, self.why = rule, why
        super().__init__(
            f"refused by the owner's policy (rule {rule}), not by the chain: {why}. "
            "Nothing was sent. Only the wallet's owner can change the policy."
        )


class PaymentError(McpsolError):
    """An x402 payment failed or was refused. `code` is the protocol's reason (docs/x402.md)."""

    reason = "payment_error"

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class StorageError(McpsolError):
    """A database cannot be read or written now. For that of payments, the call's outcome is unknown."""

    reason = "storage_error"

    def __init__(
        self,
        why: str,
        *,
        what: str = "payment database",
        advice: str = "Repeat the same call later, and do not pay again.",
    ) -> None:
        self.why = why
        super().__init__(f"the {what} cannot be used now: {why}. {advice}")

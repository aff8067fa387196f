"""Every error that this library raises on purpose, in one tree.

McpsolError                  the root; `reason` is a stable slug, the same in --json and in MCP results
├─ SourceError               a spec or an IDL cannot be read             (origin, path)
│  ├─ UnknownDialect         the document is none of the known dialects
│  ├─ UnsupportedType        a type that the model cannot say            (found)
│  └─ UnresolvedName         a name that nothing defines                 (name, candidates)
├─ InvalidProgram            a group of findings of level error          (findings)
├─ NotUsable                 an instruction that cannot be served        (instruction, why)
├─ UnknownName               no such instruction, account, type, event   (kind, name, candidates)
├─ CodecError                values <-> bytes                            (path, type)
│  ├─ EncodeError            the value does not fit the type             (value)
│  └─ DecodeError            the bytes do not fit the type               (offset, wanted, left)
├─ SchemaError               pages of list_tools
│  ├─ PageTooLarge           a page that return data cannot hold         (tool, size, limit)
│  └─ MalformedPage          a page that cannot be read                  (cursor, data)
├─ RenderError               a crate cannot be written
│  └─ EditedByHand           a generated file lost its header            (file)
├─ BuildError                a crate does not build                      (crate, output)
│  ├─ ToolchainMissing       no compiler for the SVM on this machine     (looked_for)
│  └─ WrongArithmetic        the compiler would mis-compile              (functions)
├─ ClientError               talking to a chain
│  ├─ TransportError         the endpoint did not answer as it should    (endpoint)
│  ├─ NoSchema               no list_tools and no IDL                    (program_id, outcome)
│  ├─ MissingAccount         an account that must be given               (instruction, account, why)
│  ├─ PdaError               an address that cannot be derived           (account, why)
│  ├─ MissingSigner          a signature that nobody here can give       (addresses)
│  ├─ InvalidSigner          a value that cannot sign                    (type_name)
│  ├─ InvalidTransaction     no transaction can be made of this          (why)
│  ├─ AccountNotFound        an account to read that is not there        (address, wanted, why)
│  ├─ TransactionTooLarge    over 1,232 bytes                            (size, limit)
│  ├─ NoProgram              no program at an address                    (program_id)
│  ├─ DeployRefused          a deployment that would fail or lose        (why, would_do)
│  ├─ SendUnknown            sent, but the outcome is not known          (signature)
│  └─ ProgramFailed          a named on-chain error                      (program_id, code, name, logs)
├─ PolicyError               the bridge refuses                          (rule)
├─ PaymentError              x402                                        (requirement)
└─ StorageError              the database is away, locked or full        (why)

Rules: a message says where, what was found, and what would do; it never holds a key, a signature or a payment payload.
Each message is worded in its class, so that one place words one thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from solders.transaction import VersionedTransaction

__all__ = [
    "AccountNotFound",
    "BuildError",
    "ClientError",
    "CodecError",
    "DecodeError",
    "DeployRefused",
    "EditedByHand",
    "EncodeError",
    "InvalidProgram",
    "InvalidSigner",
    "InvalidTransaction",
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
    """The repr of *value*, shortened in the middle to at most *limit* characters."""
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
    """A sentence that offers names which exist: the nearest first, all if ten or fewer, else how many there are."""
    names = list(dict.fromkeys(candidates))
    if not names:
        return "There are none."
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    text = f"Did you mean {near[0]!r}? " if near else ""
    if len(names) <= 10:
        return text + "Available: " + ", ".join(names) + "."
    return text + f"There are {len(names)}: {', '.join(names[:10])}, and more."


class McpsolError(Exception):
    """The root of the tree. `reason` is a stable slug; `details()` is what --json and MCP results carry."""

    reason: ClassVar[str] = "error"

    def details(self) -> dict[str, Any]:
        """The attributes as JSON-safe values, with `reason` and `message`."""
        out: dict[str, Any] = {"reason": self.reason, "message": str(self)}
        for key, value in vars(self).items():
            if key.startswith("_") or key in out:
                continue
            if isinstance(value, (str, int, bool, type(None))):
                out[key] = value
            elif isinstance(value, (bytes, bytearray)):
                out[key] = "0x" + bytes(value).hex()
            elif isinstance(value, (list, tuple)):
                out[key] = [
                    v if isinstance(v, (str, int, bool, type(None))) else str(v) for v in value
                ]
            else:
                out[key] = str(value)
        return out


# --- sources ---------------------------------------------------------------------------------------------------------


class SourceError(McpsolError):
    """A spec or an IDL cannot be read. `origin` is the file or module, `path` the place in it
    ("instructions[2].args[0]").
    """

    reason = "source_error"

    def __init__(self, message: str, *, origin: str = "", path: str = "") -> None:
        super().__init__(message)
        self.text = message
        self.origin = origin
        self.path = path

    def at(self, origin: str = "", path: str = "") -> SourceError:
        """The same error, told where it stood: an outer *path* is put before what is known, *origin* only if
        unknown.
        """
        if path:
            joiner = "" if not self.path or self.path.startswith("[") else "."
            self.path = f"{path}{joiner}{self.path}"
        self.origin = self.origin or origin
        return self

    def __str__(self) -> str:
        where = ": ".join(p for p in (self.origin, self.path) if p)
        return f"{where}: {self.text}" if where else self.text

    def details(self) -> dict[str, Any]:
        out = super().details()
        out.pop("text", None)
        return out


class UnknownDialect(SourceError):
    """The document is no IDL of a known dialect."""

    reason = "unknown_dialect"


class UnsupportedType(SourceError):
    """A type that the model cannot say. `found` is the type as written."""

    reason = "unsupported_type"

    def __init__(self, message: str, *, found: str = "", origin: str = "", path: str = "") -> None:
        super().__init__(message, origin=origin, path=path)
        self.found = found


class UnresolvedName(SourceError):
    """A reference to something that the document does not define."""

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
            f"no {kind} named {name!r}. {suggest(name, self.candidates)}", origin=origin, path=path
        )


class InvalidProgram(McpsolError):
    """Findings of level error, all at once."""

    reason = "invalid_program"

    def __init__(self, findings: Sequence[object], origin: str = "") -> None:
        self.findings = tuple(findings)
        self.origin = origin
        super().__init__()

    def __str__(self) -> str:
        head = f"{self.origin}: " if self.origin else ""
        count = len(self.findings)
        lines = [f"{head}{count} finding{'' if count == 1 else 's'} must be mended first:"]
        return "\n".join(lines + [f"  {finding}" for finding in self.findings[:50]])


class NotUsable(McpsolError):
    """An instruction (or account, event) that cannot be encoded or decoded, and why; the program's others work."""

    reason = "not_usable"

    def __init__(self, kind: str, name: str, why: str) -> None:
        self.kind, self.name, self.why = kind, name, why
        super().__init__(f"{kind} {name!r} cannot be used: {why}")


class UnknownName(McpsolError):
    """No instruction, account, type, event or argument of that name. `hint`: where else the name stands, as a
    sentence."""

    reason = "unknown_name"

    def __init__(
        self, kind: str, name: str, candidates: Iterable[str], where: str = "", hint: str = ""
    ) -> None:
        self.kind, self.name = kind, name
        self.candidates = tuple(candidates)
        self.where, self.hint = where, hint
        super().__init__()

    def __str__(self) -> str:
        head = f"{self.where}: " if self.where else ""
        offer = self.hint or suggest(self.name, self.candidates)
        return f"{head}no {self.kind} named {abbr(self.name)}. {offer}"


# --- codec -----------------------------------------------------------------------------------------------------------


class CodecError(McpsolError):
    """Values <-> bytes. `path` is the place in the value ("swap.amount_in"), `type` the type as text."""

    reason = "codec_error"

    def __init__(self, message: str, *, path: str = "", type: str = "") -> None:
        super().__init__(message)
        self.text = message
        self.path = path
        self.type = type

    def under(self, step: str) -> CodecError:
        """The same error, one step further out: *step* is a name or "[3]"."""
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
    """The value does not fit the type."""

    reason = "encode_error"

    def __init__(
        self, message: str, *, value: object = None, path: str = "", type: str = ""
    ) -> None:
        super().__init__(message, path=path, type=type)
        self._value = value

    @property
    def value(self) -> object:
        """What was given."""
        return self._value


class DecodeError(CodecError):
    """The bytes do not fit the type. `offset` from the start of the data, `wanted` and `left` in bytes."""

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
    """Pages of list_tools that cannot be written or read."""

    reason = "schema_error"


class PageTooLarge(SchemaError):
    """A page over the 1,024 bytes that return data holds."""

    reason = "page_too_large"

    def __init__(self, tool: str, size: int, limit: int = 1024) -> None:
        self.tool, self.size, self.limit = tool, size, limit
        super().__init__(
            f"tool {tool!r} needs {size:,} bytes as a schema page; return data holds {limit:,}. "
            f"Shorten its descriptions by {size - limit:,} bytes, or use --descriptions short."
        )


class MalformedPage(SchemaError):
    """A page that cannot be read. `cursor` is the page asked for; `data` its first bytes."""

    reason = "malformed_page"

    def __init__(self, cursor: int, why: str, data: bytes = b"") -> None:
        self.cursor, self.why, self.data = cursor, why, data[:64]
        super().__init__(
            f"list_tools page at cursor {cursor}: {why}"
            + (f" (starts {abbr(data[:64])})" if data else "")
        )


# --- render and build ------------------------------------------------------------------------------------------------


class RenderError(McpsolError):
    """A crate cannot be written."""

    reason = "render_error"


class EditedByHand(RenderError):
    """A generated file whose header is gone, or whose text is not what was rendered: it is not overwritten."""

    reason = "edited_by_hand"

    def __init__(self, file: str, why: str = "its 'Rendered by idl2mcp' header is gone") -> None:
        self.file = file
        super().__init__(
            f"{file}: this generated file was edited by hand ({why}). "
            "Move your change into a handler file or the source, delete the file, and render again."
        )


class BuildError(McpsolError):
    """A crate does not build. `output` is the end of the compiler's own words."""

    reason = "build_error"

    def __init__(self, crate: str, why: str, output: str = "") -> None:
        self.crate, self.why, self.output = crate, why, output
        super().__init__(f"{crate}: {why}" + (f"\n{output}" if output else ""))


class ToolchainMissing(BuildError):
    """No compiler for the SVM on this machine."""

    reason = "toolchain_missing"

    def __init__(self, looked_for: Sequence[str], advice: str) -> None:
        self.looked_for = tuple(looked_for)
        super().__init__(
            "no toolchain for Solana programs", f"looked for {', '.join(looked_for)}. {advice}"
        )


class WrongArithmetic(BuildError):
    """Operations wider than the machine that this compiler would translate wrong (mcpsol_py/build/ir_check.py).

    `functions` names each as "function (operation)".
    """

    reason = "wrong_arithmetic"

    def __init__(self, crate: str, functions: Sequence[str]) -> None:
        self.functions = tuple(functions)
        listed = "; ".join(self.functions[:10]) + ("; …" if len(self.functions) > 10 else "")
        super().__init__(
            crate,
            f"arithmetic of 128 bits (u64::checked_mul is some too) in {listed}. This compiler would translate it "
            "wrong without a word, for want of the library function that it calls. Leave out another crate's "
            "__multi3 and its like, use 32-bit halves, divide first, or build with cargo build-sbf.",
        )


# --- client ----------------------------------------------------------------------------------------------------------


class ClientError(McpsolError):
    """Talking to a chain."""

    reason = "client_error"


class TransportError(ClientError):
    """The endpoint did not answer as it should. `retryable`: asking again later may help. `code`: the JSON-RPC
    error's number, or the HTTP status under 500, with which it refused; None where it may have done what was asked.

    `endpoint` is shown without path and query, since API keys stand there.
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
        self.endpoint, self.why, self.retryable, self.code = endpoint, why, retryable, code
        self._retry_after = retry_after
        super().__init__(f"{endpoint}: {why}")

    @property
    def retry_after(self) -> float:
        """How long the endpoint asked to wait, in seconds."""
        return self._retry_after


class NoSchema(ClientError):
    """The program serves no list_tools pages and no IDL account was found. `outcome` says what was tried and
    answered.
    """

    reason = "no_schema"

    def __init__(self, program_id: str, outcome: str) -> None:
        self.program_id, self.outcome = program_id, outcome
        super().__init__(
            f"program {program_id} serves no schema: {outcome}. "
            "Give its IDL: in Python as idl=, on the command line as SOURCE with --program-id."
        )


class MissingAccount(ClientError):
    """An account that must be given, and why it could not be filled in."""

    reason = "missing_account"

    def __init__(self, instruction: str, account: str, why: str, also: Sequence[str] = ()) -> None:
        self.instruction, self.account, self.why = instruction, account, why
        #: others that must be given and are not
        self.also = tuple(also)
        text = f"{instruction}.{account}: the account's address is missing: {why}. Give it by name."
        super().__init__(
            text + (f" Also to be given: {', '.join(self.also)}." if self.also else "")
        )


class PdaError(ClientError):
    """An address that cannot be derived from its seeds."""

    reason = "pda_error"

    def __init__(self, account: str, why: str) -> None:
        self.account, self.why = account, why
        super().__init__(f"{account}: {why}")


class MissingSigner(ClientError):
    """Accounts that must sign, and no key pair for them was given."""

    reason = "missing_signer"

    def __init__(self, addresses: Iterable[str]) -> None:
        self.addresses = tuple(addresses)
        one = len(self.addresses) == 1
        super().__init__(
            f"the transaction needs {'a signature' if one else 'signatures'} of {', '.join(self.addresses)}. "
            f"Pass {'its key pair' if one else 'their key pairs'} among the signers."
        )


class InvalidSigner(ClientError, TypeError):
    """A value among the signers that cannot sign."""

    reason = "invalid_signer"

    def __init__(self, type_name: str, why: str = "") -> None:
        self.type_name = type_name
        super().__init__(why or f"{type_name} is not a signer: expected a Keypair")


class InvalidTransaction(ClientError):
    """Values of which no transaction can be made: too many accounts, a number out of range, a malformed signature."""

    reason = "invalid_transaction"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"cannot make a transaction: {why}")


class AccountNotFound(ClientError):
    """An account to be read that does not exist, or belongs to another program. `wanted`: the account type."""

    reason = "account_not_found"

    def __init__(self, address: str, wanted: str, why: str) -> None:
        self.address, self.wanted, self.why = address, wanted, why
        super().__init__(f"account {address}, to be read as {wanted}: {why}")


class TransactionTooLarge(ClientError):
    """A transaction over the 1,232 bytes of a packet."""

    reason = "transaction_too_large"

    def __init__(self, size: int, limit: int = 1232, advice: str = "") -> None:
        self.size, self.limit = size, limit
        super().__init__(
            f"the transaction takes {size:,} bytes; a packet holds {limit:,}. "
            + (advice or "Use fewer instructions, or an address lookup table.")
        )


class NoProgram(ClientError):
    """There is no program at an address of this cluster. `advice` says what would do."""

    reason = "no_program"

    def __init__(self, program_id: str, endpoint: str, advice: str = "") -> None:
        self.program_id, self.endpoint, self.advice = program_id, endpoint, advice
        super().__init__(
            f"{endpoint}: there is no program at {program_id}" + (f". {advice}" if advice else "")
        )


class DeployRefused(ClientError):
    """A deployment or publication that would fail, or do what nobody asked for. Nothing was sent for it."""

    reason = "deploy_refused"

    def __init__(self, what: str, why: str, would_do: str) -> None:
        self.what, self.why, self.would_do = what, why, would_do
        super().__init__(f"{what}: {why}. {would_do}")


class SendUnknown(ClientError):
    """Sent, but whether it landed is not known. Look the signature up before sending anything again.

    `transaction` is the signed transaction, if the sender has it. To hand in exactly the same one again is safe: it
    lands once at most.
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


class ProgramFailed(ClientError):
    """An on-chain failure, named where the name is known.

    `program_id` is the program that failed (the innermost of the CPI stack), `stack` the ids from the outermost to it,
    `code` the custom error number or None, `name` the error's name, `logs` the transaction's logs.
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
        #: what its caller can look at or change, as sentences
        self.hints: tuple[str, ...] = ()
        self.logs, self.stack = tuple(logs), tuple(stack)
        self.instruction_index = instruction_index
        number = f" ({code})" if code is not None else ""
        super().__init__(
            f"program {program_id} failed with {name}{number}" + (f": {message}" if message else "")
        )


class PolicyError(McpsolError):
    """The bridge's policy refuses. `rule` names the rule, as in the policy file."""

    reason = "policy_refused"

    def __init__(self, rule: str, why: str) -> None:
        self.rule, self.why = rule, why
        super().__init__(f"refused by the policy's {rule}: {why}")


class PaymentError(McpsolError):
    """x402. `code` is the protocol's reason (X402.md 6)."""

    reason = "payment_error"

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class StorageError(McpsolError):
    """The database of payments cannot be read or written now. Nothing more is known of the call than what it holds."""

    reason = "storage_error"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(
            f"the database of payments cannot be used now: {why}. Repeat the same call later; never pay anew."
        )

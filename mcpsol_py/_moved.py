"""Old import paths, kept working until 0.3.0 with a DeprecationWarning.

`MODULES` maps each module's old path to its new one, `NAMES` maps old names inside a module to new ones. Importing an
old path gives a thin module that looks its names up in the new one.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["MODULES", "NAMES", "install", "renamed"]

#: Old module -> new module.
MODULES = {
    "idl2mcp.drift": "mcpsol_py.schema.comparison.diff",
    "idl2mcp.purse": "idl2mcp.config.agent_wallet",
    "idl2mcp.tables": "mcpsol_py.toml_schema",
    "mcpsol_py.accounts.addresses": "mcpsol_py.accounts.inputs",
    "mcpsol_py.accounts.pda": "mcpsol_py.solana.pda",
    "mcpsol_py.accounts.straight": "mcpsol_py.accounts.compiled_build",
    "mcpsol_py.accounts.wellknown": "mcpsol_py.accounts.known_names",
    "mcpsol_py.attack.scene": "mcpsol_py.attack.sandbox",
    "mcpsol_py.attack.tokens": "mcpsol_py.solana.tokens",
    "mcpsol_py.bridge.access": "mcpsol_py.bridge.http",
    "mcpsol_py.bridge.app": "mcpsol_py.bridge.http.app",
    "mcpsol_py.bridge.audit": "mcpsol_py.bridge.policy.audit_log",
    "mcpsol_py.bridge.balances": "mcpsol_py.calls.balances",
    "mcpsol_py.bridge.calls": "mcpsol_py.calls.prepare",
    "mcpsol_py.bridge.completing": "mcpsol_py.bridge.mcp.completion",
    "mcpsol_py.bridge.effects": "mcpsol_py.calls.effects",
    "mcpsol_py.bridge.explorer": "mcpsol_py.bridge.explorer.app",
    "mcpsol_py.bridge.forms": "mcpsol_py.bridge.explorer.forms",
    "mcpsol_py.bridge.hints": "mcpsol_py.calls.hints",
    "mcpsol_py.bridge.http": "mcpsol_py.bridge.http.settings",
    "mcpsol_py.bridge.instructions": "mcpsol_py.calls.foreign.known_instructions",
    "mcpsol_py.bridge.listening": "mcpsol_py.bridge.mcp.progress",
    "mcpsol_py.bridge.pages": "mcpsol_py.bridge.explorer.content",
    "mcpsol_py.bridge.paid": "mcpsol_py.bridge.pricing",
    "mcpsol_py.bridge.payments_page": "mcpsol_py.bridge.explorer.payments_page",
    "mcpsol_py.bridge.policy": "mcpsol_py.bridge.policy.rules",
    "mcpsol_py.bridge.prompts": "mcpsol_py.bridge.mcp.prompts",
    "mcpsol_py.bridge.reach": "mcpsol_py.calls.signing_power",
    "mcpsol_py.bridge.reading": "mcpsol_py.calls.reading",
    "mcpsol_py.bridge.refreshing": "mcpsol_py.bridge.refresh",
    "mcpsol_py.bridge.resources": "mcpsol_py.bridge.mcp.resources",
    "mcpsol_py.bridge.sending": "mcpsol_py.calls.send",
    "mcpsol_py.bridge.server": "mcpsol_py.bridge.mcp.server",
    "mcpsol_py.bridge.sessions": "mcpsol_py.bridge.mcp.sessions",
    "mcpsol_py.bridge.sockets": "mcpsol_py.bridge.http.connections",
    "mcpsol_py.bridge.stdio": "mcpsol_py.bridge.mcp.stdio",
    "mcpsol_py.bridge.summary": "mcpsol_py.calls.summary",
    "mcpsol_py.build.rent": "mcpsol_py.solana.rent",
    "mcpsol_py.client.batch": "mcpsol_py.batch",
    "mcpsol_py.client.deploy": "mcpsol_py.deploy.program",
    "mcpsol_py.client.metadata": "mcpsol_py.deploy.idl_metadata",
    "mcpsol_py.client.program_client": "mcpsol_py.program_client",
    "mcpsol_py.client.transactions": "mcpsol_py.calls.transactions",
    "mcpsol_py.codec.careful": "mcpsol_py.codec.interpreted",
    "mcpsol_py.codec.compile": "mcpsol_py.codec.compiled",
    "mcpsol_py.model.base58": "mcpsol_py.solana.base58",
    "mcpsol_py.model.quick": "mcpsol_py.model.fast_init",
    "mcpsol_py.render.accounts": "mcpsol_py.render.view.accounts",
    "mcpsol_py.render.again": "mcpsol_py.render.rerender",
    "mcpsol_py.render.anchor_accounts": "mcpsol_py.render.anchor.accounts",
    "mcpsol_py.render.anchor_types": "mcpsol_py.render.anchor.types",
    "mcpsol_py.render.state": "mcpsol_py.render.view.state",
    "mcpsol_py.render.wire": "mcpsol_py.render.rust_types",
    "mcpsol_py.schema.fitting": "mcpsol_py.schema.client_profiles",
    "mcpsol_py.schema.lift": "mcpsol_py.schema.from_pages",
    "mcpsol_py.sources.spec_file": "mcpsol_py.sources.spec.file",
    "mcpsol_py.sources.spec_instruction": "mcpsol_py.sources.spec.instruction",
    "mcpsol_py.x402.agent": "mcpsol_py.x402.buying.agent",
    "mcpsol_py.x402.agent_tools": "mcpsol_py.x402.buying.agent_tools",
    "mcpsol_py.x402.alerts": "mcpsol_py.x402.worker.alerts",
    "mcpsol_py.x402.budget": "mcpsol_py.x402.buying.budget",
    "mcpsol_py.x402.buyer": "mcpsol_py.x402.buying.mcp_buyer",
    "mcpsol_py.x402.catalog": "mcpsol_py.x402.protocol.bazaar",
    "mcpsol_py.x402.channels.desk": "mcpsol_py.x402.channels.channel_facilitator",
    "mcpsol_py.x402.facilitator_app": "mcpsol_py.x402.facilitator",
    "mcpsol_py.x402.facilitators": "mcpsol_py.x402.selling.facilitators",
    "mcpsol_py.x402.gate": "mcpsol_py.x402.selling",
    "mcpsol_py.x402.http_buyer": "mcpsol_py.x402.buying.http_buyer",
    "mcpsol_py.x402.http_seller": "mcpsol_py.x402.selling.http_seller",
    "mcpsol_py.x402.http_wire": "mcpsol_py.x402.protocol.http_wire",
    "mcpsol_py.x402.networks": "mcpsol_py.x402.protocol.networks",
    "mcpsol_py.x402.offer": "mcpsol_py.x402.protocol.offer",
    "mcpsol_py.x402.paying": "mcpsol_py.x402.buying.paying",
    "mcpsol_py.x402.payment_extension": "mcpsol_py.x402.protocol.payment_extension",
    "mcpsol_py.x402.payment_ids": "mcpsol_py.x402.protocol.payment_ids",
    "mcpsol_py.x402.price": "mcpsol_py.x402.protocol.price",
    "mcpsol_py.x402.program": "mcpsol_py.x402.chain.program",
    "mcpsol_py.x402.receipts": "mcpsol_py.x402.protocol.receipts",
    "mcpsol_py.x402.reconciling": "mcpsol_py.x402.worker.reconcile",
    "mcpsol_py.x402.rpc_chain": "mcpsol_py.x402.chain.payment_chain",
    "mcpsol_py.x402.seller": "mcpsol_py.x402.selling.mcp_seller",
    "mcpsol_py.x402.store.audit": "mcpsol_py.x402.store.merchant_log",
    "mcpsol_py.x402.store.catalog": "mcpsol_py.x402.store.bazaar",
    "mcpsol_py.x402.store.group": "mcpsol_py.x402.store.group_commit",
    "mcpsol_py.x402.subscriptions.book": "mcpsol_py.x402.subscriptions.store",
    "mcpsol_py.x402.subscriptions.proof": "mcpsol_py.x402.protocol.proof",
    "mcpsol_py.x402.svm_chain": "mcpsol_py.x402.chain.payment_chain",
    "mcpsol_py.x402.wallet": "mcpsol_py.x402.buying.wallet",
    "mcpsol_py.x402.webhooks": "mcpsol_py.x402.worker.webhooks",
    "mcpsol_py.x402.wire": "mcpsol_py.x402.protocol.mcp_wire",
}

#: Old module -> {old name: new name}, for names that changed. "module:name" for one that went to another module.
NAMES: dict[str, dict[str, str]] = {
    "idl2mcp.drift": {
        "Locked": "idl2mcp.lock_file:Locked",
        "Place": "idl2mcp.lock_file:Place",
        "lock_document": "idl2mcp.lock_file:lock_document",
        "place_of": "idl2mcp.lock_file:place_of",
        "read_lock": "idl2mcp.lock_file:read_lock",
        "read_locked": "idl2mcp.lock_file:read_locked",
    },
    "mcpsol_py.bridge.balances": {
        "NATIVE": "mcpsol_py.solana.native_accounts:NATIVE_PROGRAMS",
        "TOKEN_PROGRAMS": "mcpsol_py.solana.tokens:TOKEN_PROGRAMS",
        "TokenState": "mcpsol_py.solana.tokens:TokenAccount",
        "extensions": "mcpsol_py.solana.tokens:extensions",
        "handed_over": "mcpsol_py.calls.takeovers:handed_over",
        "takeovers": "mcpsol_py.calls.takeovers:takeovers",
        "token_state": "mcpsol_py.solana.tokens:read_token_account",
    },
    "mcpsol_py.bridge.http": {
        "Receive": "mcpsol_py.bridge.http.asgi:Receive",
        "Scope": "mcpsol_py.bridge.http.asgi:Scope",
        "Send": "mcpsol_py.bridge.http.asgi:Send",
        "answer": "mcpsol_py.bridge.http.asgi:respond",
        "bearer_of": "mcpsol_py.bridge.http.asgi:bearer_token",
        "header": "mcpsol_py.bridge.http.asgi:header",
    },
    "mcpsol_py.client.loader": {
        "BUFFER_HEADER": "mcpsol_py.solana.loader:BUFFER_HEADER",
        "Buffer": "mcpsol_py.solana.loader:ProgramBuffer",
        "Deployment": "mcpsol_py.solana.loader:DeployedProgram",
        "LOADER": "mcpsol_py.solana.loader:LOADER",
        "MAX_ELF": "mcpsol_py.solana.loader:MAX_ELF",
        "PROGRAMDATA_HEADER": "mcpsol_py.solana.loader:PROGRAMDATA_HEADER",
        "PROGRAM_SIZE": "mcpsol_py.solana.loader:PROGRAM_SIZE",
        "Rent": "mcpsol_py.solana.rent:RentRate",
        "Standing": "DeploymentMark",
        "close": "mcpsol_py.solana.loader:close",
        "deploy": "mcpsol_py.solana.loader:deploy",
        "extend": "mcpsol_py.solana.loader:extend",
        "initialize_buffer": "mcpsol_py.solana.loader:initialize_buffer",
        "make_final": "mcpsol_py.solana.loader:make_final",
        "programdata_address": "mcpsol_py.solana.loader:programdata_address",
        "read_buffer": "mcpsol_py.solana.loader:read_buffer",
        "standing": "deployment_mark",
        "upgrade": "mcpsol_py.solana.loader:upgrade",
        "write": "mcpsol_py.solana.loader:write",
    },
    "mcpsol_py.client.metadata": {
        "Instructions": "MetadataInstructions",
    },
    "mcpsol_py.client.program_client": {
        "SyncProgramClient": "mcpsol_py.sync_client:SyncProgramClient",
        "connect": "mcpsol_py.connection:connect",
        "connect_sync": "mcpsol_py.connection:connect_sync",
    },
    "mcpsol_py.client.discovery": {
        "FetchedIdl": "mcpsol_py.client.idl_accounts:FetchedIdl",
        "fetch_idl": "mcpsol_py.client.idl_accounts:fetch_idl",
        "fetch_idl_sync": "mcpsol_py.client.idl_accounts:fetch_idl_sync",
        "idl_places": "mcpsol_py.client.idl_accounts:idl_places",
        "metadata_address": "mcpsol_py.client.idl_accounts:metadata_address",
    },
    "mcpsol_py.client.subscriptions": {"log_messages": "transaction_logs"},
    "mcpsol_py.accounts.wellknown": {
        "ASSOCIATED_TOKEN_PROGRAM": "mcpsol_py.solana.addresses:ASSOCIATED_TOKEN_PROGRAM",
        "COMPUTE_BUDGET": "mcpsol_py.solana.addresses:COMPUTE_BUDGET",
        "METADATA_PROGRAM": "mcpsol_py.solana.addresses:METADATA_PROGRAM",
        "PROGRAM_METADATA": "mcpsol_py.solana.addresses:PROGRAM_METADATA",
        "PROGRAM_NAMES": "mcpsol_py.solana.addresses:PROGRAM_NAMES",
        "SYSTEM_PROGRAM": "mcpsol_py.solana.addresses:SYSTEM_PROGRAM",
        "TOKEN_2022_PROGRAM": "mcpsol_py.solana.addresses:TOKEN_2022_PROGRAM",
        "TOKEN_PROGRAM": "mcpsol_py.solana.addresses:TOKEN_PROGRAM",
        "certain": "known_address",
    },
    "mcpsol_py.codec.layout": {"is_bytes": "mcpsol_py.model.types:is_bytes"},
    "mcpsol_py.codec.read_source": {"Reader": "ReaderSource"},
    "mcpsol_py.codec.write_source": {"Writer": "WriterSource"},
    "mcpsol_py.codec.source": {
        "Source": "FunctionSource",
        "tag_bytes": "mcpsol_py.codec.integers:int_bytes",
    },
    "mcpsol_py.codec.careful": {
        "Buffer": "mcpsol_py.codec.interpreted_write:WriteBuffer",
        "Careful": "Interpreted",
        "decode_short_u16": "mcpsol_py.codec.integers:decode_short_u16",
        "encode_short_u16": "mcpsol_py.codec.integers:encode_short_u16",
        "match_names": "mcpsol_py.codec.key_names:match_names",
    },
    "mcpsol_py.bridge.calls": {
        "Prepared": "PreparedCall",
        "Served": "ServedProgram",
        "Simulated": "mcpsol_py.calls.simulate:SimulatedCall",
        "describe": "mcpsol_py.calls.describe:describe",
        "simulate": "mcpsol_py.calls.simulate:simulate",
        "text_of": "mcpsol_py.calls.describe:text_of",
    },
    "mcpsol_py.bridge.listening": {
        "LEVELS": "LOG_LEVELS",
        "Level": "LogLevel",
        "Listener": "ProgressListener",
        "Steps": "CallProgress",
        "to_its_end": "run_to_completion",
    },
    "mcpsol_py.bridge.pages": {
        "Content": "PageContent",
        "Facts": "FactsBlock",
        "Kind": "CellKind",
        "Table": "TableBlock",
        "Text": "TextBlock",
    },
    "mcpsol_py.bridge.policy": {"Limit": "OutflowLimit"},
    "mcpsol_py.client.deploy": {"FEE": "mcpsol_py.solana.fees:LAMPORTS_PER_SIGNATURE"},
    "mcpsol_py.bridge.reading": {
        "Filter": "mcpsol_py.calls.account_filters:Filter",
        "data_of": "mcpsol_py.calls.transaction_reading:data_of",
        "decode_data": "mcpsol_py.calls.transaction_reading:decode_data",
        "decode_raw": "mcpsol_py.calls.transaction_reading:decode_raw",
        "decode_signature": "mcpsol_py.calls.transaction_reading:decode_signature",
        "decode_transaction": "mcpsol_py.calls.transaction_reading:decode_transaction",
        "filterable": "mcpsol_py.calls.account_filters:filterable",
    },
    "mcpsol_py.bridge.reach": {"Reach": "SigningPower", "reach_of": "signing_power"},
    "mcpsol_py.render.accounts": {"flatten": "mcpsol_py.render.account_lookup:flatten"},
    "mcpsol_py.render.rust": {"Names": "IdentifierPool"},
    "mcpsol_py.render.wire": {
        "EnumView": "mcpsol_py.render.type_views:EnumView",
        "FieldView": "mcpsol_py.render.type_views:RustField",
        "StructView": "mcpsol_py.render.type_views:StructView",
        "Val": "mcpsol_py.render.type_views:Value",
        "VariantView": "mcpsol_py.render.type_views:VariantForm",
        "array_text": "mcpsol_py.render.type_traits:slice_text",
    },
    "mcpsol_py.schema.wire": {
        "read_tool": "mcpsol_py.schema.wire_read:read_tool",
        "write_compact": "mcpsol_py.schema.wire_write:write_compact",
        "write_verbose": "mcpsol_py.schema.wire_write:write_verbose",
    },
    "mcpsol_py.x402.chain": {
        "AccountData": "solders.account:Account",
        "Chain": "PaymentChain",
    },
    "mcpsol_py.x402.channels.desk": {
        "ChannelDesk": "ChannelFacilitator",
        "read_delay": "mcpsol_py.x402.channels.terms:read_delay",
        "read_note": "mcpsol_py.x402.channels.terms:read_note",
    },
    "mcpsol_py.x402.channels.program": {"Clock": "ChainClock"},
    "mcpsol_py.x402.channels.voucher": {
        "Signer": "VoucherSigner",
        "read_u64": "mcpsol_py.whole_numbers:read_u64",
    },
    "mcpsol_py.x402.exact.verify": {"Limits": "SponsorLimits"},
    "mcpsol_py.x402.agent_tools": {"Reach": "AllowedHosts"},
    "mcpsol_py.x402.budget": {"Limit": "SpendingLimit", "Limits": "SpendingLimits"},
    "mcpsol_py.x402.paying": {
        "Asked": "AskOutcome",
        "Payer": "CallPayer",
        "Purses": "Wallets",
    },
    "mcpsol_py.x402.subscriptions.book": {"SubscriptionBook": "SubscriptionStore"},
    "mcpsol_py.x402.subscriptions.terms": {"Plan": "SubscriptionPlan"},
    "mcpsol_py.x402.rpc_chain": {"RpcChain": "rpc_chain"},
    "mcpsol_py.x402.svm_chain": {"SvmChain": "svm_chain"},
    "mcpsol_py.x402.facilitator_app": {"channel_desks": "channel_facilitators"},
    "mcpsol_py.x402.facilitators": {
        "Endpoint": "mcpsol_py.x402.selling.facilitator_client:FacilitatorClient",
        "HttpFacilitator": "mcpsol_py.x402.selling.facilitator_client:HttpFacilitator",
        "custom_facilitator": "mcpsol_py.x402.selling.facilitator_client:custom_facilitator",
    },
    "mcpsol_py.x402.gate": {"Gate": "PaidCalls", "Granting": "CallGrants"},
    "mcpsol_py.x402.offer": {"NotPaid": "PaymentRequiredReply"},
    "mcpsol_py.x402.store.catalog": {"Catalog": "ServiceCatalog"},
    "mcpsol_py.x402.worker": {"Job": "PeriodicJob", "Jobs": "PeriodicJobs"},
    "mcpsol_py.x402.store.audit": {
        "AuditEntry": "MerchantAction",
        "AuditLog": "MerchantLog",
    },
}


class _OldPath(MetaPathFinder, Loader):
    """Finds modules of `MODULES` under their old paths."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname not in MODULES:
            return None
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        old, new = spec.name, MODULES[spec.name]
        warnings.warn(
            f"{old} is now {new}; the old path goes away in 0.3.0",
            DeprecationWarning,
            stacklevel=2,
        )
        target = import_module(new)
        renames = NAMES.get(old, {})
        module = ModuleType(old, target.__doc__)

        def look_up(name: str) -> object:
            if name in renames:
                return _renamed(old, name, new, renames[name])
            return getattr(target, name)

        module.__dict__["__getattr__"] = look_up
        module.__dict__["__all__"] = [*getattr(target, "__all__", ()), *renames]
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: `create_module` returned a complete module."""


def _renamed(old_module: str, old: str, new_module: str, new: str) -> object:
    if ":" in new:
        new_module, new = new.split(":")
    message = (
        f"{old_module}.{old} is now {new_module}.{new}; the old name goes away in 0.3.0"
    )
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return getattr(import_module(new_module), new)


def renamed(module: str, name: str) -> object:
    """Look up an old name: the `__getattr__` of a module that has moved or renamed some of its names.

    A package that has the path of an old module (mcpsol_py.x402.chain) also finds that module's
    names in the module of `MODULES`. Raises AttributeError for a name that never existed.
    """
    new = NAMES.get(module, {}).get(name)
    if new is not None:
        return _renamed(module, name, module, new)
    target = MODULES.get(module)
    if (
        target is not None
        and not name.startswith("_")
        and hasattr(import_module(target), name)
    ):
        return _renamed(module, name, target, name)
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


def install() -> None:
    """Make the old paths importable. Called once, by `mcpsol_py/__init__.py`."""
    if not any(isinstance(finder, _OldPath) for finder in sys.meta_path):
        sys.meta_path.append(_OldPath())

"""The local cluster: an in-process LiteSVM with named wallets, test tokens, and a file that stores its accounts.

``--setup FILE`` (TOML, docs/configuration.md) lists wallets, mints, token accounts and programs. It is idempotent, so
every call may give it. ``--ledger FILE`` (JSON) stores accounts and clock between calls.

`"@name"` can be used wherever an address is expected. A wallet's key is the sha256 of its name: it is the same on every
machine, has no value, and signs on this cluster only.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idl2mcp.report import write_whole
from mcpsol_py.errors import SourceError, TransportError, abbr, suggest
from mcpsol_py.solana import ids
from mcpsol_py.solana.address_book import AddressBook, is_name
from mcpsol_py.toml_schema import (
    TABLE,
    TEXT,
    UNITS,
    WHOLE,
    Keys,
    checked,
    one_of,
    toml_file,
)

if TYPE_CHECKING:
    from solders.keypair import Keypair
    from solders.pubkey import Pubkey

    from mcpsol_py.client.svm import SvmTransport

__all__ = ["LocalCluster", "is_local_name", "wallet"]

_FORMAT = "mcpsol ledger 1"
#: The tables of --setup. MINT, TOKENS and PROGRAM are the keys of [mints.NAME], [tokens.NAME] and [programs.NAME].
SETUP: Keys = {
    "wallets": TABLE,
    "mints": TABLE,
    "tokens": TABLE,
    "programs": TABLE,
    "clock": TABLE,
}
MINT: Keys = {
    "decimals": WHOLE,
    "authority": TEXT,
    "program": one_of("token", "token-2022"),
    "address": TEXT,
}
TOKENS: Keys = {"mint": TEXT, "owner": TEXT, "amount": UNITS}
PROGRAM: Keys = {"file": TEXT, "id": TEXT}
CLOCK: Keys = {"unix_timestamp": WHOLE, "slot": WHOLE, "epoch": WHOLE}
#: Lamports for a wallet at its first use, if nothing funded it.
_POCKET_MONEY = 100_000_000_000


def is_local_name(text: object) -> bool:
    """Return True if *text* has the form of a name on the local cluster: "@alice"."""
    return is_name(text)


def wallet(name: str) -> Keypair:
    """Return the local cluster's wallet *name* (without "@"), made from the name's sha256."""
    from solders.keypair import Keypair

    return Keypair.from_seed(
        hashlib.sha256(b"mcpsol local wallet: " + name.encode()).digest()
    )


class LocalCluster:
    """A LiteSVM with names, read from a ledger file and saved to it.

    Raises SourceError for an invalid ledger or setup file.
    """

    def __init__(
        self, transport: SvmTransport | None = None, ledger: Path | None = None
    ) -> None:
        from mcpsol_py.client.svm import SvmTransport

        self.transport = transport or SvmTransport()
        self.svm = self.transport.svm
        self.ledger = ledger
        self.names: dict[str, str] = {}
        self.book = AddressBook("local", local=self.names, make=self.address)
        self.programs: dict[str, str] = {}
        self._wallets: dict[str, Keypair] = {}
        self._set_up = False
        self._owners = {ids.SYSTEM_PROGRAM, ids.TOKEN_PROGRAM, ids.TOKEN_2022_PROGRAM}
        if ledger is not None and ledger.exists():
            self._restore(ledger)
        if self.transport.unix_time == 0:
            self.transport.set_time(int(time.time()))

    # --- programs

    def add_program(self, elf: bytes, program_id: Pubkey, origin: str = "") -> None:
        """Deploy *elf* at *program_id*. Raises SourceError if the SVM refuses it."""
        if elf[:4] != b"\x7fELF":
            raise SourceError(
                f"expected a compiled program (ELF, made by `idl2mcp build`), starts with {abbr(elf[:8])}",
                origin=origin,
            )
        try:
            self.transport.add_program(program_id, elf)
        except TransportError as error:
            raise SourceError(
                f"the SVM refuses this program: {error.why}", origin=origin
            ) from error
        self._owners.add(str(program_id))
        self.programs[str(program_id)] = origin

    # --- names

    def wallet(self, name: str) -> Keypair:
        """Return the wallet *name* (with or without "@"), and give it 100 SOL if it is empty."""
        name = name.removeprefix("@")
        key = self._wallets.get(name)
        if key is None:
            key = self._wallets[name] = wallet(name)
            self.names[name] = str(key.pubkey())
            if not self.svm.get_balance(key.pubkey()):
                self.svm.airdrop(key.pubkey(), _POCKET_MONEY)
        return key

    def address(self, text: str) -> str:
        """Return the address of "@name"; other text is returned unchanged.

        With a setup, the name must be in it. Without one, any name is a wallet. Raises SourceError.
        """
        if not is_local_name(text):
            if text.startswith("@"):
                raise SourceError(
                    f"expected a name of the local cluster (@, a lowercase letter, then up to 31 lowercase letters, "
                    f"digits, - and _), got {abbr(text)}",
                )
            return text
        name = text[1:]
        if name not in self.names:
            if self._set_up:  # the setup lists all names, so another one is a typo
                raise SourceError(
                    f"the setup has no {text}. {suggest(name, self.names)}"
                )
            self.wallet(name)
        return self.names[name]

    def signer(self, address: str) -> Keypair | None:
        """Return the local wallet with that address, None if no wallet in use has it."""
        return next(
            (k for k in self._wallets.values() if str(k.pubkey()) == address), None
        )

    def resolve(self, value: Any, *, known_only: bool = False) -> Any:
        """Replace every "@name" in a JSON value by its address. With *known_only*, unknown names stay text."""
        return self.book.resolve(value, known_only=known_only)

    # --- setup

    def apply_setup(self, path: Path) -> None:
        """Create what the TOML file *path* lists, unless it exists."""
        setup = toml_file(path)
        try:
            self.apply(setup, base=path.parent)
        except SourceError as error:
            raise error.at(origin=str(path)) from None

    def apply(self, setup: Mapping[str, Any], base: Path = Path()) -> None:
        """Apply a parsed setup. File names are relative to *base*."""
        tables = checked(setup, SETUP)
        for name, item in tables.get("programs", {}).items():
            self._add_setup_program(
                name,
                checked(item, PROGRAM, f"programs.{name}", required=["file", "id"]),
                base,
            )
        for name, sol in tables.get("wallets", {}).items():
            self._fund(name, sol)
        for name, item in tables.get("mints", {}).items():
            self._add_mint(name, checked(item, MINT, f"mints.{name}"), f"mints.{name}")
        for name, item in tables.get("tokens", {}).items():
            path = f"tokens.{name}"
            self._add_tokens(
                name, checked(item, TOKENS, path, required=["mint", "owner"]), path
            )
        self._set_up = True
        self._set_clock(checked(tables.get("clock", {}), CLOCK, "clock"))

    def _add_setup_program(
        self, name: str, item: Mapping[str, Any], base: Path
    ) -> None:
        file = base / item["file"]
        try:
            elf = file.read_bytes()
        except OSError as error:
            raise SourceError(
                f"{file}: {error.strerror}", path=f"programs.{name}.file"
            ) from error
        program_id = _pubkey(item["id"], f"programs.{name}.id")
        self.add_program(elf, program_id, str(file))
        self.names[_name(name, "programs")] = str(program_id)

    def _fund(self, name: str, sol: object) -> None:
        if (
            isinstance(sol, bool)
            or not isinstance(sol, (int, float))
            or not 0 <= sol <= 500_000_000
        ):
            raise SourceError(
                f"expected an amount of SOL, like 10 or 0.5, got {abbr(sol)}",
                path=f"wallets.{name}",
            )
        key = wallet(_name(name, "wallets"))
        self._wallets[name] = key
        self.names[name] = str(key.pubkey())
        missing = round(sol * 1_000_000_000) - (self.svm.get_balance(key.pubkey()) or 0)
        if missing > 0:
            self.svm.airdrop(key.pubkey(), missing)

    def _add_mint(self, name: str, item: Mapping[str, Any], path: str) -> None:
        from mcpsol_py.solana.tokens import Mint

        decimals = item.get("decimals", 0)
        if not 0 <= decimals <= 255:
            raise SourceError(
                f"expected decimals from 0 to 255, got {abbr(decimals)}",
                path=f"{path}.decimals",
            )
        program = {"token": ids.TOKEN_PROGRAM, "token-2022": ids.TOKEN_2022_PROGRAM}[
            item.get("program", "token")
        ]
        given = item.get("address")
        made = wallet(f"mint {_name(name, 'mints')}").pubkey()
        address = made if given is None else _pubkey(given, f"{path}.address")
        self.names[name] = str(address)
        self.book.decimals[str(address)] = decimals
        if self.svm.get_account(address) is None:
            authority = item.get("authority")
            mint = Mint(
                mint_authority=None
                if authority is None
                else _pubkey(self.address(authority), f"{path}.authority"),
                decimals=decimals,
            )
            self._put(address, mint.to_bytes(), program)

    def _add_tokens(self, name: str, item: Mapping[str, Any], path: str) -> None:
        from mcpsol_py.solana.pda import associated_token
        from mcpsol_py.solana.tokens import TokenAccount, patch_mint, read_mint

        owner = _pubkey(self.address(item["owner"]), f"{path}.owner")
        mint = _pubkey(self.address(item["mint"]), f"{path}.mint")
        amount = int(item.get("amount", 0))
        if not 0 <= amount < 1 << 64:
            raise SourceError(
                f"expected an amount in base units (0 to 2^64-1), got {abbr(amount)}",
                path=f"{path}.amount",
            )
        mint_account = self.svm.get_account(mint)
        minted = read_mint(mint_account)
        if mint_account is None or minted is None:
            raise SourceError(
                f"expected a mint, got {abbr(item['mint'])}. List it under [mints] first",
                path=f"{path}.mint",
            )
        program = str(mint_account.owner)
        address = associated_token(owner, mint, mint_account.owner)
        self.names[_name(name, "tokens")] = str(address)
        if self.svm.get_account(address) is not None:
            return
        token = TokenAccount(mint=mint, owner=owner, amount=amount)
        self._put(address, token.to_bytes(), program)
        supply = minted.supply + amount
        self._put(mint, patch_mint(mint_account.data, supply=supply), program)

    def _put(self, address: Pubkey, data: bytes, owner: str) -> None:
        from solders.account import Account
        from solders.pubkey import Pubkey

        lamports = self.svm.minimum_balance_for_rent_exemption(len(data))
        self.svm.set_account(
            address,
            Account(lamports=lamports, data=data, owner=Pubkey.from_string(owner)),
        )

    def _set_clock(self, item: Mapping[str, Any]) -> None:
        clock = self.svm.get_clock()
        for key, value in item.items():
            try:
                setattr(clock, key, value)
            except OverflowError as error:
                raise SourceError(
                    f"{value} is out of range for the clock", path=f"clock.{key}"
                ) from error
        self.svm.set_clock(clock)

    # --- ledger

    def save(self) -> None:
        """Write accounts and clock to the ledger file, if there is one, in one step."""
        if self.ledger is None:
            return
        from solders.pubkey import Pubkey

        from mcpsol_py.client.transport import run

        accounts: dict[str, dict[str, Any]] = {}
        own = {run(self.transport.identity())}
        # solders 0.27; before it, accounts cannot be listed either.
        if hasattr(self.svm, "airdrop_pubkey"):
            own.add(self.svm.airdrop_pubkey())
        for owner in sorted(self._owners):
            for address, account in run(
                self.transport.program_accounts(Pubkey.from_string(owner))
            ):
                if address not in own:
                    accounts[str(address)] = {
                        "lamports": account.lamports,
                        "owner": str(account.owner),
                        "data": base64.b64encode(bytes(account.data)).decode(),
                    }
        clock = self.svm.get_clock()
        document = {
            "format": _FORMAT,
            "clock": {
                "unix_timestamp": clock.unix_timestamp,
                "slot": clock.slot,
                "epoch": clock.epoch,
            },
            "owners": sorted(self._owners),
            "accounts": dict(sorted(accounts.items())),
        }
        write_whole(self.ledger, (json.dumps(document, indent=1) + "\n").encode())

    def _restore(self, path: Path) -> None:
        from solders.account import Account
        from solders.pubkey import Pubkey

        try:
            document = json.loads(path.read_bytes())
        except ValueError as error:
            raise SourceError(f"invalid JSON: {error}", origin=str(path)) from error
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise SourceError(
                f'expected a ledger with "format": {_FORMAT!r}. Give a new file name to start empty',
                origin=str(path),
            )
        accounts = document.get("accounts", {})
        if not isinstance(accounts, dict):
            raise SourceError(
                f"expected a table, got {abbr(accounts)}",
                origin=str(path),
                path="accounts",
            )
        for address, item in accounts.items():
            try:
                account = Account(
                    lamports=item["lamports"],
                    data=base64.b64decode(item["data"], validate=True),
                    owner=Pubkey.from_string(item["owner"]),
                )
                self.svm.set_account(Pubkey.from_string(address), account)
            except (KeyError, TypeError, ValueError, OverflowError) as error:
                raise SourceError(
                    f"invalid account: {error}",
                    origin=str(path),
                    path=f"accounts.{address}",
                ) from error
        self._owners.update(o for o in document.get("owners", ()) if isinstance(o, str))
        clock = document.get("clock")
        if isinstance(clock, dict):
            self._set_clock(
                {
                    k: v
                    for k, v in clock.items()
                    if k in ("unix_timestamp", "slot", "epoch")
                }
            )


def _name(name: str, section: str) -> str:
    if not is_local_name(f"@{name}"):
        raise SourceError(
            f"expected a name (a lowercase letter, then up to 31 lowercase letters, digits, - and _), got {abbr(name)}",
            path=section,
        )
    return name


def _pubkey(text: str, path: str) -> Pubkey:
    from solders.pubkey import Pubkey

    try:
        return Pubkey.from_string(text)
    except ValueError as error:
        raise SourceError(
            f"expected an address (base58 of 32 bytes, or @name from this file), got {abbr(text)}",
            path=path,
        ) from error

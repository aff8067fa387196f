"""The local cluster: an in-process LiteSVM with wallets by name, made-up tokens, and a file that keeps its accounts.

``--setup FILE`` (TOML, docs/configuration.md) says what must be there; it is idempotent, so it can be given with every
call.

``--ledger FILE`` (JSON) keeps accounts and clock from one call to the next. `"@name"` stands for an address wherever
one is asked. A wallet is made from its name alone (sha256), so it is the same everywhere and worth nothing anywhere: it
signs on this cluster only.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idl2mcp.report import write_whole
from mcpsol_py.errors import SourceError, TransportError, abbr, suggest
from mcpsol_py.solana import ids
from mcpsol_py.toml_schema import TABLE, TEXT, UNITS, WHOLE, Keys, checked, one_of, toml_file

if TYPE_CHECKING:
    from solders.keypair import Keypair
    from solders.pubkey import Pubkey

    from mcpsol_py.client.svm import SvmTransport

__all__ = ["LocalCluster", "is_local_name", "wallet"]

_NAME = re.compile(r"@[a-z][a-z0-9_-]{0,31}")
_FORMAT = "mcpsol ledger 1"
#: --setup's tables; [mints.NAME], [tokens.NAME] and [programs.NAME] are MINT, TOKENS and PROGRAM
SETUP: Keys = {"wallets": TABLE, "mints": TABLE, "tokens": TABLE, "programs": TABLE, "clock": TABLE}
MINT: Keys = {
    "decimals": WHOLE,
    "authority": TEXT,
    "program": one_of("token", "token-2022"),
    "address": TEXT,
}
TOKENS: Keys = {"mint": TEXT, "owner": TEXT, "amount": UNITS}
PROGRAM: Keys = {"file": TEXT, "id": TEXT}
CLOCK: Keys = {"unix_timestamp": WHOLE, "slot": WHOLE, "epoch": WHOLE}
#: what a wallet that nobody funded gets when it is first named
_POCKET_MONEY = 100_000_000_000


def is_local_name(text: object) -> bool:
    """Is *text* written as a name of the local cluster ("@alice")?"""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def wallet(name: str) -> Keypair:
    """The local cluster's wallet of that name (without "@"): from sha256 of the name, so worth nothing on any real
    cluster.
    """
    from solders.keypair import Keypair

    return Keypair.from_seed(hashlib.sha256(b"mcpsol local wallet: " + name.encode()).digest())


class LocalCluster:
    """A LiteSVM, the names in it, and the ledger file that it was read from and is saved to.

    Raises SourceError for a ledger or setup file that cannot be used.
    """

    def __init__(self, transport: SvmTransport | None = None, ledger: Path | None = None) -> None:
        from mcpsol_py.client.svm import SvmTransport

        self.transport = transport or SvmTransport()
        self.svm = self.transport.svm
        self.ledger = ledger
        self.names: dict[str, str] = {}
        self.programs: dict[str, str] = {}
        self._wallets: dict[str, Keypair] = {}
        self._set_up = False
        self._owners = {ids.SYSTEM_PROGRAM, ids.TOKEN_PROGRAM, ids.TOKEN_2022_PROGRAM}
        if ledger is not None and ledger.exists():
            self._restore(ledger)

    # --- programs

    def add_program(self, elf: bytes, program_id: Pubkey, origin: str = "") -> None:
        """Deploys *elf* at *program_id*. Raises SourceError where the file is no program that the SVM takes."""
        if elf[:4] != b"\x7fELF":
            raise SourceError(
                f"starts with {abbr(elf[:8])}; a program is an ELF file (made by `idl2mcp build`)",
                origin=origin,
            )
        try:
            self.transport.add_program(program_id, elf)
        except TransportError as error:
            raise SourceError(
                f"the SVM does not take this program: {error.why}", origin=origin
            ) from error
        self._owners.add(str(program_id))
        self.programs[str(program_id)] = origin

    # --- names

    def wallet(self, name: str) -> Keypair:
        """The wallet named *name* (with or without "@"); one that has nothing gets 100 SOL."""
        name = name.removeprefix("@")
        key = self._wallets.get(name)
        if key is None:
            key = self._wallets[name] = wallet(name)
            self.names[name] = str(key.pubkey())
            if not self.svm.get_balance(key.pubkey()):
                self.svm.airdrop(key.pubkey(), _POCKET_MONEY)
        return key

    def address(self, text: str) -> str:
        """The address that "@name" stands for: what the setup made; without a setup, a wallet. Other text comes back.

        Raises SourceError for what is no name, and for one that the setup does not have.
        """
        if not is_local_name(text):
            if text.startswith("@"):
                raise SourceError(
                    f"{abbr(text)} is no name of the local cluster: "
                    "@, a small letter, then up to 31 small letters, digits, - and _",
                )
            return text
        name = text[1:]
        if name not in self.names:
            if self._set_up:  # a setup says what there is, so another name is a slip of the pen
                raise SourceError(f"the setup has no {text}. {suggest(name, self.names)}")
            self.wallet(name)
        return self.names[name]

    def signer(self, address: str) -> Keypair | None:
        """The local wallet with that address, if one was named or set up."""
        return next((k for k in self._wallets.values() if str(k.pubkey()) == address), None)

    def resolve(self, value: Any, *, known_only: bool = False) -> Any:
        """A JSON value with every "@name" in it replaced by its address; *known_only* leaves names that nothing made
        as text.
        """
        if isinstance(value, str):
            if value.startswith("@") and (not known_only or value[1:] in self.names):
                return self.address(value)
            return value
        if isinstance(value, list):
            return [self.resolve(v, known_only=known_only) for v in value]
        if isinstance(value, dict):
            return {k: self.resolve(v, known_only=known_only) for k, v in value.items()}
        return value

    # --- setup

    def apply_setup(self, path: Path) -> None:
        """Makes sure that what the TOML file *path* lists is there."""
        setup = toml_file(path)
        try:
            self.apply(setup, base=path.parent)
        except SourceError as error:
            raise error.at(origin=str(path)) from None

    def apply(self, setup: Mapping[str, Any], base: Path = Path()) -> None:
        """As `apply_setup`, of a parsed document; file names are relative to *base*."""
        said = checked(setup, SETUP)
        for name, item in said.get("programs", {}).items():
            self._add_setup_program(
                name, checked(item, PROGRAM, f"programs.{name}", required=["file", "id"]), base
            )
        for name, sol in said.get("wallets", {}).items():
            self._fund(name, sol)
        for name, item in said.get("mints", {}).items():
            self._add_mint(name, checked(item, MINT, f"mints.{name}"), f"mints.{name}")
        for name, item in said.get("tokens", {}).items():
            path = f"tokens.{name}"
            self._add_tokens(name, checked(item, TOKENS, path, required=["mint", "owner"]), path)
        self._set_up = True
        self._set_clock(checked(said.get("clock", {}), CLOCK, "clock"))

    def _add_setup_program(self, name: str, item: Mapping[str, Any], base: Path) -> None:
        file = base / item["file"]
        try:
            elf = file.read_bytes()
        except OSError as error:
            raise SourceError(f"{file}: {error.strerror}", path=f"programs.{name}.file") from error
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
                f"{abbr(sol)} is no amount of SOL; write a number like 10 or 0.5",
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
                f"{abbr(decimals)} is no number of decimals (0 to 255)", path=f"{path}.decimals"
            )
        program = {"token": ids.TOKEN_PROGRAM, "token-2022": ids.TOKEN_2022_PROGRAM}[
            item.get("program", "token")
        ]
        given = item.get("address")
        made = wallet(f"mint {_name(name, 'mints')}").pubkey()
        address = made if given is None else _pubkey(given, f"{path}.address")
        self.names[name] = str(address)
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
                f"{abbr(amount)} is no amount in base units (0 to 2^64-1)", path=f"{path}.amount"
            )
        mint_account = self.svm.get_account(mint)
        minted = read_mint(mint_account)
        if mint_account is None or minted is None:
            raise SourceError(
                f"{abbr(item['mint'])} is no mint here; list it under [mints] first",
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
            address, Account(lamports=lamports, data=data, owner=Pubkey.from_string(owner))
        )

    def _set_clock(self, item: Mapping[str, Any]) -> None:
        clock = self.svm.get_clock()
        for key, value in item.items():
            try:
                setattr(clock, key, value)
            except OverflowError as error:
                raise SourceError(
                    f"{value} is no number that a clock can show", path=f"clock.{key}"
                ) from error
        self.svm.set_clock(clock)

    # --- ledger

    def save(self) -> None:
        """Writes accounts and clock to the ledger file, if there is one: whole or not at all."""
        if self.ledger is None:
            return
        from solders.pubkey import Pubkey

        from mcpsol_py.client.transport import run

        accounts: dict[str, dict[str, Any]] = {}
        own = {run(self.transport.identity())}
        if hasattr(
            self.svm, "airdrop_pubkey"
        ):  # solders 0.27; before it, accounts cannot be listed either
            own.add(self.svm.airdrop_pubkey())
        for owner in sorted(self._owners):
            for address, account in run(self.transport.program_accounts(Pubkey.from_string(owner))):
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
            raise SourceError(f"no JSON: {error}", origin=str(path)) from error
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise SourceError(
                f'no ledger of the local cluster (its "format" is {_FORMAT!r}). Name a new file to start afresh',
                origin=str(path),
            )
        accounts = document.get("accounts", {})
        if not isinstance(accounts, dict):
            raise SourceError(
                f"expected a table, got {abbr(accounts)}", origin=str(path), path="accounts"
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
                    f"no account: {error}", origin=str(path), path=f"accounts.{address}"
                ) from error
        self._owners.update(o for o in document.get("owners", ()) if isinstance(o, str))
        clock = document.get("clock")
        if isinstance(clock, dict):
            self._set_clock(
                {k: v for k, v in clock.items() if k in ("unix_timestamp", "slot", "epoch")}
            )


def _name(name: str, section: str) -> str:
    if not is_local_name(f"@{name}"):
        raise SourceError(
            f"{abbr(name)} is no name: a small letter, then up to 31 small letters, digits, - and _",
            path=section,
        )
    return name


def _pubkey(text: str, path: str) -> Pubkey:
    from solders.pubkey import Pubkey

    try:
        return Pubkey.from_string(text)
    except ValueError as error:
        raise SourceError(
            f"{abbr(text)} is no address: base58 of 32 bytes, or @name for one of this file",
            path=path,
        ) from error

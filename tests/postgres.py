"""A private PostgreSQL for tests: made in a temporary folder, reached by a Unix socket there, gone afterwards, even
when the tests are killed.

.ci/postgres.sh installs the server. It refuses to run as root, so under root it runs as nobody.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import create_engine, text

from mcpsol_py.x402.store.database import Database
from tests.afterwards import Afterwards

#: Debian's place; elsewhere they stand on PATH.
_DEBIAN = Path("/usr/lib/postgresql")
#: The merchants of the tests.
MERCHANTS = ("default", "mine", "theirs", "one", "two")
ADVICE = "PostgreSQL's server is not installed: run .ci/postgres.sh (Debian, as root)"


def binaries() -> Path | None:
    """The folder of initdb and pg_ctl, None where there is no server."""
    newest = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]))
    if newest:
        return newest[-1].parent
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


class Cluster:
    """One server. `superuser` owns it, `mcpsol` owns the databases and migrates them, `replica` is a member of
    mcpsol_merchant, owns nothing, and acts for the merchants of `MERCHANTS`. `stranger` is one that acts for nobody."""

    def __init__(self, bin_folder: Path) -> None:
        self._bin = bin_folder
        self._folder = Path(tempfile.mkdtemp(prefix="mcpsol-pg-"))
        self._as: list[str] = []
        if os.geteuid() == 0:
            self._as = ["runuser", "-u", "nobody", "--"]
            shutil.chown(self._folder, "nobody")
        self._count = 0
        data = str(self._folder / "data")
        stop = self._control("-m", "immediate", "stop")
        self._end = Afterwards(
            shlex.join(stop), shlex.join(["rm", "-rf", str(self._folder)])
        )
        options = [
            "-U",
            "superuser",
            "-A",
            "trust",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C",
        ]
        self._call([*self._as, str(self._bin / "initdb"), "-D", data, *options])
        self.start()
        with self._admin() as connection:
            connection.exec_driver_sql("CREATE ROLE mcpsol LOGIN CREATEROLE")
        self._create("migrated", None)
        Database(self.url("migrated")).close()
        with self._admin() as connection:
            connection.exec_driver_sql(
                "CREATE ROLE replica LOGIN IN ROLE mcpsol_merchant"
            )
            connection.exec_driver_sql(
                "CREATE ROLE stranger LOGIN IN ROLE mcpsol_merchant"
            )
            connection.exec_driver_sql(
                "CREATE ROLE customer LOGIN IN ROLE mcpsol_subscriber"
            )
        for merchant in MERCHANTS:
            self.bind("migrated", "replica", "merchant", merchant)

    def _call(self, command: Sequence[str]) -> None:
        # cwd: nobody may not enter the caller's folder. A file, not a pipe: the server would keep a pipe open.
        with (self._folder / "calls.log").open("ab") as log:
            subprocess.run(
                command,
                check=True,
                cwd="/",
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    def _control(self, *arguments: str) -> list[str]:
        """A command of pg_ctl that returns when it is carried out."""
        return [
            *self._as,
            str(self._bin / "pg_ctl"),
            "-D",
            str(self._folder / "data"),
            "-w",
            "-t",
            "60",
            *arguments,
        ]

    def start(self) -> None:
        """Starts it, after `kill` with what a crash left. It is durable against that, not against a power cut."""
        options = f"-c listen_addresses='' -c unix_socket_directories={self._folder} -c fsync=off -c max_connections=60"
        self._call(
            self._control(
                "-l", str(self._folder / "server.log"), "-o", options, "start"
            )
        )

    def kill(self) -> None:
        """All its processes at once: connections break, what was not committed is gone."""
        self._call(self._control("-m", "immediate", "stop"))

    def stop(self) -> None:
        """Stops it and removes all that it had."""
        self._end.now()

    @property
    def pid(self) -> int:
        """The process of the server, the parent of all others."""
        return int((self._folder / "data" / "postmaster.pid").read_text().split()[0])

    def url(self, database: str, user: str = "mcpsol") -> str:
        """SQLAlchemy's address of a database."""
        return f"postgresql+psycopg://{user}@/{database}?host={self._folder}"

    def _admin(self, database: str = "postgres") -> _Admin:
        return _Admin(self.url(database, "superuser"))

    def _create(self, name: str, template: str | None) -> None:
        with self._admin() as connection:
            like = f" TEMPLATE {template}" if template else ""
            connection.exec_driver_sql(f"CREATE DATABASE {name} OWNER mcpsol{like}")
        # PostgreSQL 15 lets only the owner of the schema create in it.
        if template is None:
            with self._admin(name) as connection:
                connection.exec_driver_sql("ALTER SCHEMA public OWNER TO mcpsol")

    def database(self, *, migrated: bool = True) -> str:
        """A new database's name, with the newest schema or with none."""
        self._count += 1
        name = f"test_{self._count}"
        self._create(name, "migrated" if migrated else None)
        return name

    def bind(self, database: str, login: str, acts_as: str, subject: str) -> None:
        """Lets a login act for a merchant or a subscriber, as the owner of the tables does."""
        with self._admin(database) as connection:
            connection.exec_driver_sql(
                f"INSERT INTO logins VALUES ('{login}', '{acts_as}', '{subject}')"
            )

    def drop(self, names: Sequence[str]) -> None:
        """Removes databases, whoever is still connected."""
        with self._admin() as connection:
            for name in names:
                connection.exec_driver_sql(
                    f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"
                )


class _Admin:
    """A superuser's connection outside of transactions."""

    def __init__(self, url: str) -> None:
        self._engine = create_engine(url, isolation_level="AUTOCOMMIT")

    def __enter__(self) -> _Admin:
        self._connection = self._engine.connect()
        return self

    def exec_driver_sql(self, statement: str) -> None:
        self._connection.execute(text(statement))

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._engine.dispose()

"""Decode accounts in bulk, keep them as Parquet, and ask DuckDB. Offline."""

import tempfile
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
from solders.pubkey import Pubkey

from mcpsol_py import load

counter = load("counter")
owners = [Pubkey.from_bytes(bytes([n]) * 32) for n in range(3)]

# In a pipeline, this is a column of account data from an archive, or the result of getProgramAccounts.
rows = [
    counter.encode_account(
        "State", {"authority": owners[n % 3], "count": n, "bump": 255}
    )
    for n in range(1000)
]

table = counter.decode_accounts(rows, "State", text=True)
print(table.schema.names)

with tempfile.TemporaryDirectory() as folder:
    file = str(Path(folder) / "state.parquet")
    pq.write_table(table, file)
    query = "SELECT authority, count(*), max(count) FROM read_parquet(?) GROUP BY 1 ORDER BY 3"
    for row in duckdb.execute(query, [file]).fetchall():
        print(row)

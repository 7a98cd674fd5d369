"""What others need for a pair of captures: DuckDB, polars and PostgreSQL, each as one process.

All three are helped. The files are parsed as an array of records of one length, which only a file
of equal frames allows. The join is a plain one on the full key within the window: no class of
docs/matching.md is told apart, so that a repeated key would match too often. The result is the
count and the percentiles that taut prints, and the seconds of each stage, as JSON.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

WINDOW_NS = 5_000_000_000
KEY_LEN = 52
PERCENTILES = {
    "p50": 0.5,
    "p90": 0.9,
    "p99": 0.99,
    "p99.9": 0.999,
    "p99.99": 0.9999,
    "p99.999": 0.99999,
    "p99.9999": 0.999999,
}
COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_ROW = np.dtype(
    [("n", ">i2"), ("ts_len", ">i4"), ("ts", ">i8"), ("key_len", ">i4"), ("key", f"V{KEY_LEN}")]
)
COPY_ROWS = 1 << 17

Stages = dict[str, float]
Result = tuple[Stages, int, list[int]]


def parse(path: Path) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """Give the time stamps and default keys of a file of untagged UDP frames of one length."""
    header = np.fromfile(path, "<u4", 4, offset=24)
    record = np.dtype([("s", "<u4"), ("ns", "<u4"), ("len", "<u4", 2), ("frame", "u1", header[2])])
    records = np.memmap(path, record, "r", offset=24)
    if (records["len"] != header[2]).any():
        raise SystemExit(f"{path}: frames of several lengths")
    keys = np.ascontiguousarray(records["frame"][:, 12 : 12 + KEY_LEN])
    keys[:, [12, 13, 28, 29]] = 0
    return records["s"] * np.int64(1_000_000_000) + records["ns"], keys


def arrow_table(path: Path) -> Any:
    """Parse a file into Arrow."""
    import pyarrow as pa

    ts_ns, keys = parse(path)
    buffers = [None, pa.py_buffer(keys)]
    return pa.table(
        {
            "ts": ts_ns,
            "key": pa.FixedSizeBinaryArray.from_buffers(pa.binary(KEY_LEN), ts_ns.size, buffers),
        }
    )


def with_duckdb(ingress: Path, egress: Path) -> Result:
    """Join and sort in DuckDB, from Arrow."""
    import duckdb

    start = time.perf_counter()
    connection = duckdb.connect()
    connection.register("ingress", arrow_table(ingress))
    connection.register("egress", arrow_table(egress))
    parsed = time.perf_counter()
    row = connection.execute(
        f"""
        SELECT count(*), quantile_disc(egress.ts - ingress.ts, {list(PERCENTILES.values())})
        FROM ingress JOIN egress USING (key)
        WHERE abs(egress.ts - ingress.ts) < {WINDOW_NS}
        """
    ).fetchone()
    assert row is not None
    end = time.perf_counter()
    return {"parse": parsed - start, "match": end - parsed}, row[0], row[1]


def with_polars(ingress: Path, egress: Path) -> Result:
    """Join and sort in polars, from Arrow."""
    import polars as pl
    import pyarrow as pa

    def frame(path: Path) -> Any:
        table = arrow_table(path)
        key = table["key"].cast(pa.large_binary())
        return pl.DataFrame({"ts": pl.from_arrow(table["ts"]), "key": pl.from_arrow(key)})

    start = time.perf_counter()
    sides = frame(ingress), frame(egress)
    parsed = time.perf_counter()
    latency = (
        sides[0]
        .join(sides[1], on="key", suffix="_egress")
        .select(latency=pl.col("ts_egress") - pl.col("ts"))
        .filter(pl.col("latency").abs() < WINDOW_NS)["latency"]
        .sort()
    )
    # polars has no percentile_disc: the value at that rank.
    ranks = [-(-latency.len() * round(p * 1e6) // 1_000_000) for p in PERCENTILES.values()]
    percentiles = [latency[rank - 1] for rank in ranks]
    end = time.perf_counter()
    return {"parse": parsed - start, "match": end - parsed}, latency.len(), percentiles


def with_postgres(ingress: Path, egress: Path, url: str) -> Result:
    """COPY both files into unlogged tables of a server, join and sort there."""
    import psycopg

    start = time.perf_counter()
    with psycopg.connect(url, autocommit=True) as connection:
        # Neither logged nor written to disk before its time, with room to hash: as fast as it gets.
        connection.execute("SET work_mem = '1GB'")
        for name, path in (("ingress", ingress), ("egress", egress)):
            connection.execute(f"DROP TABLE IF EXISTS {name}")
            connection.execute(f"CREATE UNLOGGED TABLE {name} (ts bigint, key bytea)")
            with connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT binary)") as copy:
                copy_rows(path, copy.write)
        imported = time.perf_counter()
        connection.execute("ANALYZE ingress, egress")
        row = connection.execute(
            f"""
            SELECT count(*), percentile_disc(ARRAY{list(PERCENTILES.values())}::float8[])
                WITHIN GROUP (ORDER BY egress.ts - ingress.ts)
            FROM ingress JOIN egress USING (key)
            WHERE abs(egress.ts - ingress.ts) < {WINDOW_NS}
            """
        ).fetchone()
    assert row is not None
    end = time.perf_counter()
    return {"import": imported - start, "match": end - imported}, row[0], row[1]


def copy_rows(path: Path, write: Callable[[bytes], None]) -> None:
    """Write a file as rows of COPY's binary format."""
    ts_ns, keys = parse(path)
    write(COPY_HEADER)
    for first in range(0, ts_ns.size, COPY_ROWS):
        part = slice(first, first + COPY_ROWS)
        rows = np.zeros(ts_ns[part].size, COPY_ROW)
        rows["n"], rows["ts_len"], rows["key_len"] = 2, 8, KEY_LEN
        rows["ts"] = ts_ns[part]
        rows["key"] = keys[part].view(f"V{KEY_LEN}")[:, 0]
        write(rows.tobytes())
    write(b"\xff\xff")


def main() -> None:
    """Run one of them and print what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=("duckdb", "polars", "postgres"))
    parser.add_argument("ingress", type=Path)
    parser.add_argument("egress", type=Path)
    parser.add_argument("--url", default="", help="of a PostgreSQL server")
    options = parser.parse_args()
    if options.peer == "postgres":
        result = with_postgres(options.ingress, options.egress, options.url)
    else:
        run = with_duckdb if options.peer == "duckdb" else with_polars
        result = run(options.ingress, options.egress)
    stages, matched, percentiles = result
    latency_ns = dict(zip(PERCENTILES, percentiles, strict=True))
    print(json.dumps({"stages": stages, "matched": matched, "latency_ns": latency_ns}))


if __name__ == "__main__":
    main()

"""Spark: in this process (`local[*]`) or at a cluster's master, which reads Parquet where it lies.

Files must have the same path on every worker; small Arrow tables travel with the query.  The
driver starts once, taking seconds, and ends with taut: engines share it, each with its own session.
This is the only file that imports pyspark, and py4j, with which pyspark talks to Java.
"""

import atexit
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import pyarrow as pa
from py4j.clientserver import SHUTDOWN_FINALIZER_WORKER, FinalizerWorker
from py4j.protocol import Py4JError
from pyspark.conf import SparkConf
from pyspark.context import SparkContext
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession

from taut.core.credentials import hide_passwords
from taut.core.errors import InputError, MissingToolError, TautError
from taut.testbed.scratch import VARIABLE, Scratch

LOCAL = "local[*]"

_CONNECT_TIMEOUT_S = 5
_END_TIMEOUT_S = 10
_SETTINGS = {
    "spark.app.name": "taut",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # An overflow is an error, never a wrong number.
    "spark.sql.ansi.enabled": "true",
}
_MASTER = re.compile(r"local(\[.+\])?|spark://[^/]+|yarn|k8s://.+")
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_GLOB = re.compile(r"([\[\]{}*?\\])")

# Errors are told in one line; pyspark itself would write a page of each to stderr.
for _name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    PySparkLogger.getLogger(_name).disabled = True


@contextmanager
def _explained() -> Iterator[None]:
    """Report in one line times that are damaged, and a cluster, or Java, that was lost."""
    try:
        yield
    except PySparkException as error:
        if error.getCondition() == "ARITHMETIC_OVERFLOW":
            raise InputError(
                "engine spark: overflow of 64 bits; the time stamps are damaged"
            ) from None
        raise TautError(f"engine spark: {_first_line(error)}") from error
    except (Py4JError, ConnectionError) as error:
        said = _first_line(error)
        raise TautError(f"engine spark: {said}; is the cluster, or Java, still there?") from error


def _first_line(error: Exception) -> str:
    """What was said; of an error in Java the line behind that of the call."""
    lines = [line for line in str(error).splitlines() if line.strip(" :")]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = lines[1:]
    return lines[0].removeprefix(":").strip() if lines else type(error).__name__


class SparkEngine:
    """A session of its own: its views are nobody else's."""

    def __init__(self, url: str | None = None) -> None:
        self._session = _driver(url or LOCAL).newSession()
        self._kept: dict[str, DataFrame] = {}

    @_explained()
    def load(self, tables: Mapping[str, Path | pa.Table]) -> None:
        for name, source in tables.items():
            if isinstance(source, Path):
                # Spark would take brackets and stars of a path for a pattern.
                path = _GLOB.sub(r"\\\1", str(source.resolve()))
                self._name(name, self._session.read.parquet(f"file://{path}"))
            else:
                self._name(name, self._session.createDataFrame(_signed(source)))

    @_explained()
    def define(self, name: str, select: str) -> None:
        self._name(name, self._session.sql(select))

    @_explained()
    def materialise(self, name: str, select: str) -> None:
        rows = self._session.sql(select).persist()
        rows.count()
        self._name(name, rows)
        self._kept[name] = rows

    @_explained()
    def query(self, select: str) -> pa.Table:
        return self._session.sql(select).toArrow()

    def _name(self, name: str, rows: DataFrame) -> None:
        rows.createOrReplaceTempView(name)
        if name in self._kept:
            self._kept.pop(name).unpersist()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # What cannot be given back ended with its cluster, or with Java.
        with suppress(PySparkException, Py4JError, OSError):
            for rows in self._kept.values():
                rows.unpersist()
            for view in self._session.catalog.listTables():
                self._session.catalog.dropTempView(view.name)


def _driver(url: str) -> SparkSession:
    """The session all engines of this process come from: the one there is, or a new one."""
    if not _MASTER.fullmatch(url):
        shown = hide_passwords(url)
        raise InputError(f"engine spark: {shown} is no master; say spark://HOST:PORT or {LOCAL}")
    active = SparkSession.getActiveSession()
    if active is not None and active.sparkContext.master == url:
        return active
    if active is not None:
        active.stop()
    conf = SparkConf(loadDefaults=False).setMaster(url)
    _check_reachable(url)
    if _is_on_this_machine(url):
        conf.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
    for key, value in _SETTINGS.items():
        conf.set(key, value)
    gateway, log = _gateway()
    # By default a folder where taut was called, made for every session.
    conf.set("spark.sql.warehouse.dir", str(Path(log.name).with_name("warehouse")))
    try:
        return SparkSession(SparkContext(gateway=gateway, conf=conf))
    except Exception as error:
        said = hide_passwords(f"{url}: {_reason(log) or error}")
        raise TautError(f"engine spark: {said}") from error


def _is_on_this_machine(url: str) -> bool:
    """Whether all executors are here; those of YARN or Kubernetes have to be told of the driver."""
    hosts = {host for host, _ in _addresses(url)}
    return url.startswith("local") or (hosts != set() and hosts <= _LOOPBACK)


def _addresses(url: str) -> list[tuple[str, int]]:
    """Where the masters of a standalone cluster listen."""
    if not url.startswith("spark://"):
        return []
    found = []
    for master in url.removeprefix("spark://").split(","):
        host, _, port = master.rpartition(":")
        if not host or "@" in host or not port.isdigit():
            raise InputError(f"engine spark: {hide_passwords(url)}: a master is HOST:PORT")
        found.append((host.strip("[]"), int(port)))
    return found


def _check_reachable(url: str) -> None:
    """Raise InputError where none of the masters listens: Spark itself would retry for a minute."""
    silent = []
    for host, port in _addresses(url):
        try:
            socket.create_connection((host, port), _CONNECT_TIMEOUT_S).close()
        except (OSError, UnicodeError) as error:  # UnicodeError: no name of a host
            silent.append(f"{host}:{port}: {getattr(error, 'strerror', None) or error}")
        else:
            return
    if silent:
        raise InputError(
            f"engine spark: {', '.join(silent)}; start the master, or say where it is: "
            "--engine-url spark://HOST:PORT"
        )


@cache
def _gateway() -> tuple[Any, IO[bytes]]:
    """Start Java, once a process; what it says goes to a file.

    Its temporary files, and Spark's unless somebody set spark.local.dir, are in a scratch folder.
    """
    java = Path(os.environ["JAVA_HOME"], "bin/java") if "JAVA_HOME" in os.environ else "java"
    if shutil.which(java) is None:
        raise MissingToolError(
            f"engine spark: {java} is missing; install Java 17 or newer (default-jre-headless)"
        )
    scratch = Scratch("spark")
    log = (scratch.path / "log").open("w+b")
    conf = SparkConf(loadDefaults=False)
    for key, value in _SETTINGS.items():
        conf.set(key, value)
    # Default options: who has options of his own keeps them. Java would map its counters into a
    # file of /tmp, which a killed one leaves.
    conf.set(
        "spark.driver.defaultJavaOptions",
        f'-XX:-UsePerfData "-Djava.io.tmpdir={scratch.path}"',
    )
    try:
        with _made_in(scratch.path):
            said = {"stdout": log, "stderr": subprocess.STDOUT}
            gateway = launch_gateway(conf, said)  # type: ignore[no-untyped-call]
    except PySparkRuntimeError:
        reason = _reason(log)
        scratch.remove()
        raise MissingToolError(
            f"engine spark: Java did not start ({reason}); it needs Java 17 or newer"
        ) from None
    atexit.register(_end, gateway.proc, scratch)
    return gateway, log


@contextmanager
def _made_in(folder: Path) -> Iterator[None]:
    """Have Java end when the folder is swept, and pyspark make its temporary files there."""
    before = tempfile.tempdir
    tempfile.tempdir = str(folder)
    os.environ[VARIABLE] = str(folder)
    try:
        yield
    finally:
        del os.environ[VARIABLE]
        tempfile.tempdir = before


def _end(java: subprocess.Popen[bytes] | None, scratch: Scratch) -> None:
    """End Java (None: it is not ours) by the end of its input, then remove what it left.

    First the threads that tell it which objects Python let go of: cut off, they print a traceback.
    """
    for thread in threading.enumerate():
        if isinstance(thread, FinalizerWorker):
            thread.deque.append(SHUTDOWN_FINALIZER_WORKER)
            thread.join(_END_TIMEOUT_S)
    if java is not None and java.stdin is not None:
        java.stdin.close()
        try:
            java.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            java.kill()
            java.wait()
    scratch.remove()


def _reason(log: IO[bytes]) -> str:
    """The innermost exception; without one the last line."""
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines()
    causes = [line for line in lines if line.startswith("Caused by:")]
    return (causes or lines or [""])[-1].removeprefix("Caused by:").strip()


def _signed(table: pa.Table) -> pa.Table:
    """Spark has no unsigned integers: 64 bits become a decimal, fewer a wider integer."""
    for i, field in enumerate(table.schema):
        if pa.types.is_unsigned_integer(field.type):
            kind = pa.decimal128(20, 0) if pa.types.is_uint64(field.type) else pa.int64()
        elif pa.types.is_dictionary(field.type):
            kind = field.type.value_type
        else:
            continue
        table = table.set_column(i, field.name, table.column(i).cast(kind))
    return table

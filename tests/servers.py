"""Real servers for tests: PostgreSQL and a standalone Spark cluster, for nobody but the tests.

PostgreSQL listens on a socket in a private folder alone; Spark's ports are on loopback, where every
user of the machine could come, and ask a secret. Each is a context manager that gives a URL; what
it started is ended and its folder removed when it is left, and dies with the tests when those are
killed.
"""

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from taut.testbed.scratch import VARIABLE, Scratch

START_S = 120.0
STOP_S = 10.0

_MASTER_URL = r"Starting Spark master at (spark://\S+)"
# Nothing here runs long enough to be worth compiling twice.
_QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def missing_postgres() -> str | None:
    """Why PostgreSQL cannot be run here."""
    if find_spec("psycopg") is None:
        return "needs psycopg: devtools/setup.sh test"
    return None if _postgres_bin() else "needs PostgreSQL's server: devtools/setup.sh test"


def missing_spark() -> str | None:
    """Why Spark cannot be run here."""
    if find_spec("pyspark") is None:
        return "needs pyspark: devtools/setup.sh test"
    if "JAVA_HOME" in os.environ or shutil.which("java"):
        return None
    return "needs Java: devtools/setup.sh test"


@contextmanager
def postgres_server() -> Iterator[str]:
    """Run Debian's PostgreSQL with a data folder of its own; give its URL.

    Whoever can open the socket may come in: it lies in a folder with mode 0700.
    """
    bin_dir = _postgres_bin()
    assert bin_dir is not None
    with Scratch("pg") as scratch:
        folder = scratch / "server"
        folder.mkdir(mode=0o700)
        # The server refuses to run as root.
        as_user: list[str] = []
        if os.geteuid() == 0:
            scratch.chmod(0o711)
            shutil.chown(folder, "postgres", "postgres")
            as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        subprocess.run(
            [
                *as_user,
                *(bin_dir / "initdb", "-D", folder / "data", "-U", "taut"),
                *("--auth-local=trust", "--auth-host=reject"),
                *("--no-sync", "--encoding=UTF8", "--locale=C"),
            ],
            check=True,
            capture_output=True,
            cwd=folder,
        )
        options = {
            "listen_addresses": "",
            "unix_socket_directories": folder,
            "fsync": "off",
            "max_connections": 20,
        }
        command = [*as_user, bin_dir / "postgres", "-D", folder / "data"]
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]
        # SIGINT: end sessions and stop; SIGQUIT, when the tests are gone: stop at once.
        env = os.environ | {VARIABLE: str(scratch)}
        with _running(command, folder, signal.SIGINT, dies_by="QUIT", env=env) as server:
            ready = [bin_dir / "pg_isready", "-q", "-h", folder]
            _wait(server, folder, lambda: subprocess.run(ready, check=False).returncode == 0)
            yield f"postgresql://taut@/postgres?host={folder}"


@contextmanager
def spark_cluster(n_workers: int = 2) -> Iterator[str]:
    """Run a master and workers of one core each; give the master's URL.

    The secret stands in a file of a private folder, which SPARK_CONF_DIR names for as long.
    """
    with Scratch("spark") as folder, _spark_settings(folder), ExitStack() as stack:
        env = os.environ | {
            VARIABLE: str(folder),
            "SPARK_HOME": _package_folder("pyspark"),
            "SPARK_CONF_DIR": str(folder),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "512m",
            "SPARK_DAEMON_JAVA_OPTS": _QUICK_JAVA,
        }
        run = [Path(env["SPARK_HOME"], "bin/spark-class")]
        listen = ("--host", "127.0.0.1", "--webui-port", "0", "--port", "0")
        said = partial(_said, folder / "log")
        command = [*run, "org.apache.spark.deploy.master.Master", *listen]
        master = stack.enter_context(_running(command, folder, signal.SIGTERM, env=env))
        _wait(master, folder, lambda: said(_MASTER_URL) != [])
        url = said(_MASTER_URL)[0]
        for i in range(n_workers):
            work = folder / f"work{i}"
            work.mkdir()
            command = [*run, "org.apache.spark.deploy.worker.Worker", *listen, url]
            command += ["--cores", "1", "--memory", "1g", "--work-dir", work]
            stack.enter_context(_running(command, work, signal.SIGTERM, env=env))
        _wait(master, folder, lambda: len(set(said(r"Registering worker (\S+)"))) == n_workers)
        stack.callback(_stop_driver)
        yield url


@contextmanager
def refusing_port() -> Iterator[int]:
    """A port of loopback nobody listens at, or can while the block lasts: it is taken."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])


@contextmanager
def _running(
    command: Sequence[str | Path],
    folder: Path,
    stop_by: signal.Signals,
    *,
    dies_by: str = "KILL",
    env: dict[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server; its log is the file `log` of its folder."""
    bound = ["setpriv", f"--pdeathsig={dies_by}"]
    # One setpriv does both: a second one, changing the user, would clear the signal.
    full = [*bound, *command[1:]] if command[0] == "setpriv" else [*bound, *command]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            full, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env=env
        )
    try:
        yield server
    finally:
        server.send_signal(stop_by)
        try:
            server.wait(STOP_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait(server: subprocess.Popen[bytes], folder: Path, is_ready: Callable[[], bool]) -> None:
    until = time.monotonic() + START_S
    while not is_ready():
        if server.poll() is not None or time.monotonic() > until:
            log = (folder / "log").read_text(errors="replace")
            raise RuntimeError(f"{server.args}: did not start: {log[-2000:]}")
        time.sleep(0.1)


def _said(log: Path, pattern: str) -> list[str]:
    """What a log says so far: ports are chosen by the servers, so that none is taken."""
    return re.findall(pattern, log.read_text(errors="replace"))


@contextmanager
def _spark_settings(folder: Path) -> Iterator[None]:
    """Settings of the cluster and of the drivers the tests start: a secret, small executors."""
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.executor.memory": "512m",
        "spark.local.dir": str(folder),
        "spark.authenticate": "true",
        "spark.authenticate.secret": secrets.token_hex(16),
        "spark.ui.killEnabled": "false",
        "spark.driver.extraJavaOptions": _QUICK_JAVA,
        "spark.executor.extraJavaOptions": _QUICK_JAVA,
    }
    lines = [f"{name} {value}\n" for name, value in settings.items()]
    (folder / "spark-defaults.conf").write_text("".join(lines))
    # The name of a bare machine may stand nowhere; Spark would not start for want of its address.
    ours = {"SPARK_CONF_DIR": str(folder), "SPARK_LOCAL_IP": "127.0.0.1"}
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _stop_driver() -> None:
    """End the application the engine started in this process, before its cluster ends."""
    if "pyspark" in sys.modules:
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
        if active is not None:
            active.stop()


def _postgres_bin() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    return Path(initdb).resolve().parent if initdb else None


def _package_folder(name: str) -> str:
    spec = find_spec(name)
    assert spec is not None and spec.origin is not None
    return str(Path(spec.origin).parent)

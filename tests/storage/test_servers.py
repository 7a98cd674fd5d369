"""The servers of the tests let in nobody but the tests."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest


def mode_of(path: str | Path) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


def test_postgres_is_a_socket_in_a_private_folder(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        row = connection.execute("SHOW listen_addresses").fetchone()
    [folder] = parse_qs(urlsplit(postgres_url).query)["host"]

    assert row == ("",)
    assert mode_of(folder) == 0o700


@pytest.mark.usefixtures("spark_url")
def test_spark_asks_for_a_secret_nobody_else_can_read() -> None:
    folder = os.environ["SPARK_CONF_DIR"]
    lines = Path(folder, "spark-defaults.conf").read_text().splitlines()
    settings = dict(line.split(maxsplit=1) for line in lines)
    secret = settings["spark.authenticate.secret"]

    assert settings["spark.authenticate"] == "true"
    assert mode_of(folder) == 0o700
    assert not [line for line in command_lines() if secret.encode() in line]


def command_lines() -> list[bytes]:
    """What every user can read of all processes."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # It has ended.
            found.append(path.read_bytes())
    return found

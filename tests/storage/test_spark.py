"""How Spark's masters and its driver are reached, told without Java."""

import socket

import pytest

import servers
from taut.core.errors import InputError

pytest.importorskip("pyspark")

from taut.storage.engines import spark


@pytest.mark.parametrize(
    ("url", "alone"),
    [
        ("local[*]", True),
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077,127.0.0.1:7078", True),
        ("spark://[::1]:7077", True),
        ("spark://127.0.0.1:7077,m2:7077", False),
        ("spark://m1:7077", False),
        ("yarn", False),
        ("k8s://https://127.0.0.1:6443", False),
    ],
)
def test_only_executors_of_this_machine_reach_the_driver_by_loopback(url, alone):
    assert spark._is_on_this_machine(url) == alone


def test_one_master_that_answers_is_enough():
    """The others are down, or stand by."""
    with servers.refusing_port() as down, socket.create_server(("127.0.0.1", 0)) as leading:
        up = leading.getsockname()[1]

        spark._check_reachable(f"spark://127.0.0.1:{down},127.0.0.1:{up}")


def test_masters_that_are_all_down_are_all_named():
    with (
        servers.refusing_port() as one,
        servers.refusing_port() as other,
        pytest.raises(InputError) as caught,
    ):
        spark._check_reachable(f"spark://127.0.0.1:{one},127.0.0.1:{other}")

    assert str(caught.value) == (
        f"engine spark: 127.0.0.1:{one}: Connection refused, 127.0.0.1:{other}: Connection refused;"
        " start the master, or say where it is: --engine-url spark://HOST:PORT"
    )


@pytest.mark.parametrize("address", ["m..1:7077", "u:hunter2@127.0.0.1:7077", "m1", ":7077", "m1:"])
def test_what_is_no_address_of_a_master_is_one_line(address):
    with pytest.raises(InputError, match=r"engine spark: .*HOST:PORT") as caught:
        spark._check_reachable(f"spark://{address}")

    assert "hunter2" not in str(caught.value)

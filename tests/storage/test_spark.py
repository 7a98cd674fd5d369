"""How the driver of Spark is reached, told without Java."""

import pytest

pytest.importorskip("pyspark")

from taut.storage.engines import spark


@pytest.mark.parametrize(
    ("url", "alone"),
    [
        ("local[*]", True),
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077,127.0.0.1:7078", True),
        ("spark://127.0.0.1:7077,m2:7077", False),
        ("spark://m1:7077", False),
        ("yarn", False),
        ("k8s://https://127.0.0.1:6443", False),
    ],
)
def test_only_executors_of_this_machine_reach_the_driver_by_loopback(url, alone):
    assert spark._is_on_this_machine(url) == alone

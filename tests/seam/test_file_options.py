"""Options of network functions that name a file: relative to the experiment that gives them."""

from collections.abc import Callable
from typing import Any

from taut.dut.nf_object import FILES


def test_every_option_that_is_a_file_is_known(answer: Callable[..., Any]) -> None:
    functions = answer("taut-forward", "--describe")["network_functions"]

    said = {
        function["name"]: {o["name"] for o in function["options"] if o.get("metavar") == "FILE"}
        for function in functions
    }

    assert {name: files for name, files in said.items() if files} == FILES

"""Write docs/reference.md: every member of every family, as the binaries and tables describe it.

--check: exit 1 if the file is not what would be written.
"""

import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from taut.analysis.metrics import METRICS
from taut.core.binaries import find_binary
from taut.dut.drivers import DRIVERS
from taut.report.figures import FIGURES
from taut.testbed.links import LINKS

PATH = Path(__file__).parents[1] / "docs" / "reference.md"


def main() -> int:
    """Write or check."""
    text = "\n".join(document()) + "\n"
    if "--check" not in sys.argv:
        PATH.write_text(text)
        return 0
    if PATH.exists() and PATH.read_text() == text:
        return 0
    print(f"{PATH.name} is not current; run `make docs` and commit it")
    return 1


def document() -> Iterator[str]:
    """All sections."""
    forward, generate = describe("taut-forward"), describe("taut-generate")
    yield "# Reference\n"
    yield "Written by `make docs` from the binaries' `--describe` and the tables of `python/taut`;"
    yield "do not edit. `make lint` checks that it is current.\n"
    yield from members("Network functions (`taut-forward --nf`)", forward["network_functions"])
    yield from members("Schedules (`taut-generate --schedule`)", generate["schedules"])
    yield from members("Ports (both programs)", forward["ports"])
    yield from python_tables()
    for program in (forward, generate, describe("taut-clock")):
        yield f"## Options of {program['program']}\n"
        yield from options(program["options"])


def describe(name: str) -> dict[str, Any]:
    """Ask a binary what it has."""
    command = [find_binary(name), "--describe"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    document: dict[str, Any] = json.loads(text)
    return document


def members(title: str, family: list[dict[str, Any]]) -> Iterator[str]:
    """One family of the data plane, each member with its options."""
    yield f"## {title}\n"
    for member in family:
        yield f"**`{member['name']}`**: {member['summary']}.\n"
        yield from options(member.get("options", []))


def options(specs: list[dict[str, Any]]) -> Iterator[str]:
    """One option table."""
    if not specs:
        return
    yield "| option | type | default | |"
    yield "|---|---|---|---|"
    for spec in specs:
        kind = " ".join([spec["type"], *spec.get("choices", [])])
        default = "required" if spec.get("default") is None else f"`{spec['default']}`"
        yield f"| `{spec['name']}` | {kind} | {default} | {cell(spec['help'])} |"
    yield ""


def python_tables() -> Iterator[str]:
    """The families of python/taut."""
    yield from table("Links", LINKS.values(), lambda link: (link.name, link.summary))
    yield from table("Devices under test", DRIVERS.values(), lambda d: (d.name, d.summary))
    yield from table("Metrics", METRICS, lambda m: (f"{m.name}, {m.unit}", m.definition))
    yield from table("Figures", FIGURES, lambda f: (f.id, f.question))


def table(title: str, family: Any, row: Callable[[Any], tuple[str, str]]) -> Iterator[str]:
    """One family of python/taut: name and meaning."""
    yield f"## {title}\n"
    yield "| name | |"
    yield "|---|---|"
    for member in family:
        name, meaning = row(member)
        yield f"| {name} | {cell(meaning)} |"
    yield ""


def cell(text: str) -> str:
    """Fit text into one cell."""
    return " ".join(inspect.cleandoc(text).split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())

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

from pydantic import BaseModel

from taut.analysis import metrics
from taut.core.binaries import find_binary
from taut.dut.drivers import DRIVERS
from taut.experiment.schema import experiment_schema
from taut.explain import causes as causes_table
from taut.explain.cause import Cause
from taut.host import checks as checks_table
from taut.host.check import State
from taut.records.documents.catalogue import CATALOGUE
from taut.report import figures
from taut.testbed.links import LINKS
from taut.testbed.neighbour import NeighbourKind
from taut.testbed.neighbours import NEIGHBOURS
from taut.testbed.placements import PLACEMENTS

ROOT = Path(__file__).parents[1]
PATH = ROOT / "docs" / "reference.md"
sys.path.append(str(ROOT / "tests"))


def main() -> int:
    """Exit status: 1 when --check finds the file out of date, otherwise 0."""
    text = "\n".join(document()) + "\n"
    if "--check" not in sys.argv:
        PATH.write_text(text)
        return 0
    if PATH.exists() and PATH.read_text() == text:
        return 0
    print(f"{PATH.name} is not current; run `make docs` and commit it")
    return 1


def document() -> Iterator[str]:
    """Give the lines of docs/reference.md; runs every binary once."""
    forward, generate = describe("taut-forward"), describe("taut-generate")
    inject = describe("taut-inject")
    yield "# Reference\n"
    yield "Written by `make docs` from the binaries' `--describe` and the tables of `python/taut`;"
    yield "do not edit. `make lint` checks that it is current.\n"
    yield from members("Network functions (`taut-forward --nf`)", forward["network_functions"])
    yield from members("Transmit policies (`taut-forward --transmit`)", forward["transmit"])
    yield from members("Schedules (`taut-generate --schedule`)", generate["schedules"])
    yield from members("Ports (both programs)", forward["ports"])
    yield from members("Causes (`taut-inject CAUSE:option=value`)", inject["causes"])
    yield from python_tables()
    others = [
        describe(name)
        for name in ("taut-clock", "taut-match", "taut-count", "taut-noise", "taut-trace")
    ]
    for program in (forward, generate, *others, inject):
        yield f"## {program['program']}\n"
        yield f"{program['summary']}.\n"
        yield from options(program["options"], "--")


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


def options(specs: list[dict[str, Any]], prefix: str = "") -> Iterator[str]:
    """One option table of the data plane."""
    if not specs:
        return
    yield "| option | type | default | |"
    yield "|---|---|---|---|"
    for spec in specs:
        kind = " ".join([spec["type"], *spec.get("choices", [])])
        default = f"`{spec['default']}`" if spec.get("default") else ""
        if spec.get("default") is None and spec["type"] != "list":
            default = "required"
        name = prefix + spec["name"]
        name += f" {spec['metavar']}" if prefix and spec["type"] not in ("flag", "choice") else ""
        yield f"| `{name}` | {kind} | {default} | {cell(spec['help'])} |"
    yield ""


def python_tables() -> Iterator[str]:
    """The families of python/taut."""
    yield from table("Links", LINKS.values(), lambda link: (link.name, link.summary))
    yield "## Devices under test\n"
    for driver in DRIVERS.family.built_in.values():
        yield f"**`{driver.name}`**: {driver.summary}.\n"
        yield from driver_options(driver.options_type)
    yield "## Placements\n"
    for kind in PLACEMENTS.family.built_in.values():
        yield f"**`{kind.name}`**: {kind.summary}.\n"
        yield from driver_options(kind.options_type)
    yield from table("Neighbours", NEIGHBOURS.values(), lambda n: (n.name, neighbour(n)))
    yield from table(
        "Metrics", metrics.FAMILY.built_in.values(), lambda m: (f"{m.name}, {m.unit}", m.definition)
    )
    yield from table("Figures", figures.FAMILY.built_in.values(), lambda f: (f.id, f.question))
    yield from causes()
    yield from host_checks()
    yield from experiment_keys()
    yield "## Documents (`taut schema NAME`)\n"
    yield "| name | version | where |"
    yield "|---|---|---|"
    for of in CATALOGUE:
        yield f"| {of.name} | {of.format} | {cell(of.where)} |"
    yield ""


def neighbour(kind: NeighbourKind) -> str:
    """What a neighbour does, and by which of stress-ng's stressors."""
    words = [" ".join((f"--{stressor.name}", *stressor.options)) for stressor in kind.stressors]
    return f"{kind.summary} (`{'`, `'.join(words)}`)" if words else kind.summary


def experiment_keys() -> Iterator[str]:
    """Every key of an experiment's file, table by table; options of drivers stand with these."""
    schema = experiment_schema(None)
    yield "## The experiment's file (`taut schema experiment`)\n"
    yield "| key | default | |"
    yield "|---|---|---|"
    yield from keys_of(schema, "")
    for key, value in schema["properties"].items():
        name = value.get("items", value).get("$ref", "").removeprefix("#/$defs/")
        if name:
            head = f"[[{key}]]" if "items" in value else f"[{key}]"
            yield from keys_of(schema["$defs"][name], f"{head} ")
    yield ""


def keys_of(table: dict[str, Any], head: str) -> Iterator[str]:
    """Rows of one table of the experiment's file."""
    for key, value in table["properties"].items():
        default = "required" if key in table.get("required", []) else ""
        if isinstance(value.get("default"), str | int | list) and value["default"] != []:
            default = f"`{json.dumps(value['default'])}`"
        yield f"| `{head}{key}` | {default} | {cell(value['description'])} |"


def causes() -> Iterator[str]:
    """Every cause that `taut explain` knows, by the table of causes."""
    yield "## Causes (`taut explain`)\n"
    yield "| id | what happens | seen by | counter | what helps | made by the self-test |"
    yield "|---|---|---|---|---|---|"
    for cause in causes_table.FAMILY.built_in.values():
        made = f"`taut inject {cause.made.act}`" if cause.made else f"no: {cause.not_made}"
        checks = ", ".join(cause.remedies) or cause.ask
        words = (cause.why, _seen(cause), cause.counter, checks, made)
        yield f"| {cause.id} | {' | '.join(cell(word) for word in words)} |"
    yield ""


def _seen(cause: Cause) -> str:
    names = (("vector", cause.vectors), ("function", cause.calls), ("thread", cause.threads))
    told = [f"{kind} {', '.join(found)}" for kind, found in names if found]
    return "; ".join([f"{cause.evidence}: {cause.seen_by}", *told])


def host_checks() -> Iterator[str]:
    """Every check of `taut host audit`, with what it sees of two hosts of its tests."""
    from check_rows import all_rows, example

    rows = all_rows()
    yield "## Host checks (`taut host audit`)\n"
    yield "| id | what | where it fails | at worst | why | source | a good host | a bad host |"
    yield "|---|---|---|---|---|---|---|---|"
    for check in checks_table.FAMILY.built_in.values():
        severity = check.severity.name.lower()
        hosts = (example(rows, check.id, state) for state in (State.PASS, State.FAIL))
        words = (check.title, check.fault, severity, check.why, check.source, *hosts)
        yield f"| {check.id} | {' | '.join(cell(word) for word in words)} |"
    yield ""


def driver_options(model: type[BaseModel]) -> Iterator[str]:
    """One option table of a driver."""
    if not model.model_fields:
        return
    yield "| option | default | |"
    yield "|---|---|---|"
    for name, field in model.model_fields.items():
        default = "required" if field.is_required() else f"`{json.dumps(field.default)}`"
        yield f"| `{name}` | {default} | {cell(field.description or '')} |"
    yield ""


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

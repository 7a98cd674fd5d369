"""Write the manual: a page for `taut`, each command and each program, as they say it themselves.

Each is a page of the documents' site and a man page. Three commands only start the program of
their name: what it says is their page.
"""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from taut.cli.command import Command
from taut.cli.help import Context
from taut.cli.lazy_group import LazyGroup
from taut.cli.main import TAUT
from taut.core.binaries import BINARIES, find_binary

FAMILIES = {
    "network_functions": "Network functions",
    "transmit": "Transmit policies",
    "schedules": "Schedules",
    "causes": "Causes",
    "ports": "Ports",
}
EXIT_STATUS = (
    ("0", "done"),
    ("1", "failed"),
    ("2", "bad input or usage"),
    ("3", "a requirement is not met"),
    ("130", "interrupted"),
)
# What begins in the second column is a name, what begins further right is about it.
OPTION = re.compile(r"^  (?P<term>\S.*?)(?:\n {20}|  )\s*(?P<text>.*(?:\n {20}.*)*)", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """One page of the manual."""

    title: str
    summary: str
    lines: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its man page's name."""
        return self.title.replace(" ", "-")


def write_manual(folder: Path) -> None:
    """Write all pages, one that lists them, and manual.json: which are man pages."""
    folder.mkdir()
    commands = [group_page(name, group) for name, group in groups_of(TAUT, "taut")]
    commands += [command_page(name, command) for name, command in commands_of(TAUT, "taut")]
    programs = [program_page(name) for name in BINARIES]
    pages = [*commands, *programs]
    for page in pages:
        text = "\n".join([f"# {page.title}\n", *page.lines])
        (folder / f"{page.name}.md").write_text(text + "\n")
    (folder / "manual.json").write_text(json.dumps({page.name: page.summary for page in pages}))
    (folder / "index.md").write_text("\n".join(index(commands, programs)) + "\n")


def index(commands: list[Page], programs: list[Page]) -> Iterator[str]:
    """Give the lines of the page that lists the others."""
    yield "# Commands\n"
    yield "Each command, with all of its options, as `-h` prints them.\n"
    yield from (f"- [{page.title}]({page.name}.md): {page.summary}" for page in commands)
    yield "\n## Programs\n"
    yield "What packets travel through, and what looks at a core.\n"
    yield from (f"- [{page.title}]({page.name}.md): {page.summary}" for page in programs)
    yield "\n```{toctree}\n:hidden:"
    yield from (page.name for page in (*commands, *programs))
    yield "```"


def groups_of(group: LazyGroup, name: str) -> Iterator[tuple[str, LazyGroup]]:
    """Give a group and those in it, with their whole names."""
    yield name, group
    for word in group.list_commands(Context(group)):
        member = group.get_command(Context(group), word)
        if isinstance(member, LazyGroup):
            yield from groups_of(member, f"{name} {word}")


def commands_of(group: click.Group, name: str) -> Iterator[tuple[str, Command]]:
    """Give every command with its whole name, but for those that are a program's."""
    for word in group.list_commands(Context(group)):
        member = group.get_command(Context(group), word)
        if isinstance(member, click.Group):
            yield from commands_of(member, f"{name} {word}")
        elif isinstance(member, Command) and member.program is None:
            yield f"{name} {word}", member


def group_page(name: str, group: LazyGroup) -> Page:
    """Give the page of a group: its commands by section."""
    context = Context(group, info_name=name)
    lines = [f"```text\n{name} COMMAND ...\n```\n", f"{group.help}\n"]
    for title, section in group.sections.items():
        lines.append(f"## {title}\n")
        lines += [f"`{name} {word}`\n: {summary}\n" for word, summary in section.items()]
    lines += [*options(group, context), "## Exit status\n"]
    lines += [f"`{status}`\n: {meaning}\n" for status, meaning in EXIT_STATUS]
    return Page(name, summary_of(group), (*lines, *examples(group.examples)))


def command_page(name: str, command: Command) -> Page:
    """Give the page of a command."""
    context = Context(command, info_name=name)
    usage = f"```text\n{name} {' '.join(command.collect_usage_pieces(context))}\n```\n"
    text = f"{(command.help or '').strip()}\n"
    lines = (usage, text, *options(command, context), *examples(command.examples))
    return Page(name, summary_of(command), lines)


def program_page(name: str) -> Page:
    """Give the page of a program, of what it says with --help and --describe."""
    program = find_binary(name)
    said, described = (
        subprocess.run([program, word], check=True, capture_output=True, text=True).stdout
        for word in ("--help", "--describe")
    )
    usage, _, rest = said.removeprefix("Usage: ").partition("\n\n")
    summary, _, rest = rest.partition("\n\nOptions:\n")
    listed, _, typed = rest.partition("\n\nExamples:\n")
    lines = [f"```text\n{' '.join(usage.split())}\n```\n", f"{sentence(summary)}.\n"]
    if name.removeprefix("taut-") in TAUT.summaries():
        lines.append(f"`{name.replace('-', ' ', 1)}` starts it.\n")
    lines.append("## Options\n")
    lines += [
        f"`{found['term']}`\n: {sentence(found['text'])}\n" for found in OPTION.finditer(listed)
    ]
    document = json.loads(described)
    for family, title in FAMILIES.items():
        lines += members(title, document.get(family, []))
    lines += examples([line.strip() for line in typed.splitlines() if line])
    return Page(name, sentence(summary), tuple(lines))


def members(title: str, family: list[dict[str, Any]]) -> Iterator[str]:
    """Give the lines of a family of a program: each member, and below it its options."""
    if family:
        yield f"## {title}\n"
    for member in family:
        yield f"`{member['name']}`\n: {member['summary']}\n"
        for option in member.get("options", []):
            yield f"  `{option['name']}`\n  : {option['help']}{default_of(option)}\n"


def default_of(option: Mapping[str, Any]) -> str:
    """Say what holds where an option is left out."""
    return f" [default: {option['default']}]" if option.get("default") else ""


def options(command: click.Command, context: click.Context) -> Iterator[str]:
    """Give the lines of a command's options."""
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    rows = [record for record in records if record is not None]
    if rows:
        yield "## Options\n"
    for term, text in rows:
        yield f"`{term}`\n: {text or 'as its name says'}\n"


def examples(lines: tuple[str, ...] | list[str]) -> Iterator[str]:
    """Give command lines as they are typed."""
    if lines:
        yield "## Examples\n"
        yield "```sh\n" + "\n".join(lines) + "\n```"


def summary_of(command: click.Command) -> str:
    """Give the first sentence of a command's help."""
    return sentence((command.help or "").split("\n\n")[0])


def sentence(text: str) -> str:
    """Give a text that was broken into lines as one."""
    return " ".join(text.split())

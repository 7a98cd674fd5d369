"""taut host lint: what is wrong with a kernel command line; needs no root, changes nothing."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from taut.cli.options import JsonOption
from taut.core.errors import InputError
from taut.host.host import Host
from taut.host.kernel_parameters.command_line import command_line_of_file
from taut.host.kernel_parameters.facts import parse_kernel_config
from taut.host.lint import KernelFacts, Problem, lint_command_line, read_kernel_facts
from taut.records.documents.host import LintDocument, ProblemOfLine
from taut.records.documents.json_form import plain
from taut.report.paragraph import print_paragraph

_WRONG = 3
_INDENT = " " * 9


EXAMPLES = (
    "taut host lint",
    "taut host lint --here isolcpus=1 nohz_ful=1",
)


def lint(
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD...", help="The command line; without it the running one is judged."
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Read it from a file: /etc/default/grub, a boot entry, plain text."
        ),
    ] = None,
    here: Annotated[
        bool, typer.Option("--here", help="Judge WORDs or --file for this machine's kernel.")
    ] = False,
    kernel: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Judge it for this version: 6.1.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Judge it for a kernel built with this .config."),
    ] = None,
    cpus: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=8192, help="Judge it for so many cores.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Find unknown, misspelt, inert, contradictory, deprecated and dangerous parameters.

    The running command line is judged for the running kernel; WORDs and --file for any kernel,
    unless --here, --kernel, --config or --cpus says for which. Exit status 3: something is wrong.
    """
    host = Host()
    is_running = not text and file is None
    line = _command_line(host, text, file)
    facts = read_kernel_facts(host) if is_running or here else KernelFacts()
    facts = _override(facts, kernel, config, cpus)
    problems = lint_command_line(line, facts)
    if as_json:
        typer.echo(json.dumps(plain(_document(line, facts, problems)), indent=1))
    else:
        _print(facts, problems)
    if any(problem.is_wrong for problem in problems):
        raise typer.Exit(_WRONG)


def _command_line(host: Host, text: Sequence[str] | None, file: Path | None) -> str:
    if text and file is not None:
        raise InputError("lint: WORDs and --file exclude each other; give one")
    if file is not None:
        line, origin = _read_file(file), str(file)
    elif text:
        line, origin = " ".join(text), "the words"
    else:
        line, origin = host.read("/proc/cmdline") or "", "/proc/cmdline"
    if not line.strip():
        raise InputError(f"{origin}: no command line there; give one as text or with --file")
    return line


def _read_file(path: Path) -> str:
    try:
        return command_line_of_file(_read(path).decode(errors="replace"))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; give a file that can be read") from None


def _override(
    facts: KernelFacts, kernel: str | None, config: Path | None, cpus: int | None
) -> KernelFacts:
    """Another kernel is not the running one: nothing that this one says counts any more."""
    if kernel is not None:
        found = re.match(r"v?(\d{1,3})\.(\d{1,4})(?![\d])", kernel)
        if not found:
            raise InputError(f"--kernel {kernel!r}: no version; write it like 6.1")
        facts = KernelFacts(kernel=(int(found[1]), int(found[2])), cores=facts.cores)
    if config is not None:
        options = parse_kernel_config(_read(config))
        if options is None:
            raise InputError(f"--config {config}: no kernel configuration; give a .config file")
        facts = replace(facts, config=options)
    return facts if cpus is None else replace(facts, cores=tuple(range(cpus)))


def _document(line: str, facts: KernelFacts, problems: Sequence[Problem]) -> LintDocument:
    return LintDocument(
        command_line=line.strip(),
        kernel=".".join(map(str, facts.kernel)) if facts.kernel else None,
        n_cores=facts.n_cores,
        is_wrong=any(problem.is_wrong for problem in problems),
        problems=tuple(
            ProblemOfLine(
                problem.kind,
                problem.parameter,
                problem.severity,
                problem.message,
                problem.remedy,
            )
            for problem in problems
        ),
    )


def _print(facts: KernelFacts, problems: Sequence[Problem]) -> None:
    console = Console()
    for problem in problems:
        head = f"{problem.severity:8} {problem.parameter} ({problem.kind})"
        print_paragraph(console, head, hanging=_INDENT)
        print_paragraph(console, problem.message, _INDENT)
        if problem.remedy:
            print_paragraph(console, f"-> {problem.remedy}", _INDENT, f"{_INDENT}   ")
    n_wrong = sum(problem.is_wrong for problem in problems)
    n_other = len(problems) - n_wrong
    counts = f"{n_wrong or 'nothing'} wrong, {n_other} to know"
    print_paragraph(console, f"{counts}; judged for {_judged_for(facts)}")


def _judged_for(facts: KernelFacts) -> str:
    known = []
    if facts.kernel is not None:
        known.append(f"kernel {facts.kernel[0]}.{facts.kernel[1]}")
    if facts.config is not None:
        known.append("its configuration")
    if facts.n_cores is not None:
        known.append(f"{facts.n_cores} cores")
    return ", ".join(known) or "any kernel and machine (--here: for this one)"

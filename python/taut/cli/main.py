"""`taut`: finds the command, and alone catches errors: one line on stderr and an exit status.

Commands are imported when they are called, so that `taut --help` does not load half of Python's
scientific libraries.
"""

import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module

import click
import typer

from taut.cli import host
from taut.core.errors import InputError, InterruptedRun, TautError
from taut.core.version import taut_version

# Name and summary; the function is taut.cli.NAME.NAME. One line per command. A name with a table
# of its own in GROUPS is a folder: the function of `taut host audit` is taut.cli.host.audit.audit.
COMMANDS = {
    "run": "run an experiment: devices x loads, every packet timed, a table and a report",
    "reproduce": "repeat a published experiment and print published beside measured",
    "analyze": "match two captures, before and after a device, and measure every packet",
    "explain": "name the cause of every late packet of a run, with evidence",
    "report": "analyse runs again and write one report of them",
    "compare": "compare two runs: relative improvement per percentile, and whether it is shown",
    "inject": "disturb a core on purpose and note what was sent (taut-inject)",
    "host": "audit this machine, plan changes, apply and undo them",
    "doctor": "say what this machine can and cannot do; --clean removes what a crash left",
    "generate": "send and time packets (taut-generate)",
    "forward": "forward packets (taut-forward)",
}

GROUPS = {"host": host.COMMANDS}

_INTERRUPTED = InterruptedRun.exit_status


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit status."""
    sys.exit(run_command(list(sys.argv[1:] if argv is None else argv)))


def run_command(arguments: list[str]) -> int:
    """Run one command; give its exit status."""
    try:
        return _dispatch("taut", COMMANDS, arguments)
    except TautError as error:
        return _fail(str(error), error.exit_status)
    except KeyboardInterrupt:
        return _fail("interrupted", _INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output is gone (`taut ... | head`): nobody is left to tell.
        sys.stderr.close()
        return 1


def command_app(*names: str) -> typer.Typer:
    """Import one command and give it as an app of its own; the generated docs use it too."""
    module = import_module(f"taut.cli.{'.'.join(names)}")
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    settings = getattr(module, "CONTEXT_SETTINGS", {})
    app.command(names[-1], context_settings=settings)(getattr(module, names[-1]))
    return app


def _dispatch(program: str, commands: Mapping[str, str], arguments: list[str]) -> int:
    first = arguments[0] if arguments else "--help"
    if first in ("--help", "-h", "help"):
        print(help_text(program, commands))
        return 0
    if first == "--version":
        print(f"taut {taut_version()}")
        return 0
    if first not in commands:
        kind = "option" if first.startswith("-") else "command"
        raise InputError(f"unknown {kind} {first!r}{_suggestion(program, commands, first)}")
    if program == "taut" and first in GROUPS:
        return _dispatch(f"taut {first}", GROUPS[first], arguments[1:])
    return _call(f"{program} {first}", arguments[1:])


def _call(command_line: str, arguments: list[str]) -> int:
    names = command_line.split()[1:]
    command = typer.main.get_command(command_app(*names))
    try:
        status = command.main(arguments, prog_name=command_line, standalone_mode=False)
    except click.Abort:
        return _fail("interrupted", _INTERRUPTED)
    except click.ClickException as error:
        raise InputError(f"{' '.join(names)}: {_one_line(error.format_message())}") from None
    # Without standalone mode typer.Exit(n) comes back as n.
    return status if isinstance(status, int) else 0


def help_text(program: str = "taut", commands: Mapping[str, str] = COMMANDS) -> str:
    """Say what there is."""
    lines = [f"Usage: {program} COMMAND ...", ""]
    lines += ["Measure the latency of packet processing.", ""] if program == "taut" else []
    width = max(len(name) for name in commands)
    lines += [f"  {name:{width}}  {summary}" for name, summary in commands.items()]
    lines += ["", f"{program} COMMAND --help says more; taut --version."]
    lines += ["Exit status: 0 done, 1 failed, 2 bad input, 3 requirement not met, 130 interrupted."]
    return "\n".join(lines)


def _suggestion(program: str, commands: Mapping[str, str], word: str) -> str:
    near = get_close_matches(word, commands, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; `{program} --help` lists what there is"


def _fail(message: str, status: int) -> int:
    print(f"taut: {_one_line(message)}", file=sys.stderr)
    return status


def _one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    main()

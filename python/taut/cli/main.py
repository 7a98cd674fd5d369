"""`taut`: the tree of commands; here alone errors are caught: one line on stderr, an exit status.

Commands are imported when they are called, so that `taut --help` does not load half of Python's
scientific libraries.
"""

import codecs
import re
import shutil
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO

import click

from taut.cli import host
from taut.cli.lazy_group import LazyGroup
from taut.core.credentials import hide_passwords
from taut.core.errors import InterruptedRun, TautError, told_of
from taut.core.plugins import PluginWarning
from taut.core.version import taut_version
from taut.core.wrap import wrap

# Name and summary; the function is taut.cli.NAME.NAME. One line per command.
SECTIONS = {
    "Measure": {
        "quick": "a first result in 20 s, without root: what does waiting for a batch cost?",
        "init": "write an experiment to edit, a comment at every key",
        "run": "run an experiment: devices x loads, every packet timed, a table and a report",
        "search": "find the highest load each device carries: NDR, PDR and goals of your own",
        "soak": "measure one device for hours, in rows: does it hold, and why was it late when?",
        "watch": "show what a run that is under way has measured so far, live",
        "rfc": "carry out the tests of RFC 2544, 8219 or 9004, and print their own tables",
        "reproduce": "repeat a published experiment and print published beside measured",
        "analyze": "match two captures, before and after a device, and measure every packet",
        "runs": "list what was measured here: when, what, and what was found",
        "pack": "put a run into one file, to hand on or to keep",
        "unpack": "make a run directory of a packed run again, checked file by file",
    },
    "Understand": {
        "explain": "name the cause of every late packet of a run, with evidence",
        "report": "write one report of runs, and analyse those that are not yet",
        "check": "judge a run by what is asked of it: pass, fail, or not shown",
        "compare": "compare two runs: relative improvement per percentile, and whether it is shown",
        "trend": "follow one experiment over many runs: since which run does a median differ?",
        "schema": "print what an experiment's file or a document may hold, as a JSON Schema",
    },
    "Change": {
        "trim": "find out which settings of this host make the tail shorter, and prove it",
        "host": "audit this machine, plan changes, apply and undo them",
        "inject": "disturb a core on purpose and note what was sent",
    },
    "Parts": {
        "generate": "send and time packets, without an experiment around it",
        "forward": "forward packets between ports",
        "doctor": "say what this machine can and cannot do; --clean removes what a crash left",
        "plugins": "list what other packages add: devices, metrics, causes, figures, checks",
        "completion": "print the script that completes taut in bash, zsh or fish",
    },
}
EXAMPLES = (
    "taut quick",
    "taut run examples/first-look.toml --out runs/first",
    "taut explain runs/first",
)

# They work on what was measured, some with as many processes as there are cores.
_READERS = frozenset(SECTIONS["Understand"]) | {"analyze", "runs", "pack", "unpack"}
_NOT_READING = frozenset({"-h", "--help", "--self-test"})

_INTERRUPTED = InterruptedRun.exit_status


def _print_version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        click.echo(f"taut {taut_version()}")
        ctx.exit()


_VERSION = click.Option(
    ["--version"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version.",
)

TAUT = LazyGroup(
    "taut",
    "Measure the latency of packet processing, say why packets were late, and make the tail "
    "shorter.",
    SECTIONS,
    "taut.cli",
    groups=[
        LazyGroup(
            "host",
            "Audit this machine, plan changes, apply and undo them.",
            host.SECTIONS,
            "taut.cli.host",
            examples=host.EXAMPLES,
        )
    ],
    params=[_VERSION],
    examples=EXAMPLES,
)


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit status."""
    _replace_what_has_no_code()
    words = list(sys.argv[1:] if argv is None else argv)
    if _READERS.intersection(words[:1]) and not _NOT_READING.intersection(words):
        # Here, not above: `taut --help` needs none of it.
        from taut.testbed.core_locks import leave_measured

        with suppress(OSError):  # a container may forbid it, and the command needs none of it
            leave_measured()
    sys.exit(run_command(words))


def _replace_what_has_no_code() -> None:
    """Have a terminal without UTF-8 show `?` for what it lacks; the error would end a whole run."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
            stream.reconfigure(errors="replace")


def run_command(arguments: list[str]) -> int:
    """Run one command; give its exit status."""
    with warnings.catch_warnings():
        _say_plugin_warnings()
        return _run_command(arguments)


def _say_plugin_warnings() -> None:
    """Have what is said of plug-ins printed as one line, once, as errors are."""
    print_others = warnings.showwarning
    said: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if not issubclass(category, PluginWarning):
            print_others(message, category, filename, lineno, file, line)
        elif str(message) not in said:  # a metric fails in each trial
            said.add(str(message))
            _print_line(str(message))

    warnings.showwarning = show
    warnings.simplefilter("always", PluginWarning)


def _run_command(arguments: list[str]) -> int:
    try:
        # Without standalone mode Exit(n) comes back as n.
        status = TAUT.main(arguments, prog_name="taut", standalone_mode=False)
    except TautError as error:
        return _fail(str(error), error.exit_status)
    except click.ClickException as error:
        return _fail(_usage_words(error), 2)
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted", _INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output is gone (`taut ... | head`): nobody would see a message.
        sys.stderr.close()
        return 1
    except OSError as error:
        if (told := told_of(error)) is None:
            raise
        return _fail(str(told), told.exit_status)
    return status if isinstance(status, int) else 0


def _usage_words(error: click.ClickException) -> str:
    """Say which command was called wrongly, and where it says how it is called."""
    message = error.format_message().rstrip(".")
    message = re.sub(r"\. \(?Did you mean( one of)?:?(.*?)\?\)?$", r"; did you mean\1\2?", message)
    ctx = getattr(error, "ctx", None)
    if ctx is None:
        return message
    command = ctx.command_path.partition(" ")[2]
    mark = "" if message.endswith("?") else ";"
    words = f"{message[0].lower()}{message[1:]}{mark} see `{ctx.command_path} -h`"
    return f"{command}: {words}" if command else words


def _fail(message: str, status: int) -> int:
    _print_line(message)
    return status


def _print_line(message: str) -> None:
    line = f"taut: {_one_line(hide_passwords(message))}"
    # One line in a log, to be searched; on a terminal no word of it is broken.
    width = shutil.get_terminal_size().columns if sys.stderr.isatty() else len(line)
    print("\n".join(wrap(line, width)), file=sys.stderr)


def _one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    main()

"""One command of the tree, made of its module: the function, its options, its examples."""

import os
from pathlib import Path
from types import ModuleType

import click
import typer
import typer.core
from click.shell_completion import CompletionItem
from typer.core import TyperArgument, TyperCommand
from typer.utils import get_params_from_function

from taut.cli.help import SETTINGS, Context, write_examples
from taut.core.errors import InputError

# Else Typer loads all of Rich, to escape a bracket of a help that Rich does not print: 60 ms.
typer.core.HAS_RICH = False


class Command(TyperCommand):
    """Typer's command, with taut's own help."""

    context_class = Context
    examples: tuple[str, ...] = ()
    program: str | None = None
    """The program of taut that replaces this process; its options are completed. None: none."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read arguments; a mistake in them is always one of this command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def format_arguments(self, _: click.Context, __: click.HelpFormatter) -> None:
        """Write nothing: format_options does it, the only one that older versions of Click call."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write arguments, then options; the usage line says what is required."""
        records: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                name, text = record
                text = text.removesuffix("[required]").rstrip()
                records[param.param_type_name].append((name, text))
        for kind, rows in records.items():
            if rows:
                with formatter.section(f"{kind.title()}s"):
                    formatter.write_dl(rows)

    def format_epilog(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(formatter, self.examples)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete options: a program says itself which it has."""
        if self.program is None:
            return super().shell_complete(ctx, incomplete)
        # Here, not above: only who completes waits for them.
        from taut.binaries.describe import describe
        from taut.core.binaries import find_binary_or_none
        from taut.records.documents.described import Described

        if find_binary_or_none(self.program) is None:
            return []
        return [
            CompletionItem(f"--{option.name}", help=option.help)
            for option in describe(self.program, Described).options
            if f"--{option.name}".startswith(incomplete)
        ]


class PathName(click.Path):
    """A path of the command line, as far as its name goes; who reads the file reports the rest."""

    def __init__(self) -> None:
        super().__init__(readable=False)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,  # noqa: ARG002 - the signature is Click's
    ) -> str:
        """InputError: an empty name, or a folder or a disk where an option wants a FILE."""
        name = os.fspath(value)
        said = "" if param is None else _name_of(param)
        if not name:
            raise InputError(f"{said}'': names nothing; write a name, or leave it out")
        if isinstance(param, click.Option) and param.metavar == "FILE":
            if Path(name).is_dir():
                raise InputError(f"{said}{name}: a folder; name a file")
            if Path(name).is_block_device():
                raise InputError(f"{said}{name}: a disk; name a file")
        return name


def _name_of(param: click.Parameter) -> str:
    """Name an option or an argument before its value."""
    if isinstance(param, click.Option):
        return f"{param.opts[0]} "
    return f"{(param.metavar or param.name or '').strip('[].').upper()} "


def make_command(module: ModuleType, name: str) -> Command:
    """Make the command `name` of its module; EXAMPLES there are the help's."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    settings = {**SETTINGS, **getattr(module, "CONTEXT_SETTINGS", {})}
    function = getattr(module, name)
    app.command(name, cls=Command, context_settings=settings)(function)
    command = typer.main.get_command(app)
    if not isinstance(command, Command):
        raise TypeError(f"{module.__name__}: more than one command")
    # Click takes an argument's help from Typer and forgets it.
    infos = get_params_from_function(function)
    for param in command.params:
        if isinstance(param, TyperArgument):
            param.help = infos[param.name or ""].default.help
        if isinstance(param.type, click.Path):
            # Typer's own path type completes nothing. Whoever reads the file reports what is wrong.
            param.type = PathName()
    command.examples = getattr(module, "EXAMPLES", ())
    command.program = getattr(module, "PROGRAM", None)
    return command

"""Commands that are imported when they are called: `taut --help` loads none of them."""

from collections.abc import Mapping, Sequence
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from taut.cli.help import SETTINGS, Context, write_examples
from taut.core.errors import InputError
from taut.core.words import nearest

Sections = Mapping[str, Mapping[str, str]]
"""Name and summary of each command, by section."""


class LazyGroup(click.Group):
    """A group of commands. The command NAME is the function NAME of the module `package`.NAME."""

    context_class = Context

    def __init__(
        self,
        name: str,
        summary: str,
        sections: Sections,
        package: str,
        *,
        groups: Sequence["LazyGroup"] = (),
        params: Sequence[click.Parameter] = (),
        examples: Sequence[str] = (),
    ) -> None:
        super().__init__(
            name,
            commands=groups,
            params=list(params),
            help=summary,
            context_settings=SETTINGS,
            options_metavar="",
            subcommand_metavar="COMMAND ...",
        )
        self.sections, self._package, self.examples = sections, package, examples

    def summaries(self) -> dict[str, str]:
        """Give every command's name and what it does."""
        return {
            name: summary for section in self.sections.values() for name, summary in section.items()
        }

    def list_commands(self, _: click.Context) -> list[str]:
        """Give the names, section by section."""
        return list(self.summaries())

    def get_command(self, _: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command; None: there is none of this name."""
        if cmd_name in self.commands or cmd_name not in self.summaries():
            return self.commands.get(cmd_name)
        # Here, not above: it loads typer.
        from taut.cli.command import make_command

        return make_command(import_module(f"{self._package}.{cmd_name}"), cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read options; no word at all asks for help."""
        if args in ([], ["help"]) and not ctx.resilient_parsing:
            args = ["--help"]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called."""
        command = self.get_command(ctx, args[0])
        if command is None and not ctx.resilient_parsing:
            near = nearest(args[0], self.summaries())
            hint = f"did you mean {near!r}?" if near else f"`{ctx.command_path} -h` lists them all"
            raise InputError(f"unknown command {args[0]!r}; {hint}")
        return (None if command is None else args[0]), command, args[1:]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command's name or an option, from the table alone."""
        found = [
            CompletionItem(name, help=summary)
            for name, summary in self.summaries().items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write all sections; every summary begins in the same column."""
        width = max(map(len, self.summaries()))
        for title, section in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:{width}}", text) for name, text in section.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples, and what all commands have in common."""
        write_examples(formatter, self.examples)
        formatter.write_paragraph()
        formatter.write_text(
            f"{ctx.command_path} COMMAND -h says more. Exit status: 0 done, 1 failed, "
            "2 bad input, 3 requirement not met, 130 interrupted."
        )

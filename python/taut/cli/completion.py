"""`taut completion SHELL`: the script that completes taut's commands, options and files."""

from typing import Annotated

import typer
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from taut.core.errors import InputError

EXAMPLES = (
    "taut completion bash > ~/.local/share/bash-completion/completions/taut",
    "taut completion zsh > ~/.zfunc/_taut",
    "taut completion fish > ~/.config/fish/completions/taut.fish",
)
# Listed here, since Typer replaces the classes in Click's table by its own, which do not fit.
SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help=f"{', '.join(SHELLS)}.")],
) -> None:
    """Print the script that completes taut in a shell; it asks taut, and stays current.

    The folders of the examples may have to be made first, and for zsh ~/.zfunc has to stand in
    fpath.
    """
    # Here, not above: the tree imports this command.
    from taut.cli.main import TAUT

    if shell not in SHELLS:
        raise InputError(f"completion: no shell {shell!r}; there are {', '.join(SHELLS)}")
    print(SHELLS[shell](TAUT, {}, "taut", "_TAUT_COMPLETE").source())

"""GRUB, as Debian and Ubuntu configure it: a drop-in that update-grub reads."""

from collections.abc import Sequence

from taut.host.boot.command_line import Reasoned, command_line, merge_parameters
from taut.host.boot.context import BootContext
from taut.host.boot.wish import BootWish, one_line

PATH = "/etc/default/grub.d/90-taut.cfg"

_DEFAULT = 'GRUB_CMDLINE_LINUX_DEFAULT="'
# The normal entries only: the recovery entry boots as before. What the machine's own
# configuration says of the same parameters is taken out, since the kernel takes most of them once;
# its lists of cores are merged into ours (others.py).
# Ours come first: after a lone -- the kernel reads no more.
_TEXT = """\
# Written by taut; in force after update-grub and a reboot. To take it back: taut host undo --boot,
# or remove this file; then update-grub and a reboot.
{reasons}
taut_without() {{
	taut_kept=
	for taut_word in $1; do
		case $taut_word in
		{names}) ;;
		*) taut_kept="$taut_kept $taut_word" ;;
		esac
	done
	printf %s "${{taut_kept# }}"
}}
set -f
GRUB_CMDLINE_LINUX="$(taut_without "$GRUB_CMDLINE_LINUX")"
{default}{line} $(taut_without "$GRUB_CMDLINE_LINUX_DEFAULT")"
set +f
"""


def grub_files(wishes: Sequence[BootWish], context: BootContext) -> dict[str, str]:
    """Give the drop-in; nothing where no parameter is wanted."""
    parameters = merge_parameters(wishes, context.online, context.others)
    if not parameters:
        return {}
    text = _TEXT.format(
        reasons="\n".join(
            f"# {one_line(f'{each.parameter}: {each.reason}')}" for each in parameters
        ),
        names=" | ".join(_pattern(each) for each in parameters),
        default=_DEFAULT,
        line=_quoted(command_line(parameters)),
    )
    return {PATH: text}


def placed_line(text: str) -> str:
    """Give the parameters in a drop-in as it was written, with a shell's quotes; empty: none."""
    found = (line for line in text.splitlines() if line.startswith(_DEFAULT))
    return next(found, "").removeprefix(_DEFAULT).partition(" $(")[0]


def _pattern(reasoned: Reasoned) -> str:
    """Match a parameter with and without a value; - and _ are the same to the kernel."""
    name = reasoned.parameter.name.replace("_", "[-_]")
    return f"{name} | {name}=*"


def _quoted(text: str) -> str:
    """For a shell's double quotes."""
    return "".join(f"\\{each}" if each in '\\"$`' else each for each in text)

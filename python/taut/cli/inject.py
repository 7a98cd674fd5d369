"""taut inject: disturb a core on purpose, and note what was sent."""

from taut.cli.hand_over import ANY_ARGUMENTS, arguments_after, become

# main.py registers the command with these.
CONTEXT_SETTINGS = ANY_ARGUMENTS


def inject() -> None:
    """Disturb a core by one cause at a known rate (runs taut-inject)."""
    become("taut-inject", arguments_after("inject"))

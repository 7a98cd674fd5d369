"""taut inject: disturb a core on purpose, and note what was sent."""

from taut.cli.hand_over import ANY_ARGUMENTS, arguments_after, become

# The command is made with these.
CONTEXT_SETTINGS = ANY_ARGUMENTS
PROGRAM = "taut-inject"


def inject() -> None:
    """Disturb a core by one cause at a known rate (runs taut-inject)."""
    become(PROGRAM, arguments_after("inject"))

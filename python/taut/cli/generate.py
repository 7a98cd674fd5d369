"""taut generate: send and time packets, without an experiment around it."""

from taut.cli.hand_over import ANY_ARGUMENTS, arguments_after, become

# The command is made with these.
CONTEXT_SETTINGS = ANY_ARGUMENTS
PROGRAM = "taut-generate"


def generate() -> None:
    """Send packets on a schedule and time each (runs taut-generate)."""
    become(PROGRAM, arguments_after("generate"))

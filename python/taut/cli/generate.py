"""taut generate: send and time packets, without an experiment around it."""

from taut.cli.hand_over import ANY_ARGUMENTS, arguments_after, become

# main.py registers the command with these.
CONTEXT_SETTINGS = ANY_ARGUMENTS


def generate() -> None:
    """Send packets on a schedule and time each (runs taut-generate)."""
    become("taut-generate", arguments_after("generate"))

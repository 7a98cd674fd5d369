"""taut generate: send and time packets, without an experiment around it."""

from taut.cli.exec_program import ANY_ARGUMENTS, arguments_after, exec_program

# The command is made with these.
CONTEXT_SETTINGS = ANY_ARGUMENTS
PROGRAM = "taut-generate"


def generate() -> None:
    """Send packets on a schedule and time each (runs taut-generate)."""
    exec_program(PROGRAM, arguments_after("generate"))

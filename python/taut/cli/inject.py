"""taut inject: disturb a core on purpose, and note what was sent."""

from taut.cli.exec_program import ANY_ARGUMENTS, arguments_after, exec_program

# The command is made with these.
CONTEXT_SETTINGS = ANY_ARGUMENTS
PROGRAM = "taut-inject"


def inject() -> None:
    """Disturb a core by one cause at a known rate (runs taut-inject)."""
    exec_program(PROGRAM, arguments_after("inject"))

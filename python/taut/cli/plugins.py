"""`taut plugins`: what other packages add to taut here, and what of it is left out, and why."""

from taut.cli.options import JsonOption

EXAMPLES = (
    "taut plugins",
    "taut plugins --json",
)


def plugins(as_json: JsonOption = False) -> None:
    """List what other packages add: devices, metrics, causes, figures and checks.

    Each is imported, so that what is wrong with one is said here; the others work.
    """
    # Here, not above: `-h` needs none of it.
    from taut.cli.plugins_job import list_plugins

    list_plugins(as_json=as_json)

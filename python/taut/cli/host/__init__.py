"""`taut host COMMAND`: one file per command, one line each here."""

# Name and summary; the function is taut.cli.host.NAME.NAME.
COMMANDS: dict[str, str] = {}

"""`taut host COMMAND`: one file per command, one line each here."""

# Name and summary; the function is taut.cli.host.NAME.NAME.
COMMANDS: dict[str, str] = {
    "audit": "check this machine: what is wrong, why it matters, what helps",
    "cmdline": "the kernel parameters for a role and its cores, a reason each",
    "noise": "poll on cores and measure what keeps them from it",
}

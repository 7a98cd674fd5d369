"""`taut host COMMAND`: one file per command, one line each here."""

# Name and summary; the function is taut.cli.host.NAME.NAME.
COMMANDS: dict[str, str] = {
    "audit": "check this machine: what is wrong, why it matters, what helps",
    "lint": "find what is wrong with a kernel command line: typos, contradictions, dangers",
    "plan": "what would change, now and at boot, and what it costs; writes nothing",
    "apply": "make the changes of the plan; every old value is kept first",
    "verify": "say whether what apply put is still in force",
    "undo": "put back what apply changed, byte for byte",
    "hold": "keep the processor's wake-up latency limited while this runs",
    "cmdline": "the kernel parameters for a role and its cores, a reason each",
    "noise": "poll on cores and measure what keeps them from it",
    "effect": "what a knob does to the gaps of this machine, measured off and on in turn",
}

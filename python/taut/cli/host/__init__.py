"""`taut host COMMAND`: one file per command, one line each here."""

# Name and summary; the function is taut.cli.host.NAME.NAME.
SECTIONS: dict[str, dict[str, str]] = {
    "Look": {
        "audit": "check this machine: what is wrong, why it matters, what helps",
        "lint": "find what is wrong with a kernel command line: typos, contradictions, dangers",
        "plan": "what would change, now and at boot, and what it costs; writes nothing",
        "cmdline": "the kernel parameters for a role and its cores, a reason each",
        "verify": "say whether what apply put is still in force",
    },
    "Change": {
        "apply": "make the changes of the plan; every old value is kept first",
        "undo": "put back what apply changed, byte for byte",
        "hold": "keep the processor's wake-up latency limited while this runs",
    },
    "Measure": {
        "noise": "poll on cores and measure what keeps them from it",
        "effect": "what knobs do to packets' latency, measured off and on in turn",
    },
}

EXAMPLES = (
    "taut host audit",
    "taut host plan --cores 1",
)

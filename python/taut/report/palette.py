"""The colours, as data.  Figures name a colour by its token; each theme gives the token a value.

The device colours keep their distance for readers with colour-vision deficiency, in both themes,
and have at least 3:1 contrast with the surface where they carry meaning alone.  A cause has one
colour in every report: the hue says the kind, and its name always stands beside it.
"""

from collections.abc import Mapping

DEVICE_TOKENS = tuple(f"@device{i}" for i in range(1, 9))
FLOOR_TOKENS = ("@floor1", "@floor2", "@floor3")

# Light and dark.
_OF_CAUSES: Mapping[str, tuple[str, str]] = {
    # Interrupts: blue.
    "timer": ("#2a78d6", "#4f97ee"),
    "device-irq": ("#0b4f9e", "#8fc0ff"),
    "softirq": ("#2f8fb8", "#5cc6ee"),
    "irq-work": ("#6585ba", "#a9c1e8"),
    "nmi": ("#1c2f6b", "#6f86e0"),
    # Called from another core: violet to pink.
    "tlb-shootdown": ("#7a4fc4", "#a487ec"),
    "membarrier": ("#a63fb0", "#d982e2"),
    "function-call": ("#c9458c", "#e873b0"),
    "reschedule": ("#9277cf", "#c9b6f7"),
    # The scheduler gave the core away: orange to red.
    "preemption": ("#d9541e", "#f0763f"),
    "fifo-preemption": ("#c42b2b", "#ff5d55"),
    "workqueue": ("#b57900", "#d9a021"),
    "stopped": ("#7d1f1f", "#ff9d8a"),
    "throttled": ("#9a5a14", "#e0a565"),
    "idle-exit": ("#857217", "#d3c04f"),
    # The thread's own doing: green.
    "page-fault": ("#14926a", "#2fb98c"),
    "syscall": ("#4f7a00", "#a3c93a"),
    # Below the kernel: brown.
    "hypervisor-or-hardware": ("#7a5a3c", "#c69a6d"),
    "smi": ("#54402c", "#a07a50"),
    "machine-check": ("#3d2a14", "#8f7350"),
    "frequency": ("#977653", "#d9bf9f"),
    # Packets among themselves: petrol.
    "queueing": ("#00829b", "#2bb3cd"),
    "batching": ("#0f5f6e", "#7fd6e6"),
    # Not the device: the instrument, and what nobody knows.
    "measurer": ("#3a4252", "#d5d9e2"),
    "trace-lost": ("#d6336c", "#ff8fb3"),
    "unknown": ("#80868f", "#8f96a3"),
    # Parts of a gap that are no cause.
    "entry and exit": ("#7f93b3", "#7288ab"),
    "own packets": ("#5b9384", "#5aa08d"),
    "residual": ("#8a8f98", "#7d8490"),
}

LIGHT: Mapping[str, str] = {
    "@surface": "#ffffff",
    "@ink": "#16181d",
    "@muted": "#5a606b",
    "@grid": "#e6e8ec",
    "@axis": "#b9bec7",
    "@alert": "#c42b2b",
    "@floor1": "#8a8f98",
    "@floor2": "#b0a48f",
    "@floor3": "#9aa58f",
    "@device1": "#2a78d6",
    "@device2": "#d9541e",
    "@device3": "#14926a",
    "@device4": "#7a4fc4",
    "@device5": "#b57900",
    "@device6": "#c9458c",
    "@device7": "#00829b",
    "@device8": "#6b7a00",
    **{f"@cause-{name}": light for name, (light, _) in _OF_CAUSES.items()},
}

DARK: Mapping[str, str] = {
    "@surface": "#16181d",
    "@ink": "#eceef2",
    "@muted": "#a3a9b5",
    "@grid": "#2a2e36",
    "@axis": "#4b515c",
    "@alert": "#ff7b72",
    "@floor1": "#8f96a3",
    "@floor2": "#a89a80",
    "@floor3": "#8e9c80",
    "@device1": "#4f97ee",
    "@device2": "#f0763f",
    "@device3": "#2fb98c",
    "@device4": "#a487ec",
    "@device5": "#d9a021",
    "@device6": "#e873b0",
    "@device7": "#2bb3cd",
    "@device8": "#a3b53a",
    **{f"@cause-{name}": dark for name, (_, dark) in _OF_CAUSES.items()},
}


def colour_devices(labels: Mapping[str, bool]) -> dict[str, str]:
    """Give each label (true: it is a floor) its token; floors are grey, devices never are."""
    colours: dict[str, str] = {}
    n_floors = n_devices = 0
    for label, is_floor in labels.items():
        if is_floor:
            colours[label] = FLOOR_TOKENS[n_floors % len(FLOOR_TOKENS)]
            n_floors += 1
        else:
            colours[label] = DEVICE_TOKENS[n_devices % len(DEVICE_TOKENS)]
            n_devices += 1
    return colours


def cause_token(name: str) -> str:
    """Give the token of a cause, or of another part of a gap; what is not known here is unknown."""
    return f"@cause-{name if name in _OF_CAUSES else 'unknown'}"


def css_name(token: str) -> str:
    """Give the variable that holds a cause's colour in the report's style sheet."""
    return "--" + token.removeprefix("@").replace(" ", "-")


def cause_styles() -> str:
    """Style sheet of the causes' colours: without JavaScript, and on paper, too."""
    light, dark = (
        "".join(f"{css_name(t)}:{c};" for t, c in theme.items() if t.startswith("@cause-"))
        for theme in (LIGHT, DARK)
    )
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n"


def resolve(spec: object, theme: Mapping[str, str]) -> object:
    """Replace every colour token in a chart's specification."""
    if isinstance(spec, dict):
        return {key: resolve(value, theme) for key, value in spec.items()}
    if isinstance(spec, list):
        return [resolve(value, theme) for value in spec]
    if isinstance(spec, str):
        return theme.get(spec, spec)
    return spec

"""The colours, as data.  Figures name a colour by its token; each theme gives the token a value.

In the page a token is a variable of the style sheet, so that figures follow the reader's theme, and
paper, without being drawn again.  Words have at least 4.5:1 contrast with what they stand on.  The
device colours keep their distance for readers with colour-vision deficiency, in both themes,
and have at least 3:1 contrast with the surface where they carry meaning alone.  A cause has one
colour in every report: the hue says the kind, and its name always stands beside it.
"""

from collections.abc import Mapping

from taut.explain.causes import CAUSES, UNKNOWN

DEVICE_TOKENS = tuple(f"@device{i}" for i in range(1, 9))
FLOOR_TOKENS = ("@floor1", "@floor2", "@floor3")

# Shades, as shares of the way from the device's colour to the ink, the most used one first.
_SHADES = (0.6, 0.3, 0.85)

N_SHADES = 1 + len(_SHADES)
"""In how many shades, its own colour one of them, a device can be told from itself."""

# Light and dark, of what is no cause: parts of a gap.
_OF_PARTS: Mapping[str, tuple[str, str]] = {
    "entry and exit": ("#7f93b3", "#7288ab"),
    "own packets": ("#5b9384", "#5aa08d"),
    "residual": ("#8a8f98", "#7d8490"),
}
_OF_CAUSES = {**{cause.id: cause.colour for cause in CAUSES}, **_OF_PARTS}

_LIGHT: Mapping[str, str] = {
    "@surface": "#ffffff",
    "@raised": "#f6f7f9",
    "@ink": "#16181d",
    "@muted": "#5a606b",
    "@faint": "#6b717c",
    "@line": "#e0e3e8",
    "@grid": "#e6e8ec",
    "@axis": "#b9bec7",
    "@alert": "#b42323",
    "@good": "#17713f",
    "@link": "#1f5fb0",
    "@warned": "#fff6e0",
    "@warned-edge": "#d9a441",
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

_DARK: Mapping[str, str] = {
    "@surface": "#16181d",
    "@raised": "#1e2128",
    "@ink": "#eceef2",
    "@muted": "#a3a9b5",
    "@faint": "#8f95a1",
    "@line": "#2d323b",
    "@grid": "#2a2e36",
    "@axis": "#4b515c",
    "@alert": "#ff8a80",
    "@good": "#5fd39a",
    "@link": "#7fb2f5",
    "@warned": "#2b2515",
    "@warned-edge": "#b58a2e",
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


def _shaded(theme: Mapping[str, str]) -> Mapping[str, str]:
    """Add the shades of every device and floor, mixed with the ink."""
    return {
        **theme,
        **{
            f"{token}-{number}": _mixed(theme[token], theme["@ink"], part)
            for token in (*FLOOR_TOKENS, *DEVICE_TOKENS)
            for number, part in enumerate(_SHADES, start=1)
        },
    }


def _mixed(colour: str, ink: str, part: float) -> str:
    pairs = [[int(mixed[i : i + 2], 16) for mixed in (colour, ink)] for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a + part * (b - a)):02x}" for a, b in pairs)


LIGHT = _shaded(_LIGHT)
DARK = _shaded(_DARK)


def shade(token: str, number: int) -> str:
    """Give the token of a device in another state of the host: 0 is its own; they repeat."""
    number %= N_SHADES
    return f"{token}-{number}" if number else token


def colour_devices(labels: Mapping[str, bool]) -> dict[str, str]:
    """Give each label (true: it is a floor) its token; floors are grey, devices never are.

    Where all tokens are taken their shades follow; colours repeat when these are taken, too.
    """
    colours: dict[str, str] = {}
    for tokens, of_floors in ((FLOOR_TOKENS, True), (DEVICE_TOKENS, False)):
        of = (label for label, is_floor in labels.items() if is_floor is of_floors)
        for n, label in enumerate(of):
            colours[label] = shade(tokens[n % len(tokens)], n // len(tokens))
    return {label: colours[label] for label in labels}


def cause_token(name: str) -> str:
    """Give the token of a cause, or of another part of a gap; what is not known here is unknown."""
    return f"@cause-{name if name in _OF_CAUSES else UNKNOWN.id}"


def css_name(token: str) -> str:
    """Give the variable of the report's style sheet that holds a token's colour."""
    return "--" + token.removeprefix("@").replace(" ", "-")


VARIABLES = {token: f"var({css_name(token)})" for token in LIGHT}
"""The theme of the page itself: the browser has the colours."""


def style_sheet() -> str:
    """Give every token's variable in both themes; paper is always light."""
    light, dark = (
        "".join(f"{css_name(token)}:{colour};" for token, colour in theme.items())
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

"""The colours, as data.  Figures name a colour by its token; each theme gives the token a value.

The device colours keep their distance for readers with colour-vision deficiency, in both themes,
and have at least 3:1 contrast with the surface where they carry meaning alone.
"""

from collections.abc import Mapping

DEVICE_TOKENS = tuple(f"@device{i}" for i in range(1, 9))
FLOOR_TOKENS = ("@floor1", "@floor2", "@floor3")

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


def resolve(spec: object, theme: Mapping[str, str]) -> object:
    """Replace every colour token in a chart's specification."""
    if isinstance(spec, dict):
        return {key: resolve(value, theme) for key, value in spec.items()}
    if isinstance(spec, list):
        return [resolve(value, theme) for value in spec]
    if isinstance(spec, str):
        return theme.get(spec, spec)
    return spec

"""What `taut plugins --json` prints: members of taut's tables that other packages bring."""

from dataclasses import dataclass

PLUGINS_FORMAT = 1


@dataclass(frozen=True)
class PluginFound:
    """One entry point of an installed package."""

    name: str
    kind: str
    """device, placement, metric, cause, figure or check; else the group, which is no table."""
    package: str
    version: str
    target: str
    """Where the member is: `module:object`."""
    why_not: str | None
    """Why it is left out; None: it stands in its table."""


@dataclass(frozen=True)
class PluginsDocument:
    """Every plug-in of this Python, by kind and name."""

    plugins: tuple[PluginFound, ...]
    format: int = PLUGINS_FORMAT

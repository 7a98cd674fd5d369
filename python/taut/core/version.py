"""taut's own version, whose one source is pyproject.toml, and which of devices' say more."""

import re

_OF_KERNEL = re.compile(r"Linux \S+")


def taut_version() -> str:
    """Version of the installed package; `unknown` when it runs without being installed."""
    # Here, not above: it takes longer than the rest of a small command.
    from importlib import metadata

    try:
        return metadata.version("taut")
    except metadata.PackageNotFoundError:
        return "unknown"


def is_of_device_alone(version: str | None, taut: str | None) -> bool:
    """Whether a device's version is known, and neither taut's nor the kernel's.

    A run tells these two once, for all devices. `taut`: the version that it was measured with.
    """
    is_other = version not in (None, "unknown", taut)
    return is_other and _OF_KERNEL.fullmatch(str(version)) is None

"""taut's own version: pyproject.toml is its one source."""

from importlib import metadata


def taut_version() -> str:
    """Version of the installed package; `unknown` when it runs without being installed."""
    try:
        return metadata.version("taut")
    except metadata.PackageNotFoundError:
        return "unknown"

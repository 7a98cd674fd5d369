"""taut's own version: pyproject.toml is its one source."""


def taut_version() -> str:
    """Version of the installed package; `unknown` when it runs without being installed."""
    # Here, not above: it takes longer than the rest of a small command.
    from importlib import metadata

    try:
        return metadata.version("taut")
    except metadata.PackageNotFoundError:
        return "unknown"

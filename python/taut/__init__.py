"""taut measures, explains and trims the tail latency of software packet processing.

What `__all__` names is for scripts and notebooks, and stays (docs/api.md); everything else may
change. A name is imported when it is first used: every command imports this package, and needs
none of them.
"""

import sys
from types import ModuleType

# As typing has it; typing itself would take longer to import than the rest.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from taut.api.explaining import explain as explain
    from taut.api.loaded import Run as Run
    from taut.api.loaded import Trial as Trial
    from taut.api.loaded import load as load
    from taut.api.measuring import run as run
    from taut.api.table import Table as Table
    from taut.api.trimming import trim as trim
    from taut.core.errors import InputError as InputError
    from taut.core.errors import MissingToolError as MissingToolError
    from taut.core.errors import TautError as TautError

    __version__: str

__all__ = [
    "InputError",
    "MissingToolError",
    "Run",
    "Table",
    "TautError",
    "Trial",
    "__version__",
    "explain",
    "load",
    "run",
    "trim",
]

_MODULE_OF = {
    "InputError": "taut.core.errors",
    "MissingToolError": "taut.core.errors",
    "Run": "taut.api.loaded",
    "Table": "taut.api.table",
    "TautError": "taut.core.errors",
    "Trial": "taut.api.loaded",
    "explain": "taut.api.explaining",
    "load": "taut.api.loaded",
    "run": "taut.api.measuring",
    "trim": "taut.api.trimming",
}


class _Package(ModuleType):
    """The package, in which `explain` and `trim` stay functions though folders have these names."""

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute; what imports taut/trim/ would put it in the function's place."""
        if name not in _MODULE_OF or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


if not TYPE_CHECKING:

    def __getattr__(name):
        """Import one of the names of __all__. AttributeError: there is no such name."""
        if name == "__version__":
            from taut.core.version import taut_version

            return taut_version()
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_MODULE_OF[name]), name)

    def __dir__():
        return sorted({*globals(), *__all__})


sys.modules[__name__].__class__ = _Package

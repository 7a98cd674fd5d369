"""What `import taut` offers: runs as tables, measuring, explaining, trimming (docs/api.md).

Commands call the same functions below their options; `taut/__init__.py` names what is public.
"""

from typing import Any, TypeAlias

Document: TypeAlias = dict[str, Any]
"""A document as json.load gives it: its keys stand in docs, not in types."""

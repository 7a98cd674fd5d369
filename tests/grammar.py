"""The cases of tests/data/grammar.txt, which the data plane's unit tests go through as well."""

import re
from pathlib import Path

_CASES = Path(__file__).parent / "data/grammar.txt"
_LINE = re.compile(r'(\w+) "(.*)" +(.*)')


def cases(kind: str) -> list[tuple[str, str | None]]:
    """Each text of one kind and what it means; None: it must be refused."""
    lines = (_LINE.fullmatch(line) for line in _CASES.read_text().splitlines())
    found = [(line[2], line[3]) for line in lines if line is not None and line[1] == kind]
    assert len(found) > 10, kind
    return [(text, None if meaning == "refused" else meaning) for text, meaning in found]

"""What `import taut` promises: its names, its documents, and that it costs a command nothing."""

import re
import subprocess
import sys
from inspect import getmembers
from pathlib import Path

import pytest

import taut

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/api.md").read_text()
ROWS = re.findall(r"^\| `taut\.(\w+)` \| (.*) \|$", PAGE, re.MULTILINE)


def test_the_page_has_every_public_name_and_no_other() -> None:
    assert [name for name, _ in ROWS if name not in taut.__all__] == []
    assert sorted(name for name, _ in ROWS) == sorted(taut.__all__)


@pytest.mark.parametrize("kind", [taut.Run, taut.Trial, taut.Table])
def test_the_page_has_what_is_public_of_each_class_and_no_more(kind: type) -> None:
    said = re.findall(r"`(\w+)`", dict(ROWS)[kind.__name__])

    has = {name for name, _ in getmembers(kind)} | set(kind.__dataclass_fields__)  # type: ignore[attr-defined]

    assert set(said) == {name for name in has if not name.startswith("_")}


def test_every_public_name_is_there_and_others_are_not() -> None:
    assert all(getattr(taut, name) is not None for name in taut.__all__)
    assert set(taut.__all__) <= set(dir(taut))
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        taut.lod  # type: ignore[attr-defined]  # noqa: B018


def test_functions_named_as_folders_stay_functions() -> None:
    code = "import taut, taut.explain.trial, taut.trim.trim; print(taut.explain, taut.trim)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.stdout.startswith("<function explain"), done.stderr
    assert "<function trim" in done.stdout


def test_importing_the_package_imports_nothing_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import taut;"
        "print(sorted(set(sys.modules) - before))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.stdout.strip() in ("['taut']", "['taut', 'types']"), done.stderr

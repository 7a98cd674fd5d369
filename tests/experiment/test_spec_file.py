"""The file of an experiment: where it is not, what is said of where others are."""

from pathlib import Path

import pytest

from taut.core.errors import InputError
from taut.experiment import spec


@pytest.mark.parametrize(
    ("is_clone", "is_there", "said"),
    [
        (True, True, "examples/ has experiments to start from"),
        (False, True, "{folder} has experiments to start from"),
        (False, False, "`taut init` writes one"),
    ],
    ids=["clone", "package", "wheel"],
)
def test_a_missing_file_is_named_and_where_there_are_some(
    is_clone: bool, is_there: bool, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("." if is_there else "none")
    monkeypatch.setattr(spec, "is_clone", lambda: is_clone, raising=False)
    monkeypatch.setattr(spec, "EXAMPLES_OF_PACKAGE", folder, raising=False)
    missing = tmp_path / "nothing.toml"

    with pytest.raises(InputError) as caught:
        spec.read_spec_text(missing)

    assert str(caught.value) == f"{missing}: no such file; {said.format(folder=folder)}"

import json
from pathlib import Path

import pytest

from taut.core.files import write_json


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"n": 1})

    with pytest.raises(TypeError):
        write_json(path, {"n": object()})

    assert json.loads(path.read_text()) == {"n": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]

import json
from pathlib import Path

import pytest

from taut.core.files import write_json, write_whole


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"n": 1})

    with pytest.raises(TypeError):
        write_json(path, {"n": object()})

    assert json.loads(path.read_text()) == {"n": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_text_of_any_bytes_is_written_as_it_was_read(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", b"\xff \xc3\xa9\n".decode(errors="surrogateescape"))

    assert (tmp_path / "a").read_bytes() == b"\xff \xc3\xa9\n"

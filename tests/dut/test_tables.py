"""What a network function of one's own prints does not stand in the way of what taut asks."""

from pathlib import Path

import pytest

from taut.dut import tables


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "taut-forward"
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    monkeypatch.setattr(tables, "find_binary", lambda _: path)
    return path


@pytest.mark.parametrize("printed", ["69\\n", "mine: loaded\\n69\\n", "mine \\377\\n69\\n\\n \\n"])
def test_the_last_line_is_the_memory(program: Path, printed: str) -> None:
    program.write_text(f"#!/bin/sh\nprintf '{printed}'\n")

    assert tables.memory_of(["./mine.so"]) == (69, None)


@pytest.mark.parametrize("printed", ["mine: loaded69\\n", "69\\nmine: done\\n", ""])
def test_without_a_number_there_the_function_is_named(program: Path, printed: str) -> None:
    program.write_text(f"#!/bin/sh\nprintf '{printed}'\n")

    memory, why = tables.memory_of(["./mine.so:port=5", "null"])

    assert memory == 0
    assert why is not None
    assert why.startswith("nf ./mine.so:port=5 null: ")
    assert "standard error" in why
    assert "\n" not in why

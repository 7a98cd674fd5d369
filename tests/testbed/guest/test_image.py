"""How an image is made, and what is said where it cannot be."""

from pathlib import Path

import pytest

from taut.core.errors import TautError
from taut.testbed.guest import image

CPIO = "#!/bin/sh\necho some >&2\necho 'cpio: write error: No space left on device' >&2\nexit 2\n"


def test_an_archive_that_does_not_fit_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpio").write_text(CPIO)
    (tmp_path / "cpio").chmod(0o755)
    (tmp_path / "root").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")

    with pytest.raises(TautError) as raised:
        image.pack(tmp_path / "root", tmp_path / "image")

    assert str(raised.value) == (
        f"guest: {tmp_path}/image: not made: cpio: write error: No space left on device; is its "
        "disk full?"
    )

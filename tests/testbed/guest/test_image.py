"""How an image is made, and what is said where it cannot be."""

import os
import signal
from pathlib import Path

import pytest

from taut.core.errors import TautError
from taut.testbed.guest import image
from taut.testbed.guest.kernel import Kernel

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


def test_what_a_kill_left_of_an_image_goes_when_the_next_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, cache = tmp_path / "programs", tmp_path / "cache"
    for folder in (programs, cache):
        folder.mkdir()
    for name in (*image.PROGRAMS, "busybox"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr(image, "find_binary", lambda name: programs / name)
    monkeypatch.setattr(image, "_plug_ins", list)
    monkeypatch.setattr(image, "linked", lambda _: [])
    kernel = Kernel("amd64", "6.1.0", tmp_path / "vmlinuz", tmp_path / "config", ())

    def killed(*_: Path) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def packed(_: Path, new: Path) -> Path:
        new.write_text("whole")
        return new

    maker = os.fork()
    if maker == 0:
        try:
            monkeypatch.setattr(image, "pack", killed)
            image.base_image(kernel, cache)
        finally:
            os._exit(1)
    os.waitpid(maker, 0)
    assert list(cache.iterdir()) != []

    monkeypatch.setattr(image, "pack", packed)
    made = image.base_image(kernel, cache)

    assert made.read_text() == "whole"
    assert list(cache.iterdir()) == [made]

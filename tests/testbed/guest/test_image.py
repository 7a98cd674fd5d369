"""How an image is made, and what is said where it cannot be."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from taut.core.errors import TautError
from taut.testbed.guest import image
from taut.testbed.guest.kernel import Kernel

needs_tools = pytest.mark.skipif(
    image.missing_tools() is not None, reason=str(image.missing_tools())
)
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


@needs_tools
def test_a_file_behind_links_is_found_by_the_path_that_was_given(tmp_path: Path) -> None:
    """Of folders as of the file itself, to relative and absolute places."""
    real = tmp_path / "data/rules"
    real.mkdir(parents=True)
    (real / "told.txt").write_text("drop\n")
    (real / "latest").symlink_to("told.txt")
    (tmp_path / "near").symlink_to("data")
    (tmp_path / "far").symlink_to(real)
    files = [tmp_path / "near/rules/latest", tmp_path / "far/told.txt"]
    (tmp_path / "base.cpio").write_bytes(b"")

    made = image.with_files(tmp_path / "base.cpio", files, tmp_path)

    root = tmp_path / "guest"
    root.mkdir()
    subprocess.run(
        ["cpio", "--extract", "--quiet", "--make-directories", f"--file={made}"],
        cwd=root,
        check=True,
    )
    for file in files:
        assert in_root(root, file).read_text() == "drop\n"


@needs_tools
def test_what_a_shared_object_is_linked_with_goes_along(tmp_path: Path) -> None:
    (tmp_path / "base.cpio").write_bytes(b"")
    program = Path(sys.executable).resolve()

    image.with_files(tmp_path / "base.cpio", [program], tmp_path)

    for library in image.linked([program]):
        assert in_root(tmp_path / "overlay", library).is_file()
    assert image.linked([program])


@needs_tools
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs cc")
def test_a_library_of_a_folder_of_its_own_is_where_a_guest_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guest's loader knows none of the host's folders, but those that every loader has."""
    own = tmp_path / "own libraries"
    own.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(own))
    Path("own.c").write_text("int own(void) { return 1; }")
    Path("f.c").write_text("int own(void); int f(void) { return own(); }")
    library = own / "libtaut_own.so"
    subprocess.run(["cc", "-shared", "-fPIC", "own.c", "-o", library], check=True)
    words = ["f.c", "-o", "f.so", f"-L{own}", "-ltaut_own"]
    subprocess.run(["cc", "-shared", "-fPIC", *words], check=True)
    (tmp_path / "base.cpio").write_bytes(b"")

    image.with_files(tmp_path / "base.cpio", [tmp_path / "f.so"], tmp_path)

    there = in_root(tmp_path / "overlay", Path("/usr/lib/libtaut_own.so"))
    assert there.read_bytes() == library.read_bytes()


def test_a_busybox_that_is_linked_has_its_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's package busybox is; the kernel panics where /init's loader finds no library."""
    programs = made_programs(tmp_path, monkeypatch)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    linked_one = Path(sys.executable).resolve()
    shutil.copy(linked_one, programs / "busybox")
    packed: list[Path] = []

    def pack(root: Path, new: Path) -> Path:
        packed.extend(path for path in root.rglob("*") if path.is_file())
        new.touch()
        return new

    monkeypatch.setattr(image, "pack", pack)
    image.base_image(Kernel("6.1.0", tmp_path / "vmlinuz", tmp_path / "config", ()), tmp_path)

    wanted = {path.name for path in image.linked([linked_one])}
    assert wanted
    assert wanted <= {path.name for path in packed}


def made_programs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have taut's programs and busybox be scripts in a folder, and a plug-in; give it."""
    programs = folder / "programs"
    programs.mkdir()
    for name in (*image.PROGRAMS, "busybox"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    monkeypatch.setattr(image, "find_binary", lambda name: programs / name)
    monkeypatch.setattr(image, "_plug_ins", lambda: [programs / image.PROGRAMS[0]])
    return programs


def in_root(root: Path, path: Path) -> Path:
    """Give what a path leads to for who has `root` as his root."""
    found = root
    for name in path.parts[1:]:
        found /= name
        if found.is_symlink():
            pointed = found.readlink()
            found = in_root(root, Path("/", found.parent.relative_to(root), pointed))
    return found


def test_what_a_kill_left_of_an_image_goes_when_the_next_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setenv("PATH", str(made_programs(tmp_path, monkeypatch)))
    monkeypatch.setattr(image, "linked", lambda _: [])
    kernel = Kernel("6.1.0", tmp_path / "vmlinuz", tmp_path / "config", ())

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

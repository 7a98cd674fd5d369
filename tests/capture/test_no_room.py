"""taut-match on a full disk: one line that names the file or folder without room, and status 2."""

import subprocess
from pathlib import Path

import pytest

from capture.test_agreement import PROGRAM
from made_captures import made_frame, write_as

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs taut-match: make build")


@pytest.mark.parametrize(
    "name",
    [
        "packets.bin",
        "histograms.bin",
        "ingress_keys.bin",
        "egress_keys.bin",
        "ingress_heads.bin",
        "match.json",
    ],
)
def test_the_place_that_is_full_is_named(tmp_path: Path, name: str) -> None:
    paths = [
        write_as(tmp_path, "pcap", [made_frame(1_000_000 * i, i, side) for i in range(9)], stem)
        for side, stem in enumerate(("in", "out"))
    ]
    out = tmp_path / "results"
    out.mkdir()
    (out / name).symlink_to("/dev/full")

    done = subprocess.run(
        [str(PROGRAM), *map(str, paths), "--out", str(out), "--packets", "--keys", "--heads"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    (out / name).unlink()  # JSON that tests leave is read, and this has no end

    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.removeprefix("taut-match: ").startswith(str(out))
    assert "No space left on device; make room" in line

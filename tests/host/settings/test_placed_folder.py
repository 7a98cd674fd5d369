from pathlib import Path

from host_tree import TreeWriter, put, tree
from taut.host.settings import PlacedFolder

FOLDER = PlacedFolder("/etc/tuned/taut")


def test_an_empty_folder_goes(tmp_path: Path) -> None:
    host = tree(tmp_path, {})
    (tmp_path / "etc/tuned/taut").mkdir(parents=True)

    assert FOLDER.read(host) == "empty"
    FOLDER.write(TreeWriter(host), None)

    assert FOLDER.read(host) is None


def test_a_folder_somebody_uses_stays(tmp_path: Path) -> None:
    host = tree(tmp_path, {})
    put(tmp_path, "/etc/tuned/taut/mine", "")

    FOLDER.write(TreeWriter(host), None)

    assert FOLDER.agrees(FOLDER.read(host), None)
    assert host.read("/etc/tuned/taut/mine") == ""

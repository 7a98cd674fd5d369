from pathlib import Path

import pytest

from check_rows import BY_ID
from host_tree import POLL, TreeWriter, snapshot, tree
from taut.core.errors import InputError
from taut.host.apply import Wish, apply_changes
from taut.host.boot_files import boot_files, check_forms, forms_here, placements
from taut.host.check import Profile
from taut.host.host import Host
from taut.host.journal import Journal
from taut.host.undo import undo

CHECK = BY_ID["R06"]
FILES = {
    "/proc/sys/vm/stat_interval": "1\n",
    "/proc/cmdline": "root=/dev/sda1\n",
    "/etc/default/grub": "",
    "/run/systemd/system/kept": "",
    "/etc/sysctl.d/kept": "",
}
SYSCTL = "/etc/sysctl.d/90-taut.conf"


def files_of(host: Host, *forms: str, only: list[str] | None = None) -> dict[str, dict[str, str]]:
    found = boot_files(
        host,
        POLL,
        Profile.RECOMMENDED,
        checks=[CHECK],
        program="/opt/taut",
        forms=forms,
        only=only,
    )
    return {form: dict(texts) for form, texts in found.items()}


def test_a_host_gets_the_forms_it_reads(tmp_path: Path) -> None:
    assert forms_here(tree(tmp_path, FILES)) == ["grub", "systemd"]


def test_a_host_with_boot_loader_entries_gets_those(tmp_path: Path) -> None:
    assert forms_here(tree(tmp_path, {"/boot/loader/entries/a.conf": "options quiet\n"})) == ["bls"]


def test_what_checks_want_at_boot_is_in_the_files(tmp_path: Path) -> None:
    assert "vm.stat_interval = 120" in files_of(tree(tmp_path, FILES))["systemd"][SYSCTL]


def test_only_what_is_named_is_in_the_files(tmp_path: Path) -> None:
    files = files_of(tree(tmp_path, FILES), only=["K23"])["systemd"]

    assert SYSCTL not in files
    assert "--only K23 --yes" in files["/etc/systemd/system/taut-host-apply.service"]


def test_placed_files_and_their_folders_are_undone(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    before = snapshot(tmp_path)
    wishes = [Wish("boot", change) for change in placements(files_of(host))]

    report = apply_changes(host, TreeWriter(host), wishes)
    assert report.is_good
    assert host.is_there(SYSCTL)
    journal = Journal(host)
    with journal.locked():
        assert undo(host, TreeWriter(host), journal).is_good

    own = str(tmp_path / "var")
    after = {path: text for path, text in snapshot(tmp_path).items() if not path.startswith(own)}
    assert after == before
    assert not host.is_there("/etc/systemd")


def test_texts_for_a_guest_are_not_placed() -> None:
    with pytest.raises(InputError, match="host of a guest"):
        placements({"guest": {"/etc/taut/guest.xml": ""}})


def test_two_forms_that_write_one_file_differently_are_refused() -> None:
    with pytest.raises(InputError, match="both write /a"):
        placements({"tuned": {"/a": "1"}, "systemd": {"/a": "2"}})


def test_a_form_there_is_not_is_refused() -> None:
    with pytest.raises(InputError, match="no boot form 'lilo'"):
        check_forms(["lilo"])

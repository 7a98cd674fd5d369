"""What becomes of a namespace that is no whole one."""

import errno
from pathlib import Path

import pytest
from pyroute2 import netns

from taut.core.errors import TrialError
from taut.testbed import netlink
from taut.testbed.scope import RunScope


def test_a_namespace_that_cannot_be_made_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half_made(name: str) -> None:
        (tmp_path / name).touch()
        raise OSError(errno.ENOSPC, "unshare failed")

    monkeypatch.setattr(netlink, "NETNS_FOLDER", tmp_path)
    monkeypatch.setattr(netns, "create", half_made)

    with pytest.raises(TrialError, match=r"taut-ab12-gen: unshare failed: .*max_net_namespaces"):
        netlink.create_namespace("taut-ab12-gen")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.root
def test_a_file_that_names_no_namespace_goes_with_its_run(tmp_path: Path) -> None:
    netlink.NETNS_FOLDER.mkdir(exist_ok=True)
    scope = RunScope(tmp_path)
    half_made = netlink.NETNS_FOLDER / f"taut-{scope.id}-gen"
    try:
        with scope:
            half_made.touch(mode=0)

        assert not half_made.exists()
        assert not scope.folder.exists()
    finally:
        half_made.unlink(missing_ok=True)

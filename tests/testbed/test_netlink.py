"""Namespaces that are no whole ones, and links that this kernel does not make."""

import errno
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from pyroute2 import netns
from pyroute2.netlink.exceptions import NetlinkError

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


def test_a_namespace_that_somebody_else_removes_meanwhile_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_: str) -> list[str]:
        (tmp_path / "taut-ab12-gen").unlink()
        raise FileNotFoundError

    (tmp_path / "taut-ab12-gen").touch()
    monkeypatch.setattr(netlink, "NETNS_FOLDER", tmp_path)
    monkeypatch.setattr(netlink, "links", gone)
    monkeypatch.setattr(netns, "remove", lambda name: (tmp_path / name).unlink())

    netlink.remove_namespace("taut-ab12-gen")


def test_a_link_that_is_gone_has_no_counters_and_is_named() -> None:
    assert netlink.link_counters("lo").keys() >= {"rx_packets", "tx_dropped"}
    with pytest.raises(TrialError, match=r"^link ttd7: it is gone, and what it counted with it; "):
        netlink.link_counters("ttd7")


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


@pytest.mark.parametrize(
    "make",
    [
        lambda: netlink.add_veth("ttab12g0", "taut-ab12-gen", "ttab12d0", "taut-ab12-dut"),
        lambda: netlink.add_bridge("br0", "taut-ab12-dut", {}),
    ],
    ids=["veth", "bridge"],
)
def test_a_link_that_this_kernel_does_not_make_is_named_with_the_remedy(
    make: Callable[[], None], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    class Refusing:
        """A kernel whose modules are of another release."""

        def link(self, *_: object, **__: object) -> None:
            raise NetlinkError(errno.EOPNOTSUPP)

    monkeypatch.setattr(netlink, "_opened", lambda _: nullcontext(Refusing()))

    with pytest.raises(TrialError) as raised:
        make()

    assert str(raised.value) == (
        f"{request.node.callspec.id}: the kernel makes none (Operation not supported); load its "
        "module, or boot the kernel that is installed"
    )

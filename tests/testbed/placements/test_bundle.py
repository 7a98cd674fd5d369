"""What a container is told to be (config.json), as the runtime's specification has it."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taut.testbed import control_groups, oci_bundle
from taut.testbed.oci_bundle import Bundle, path_in, write_bundle
from taut.testbed.placements.container import ContainerOptions

BUNDLE = Bundle(
    argv=["taut-forward", "--core", "1"],
    environment={"TAUT_RUN": "ab12"},
    root=None,
    read=[Path("/opt/rules")],
    written=[Path("/run/taut/ab12")],
    capabilities=["CAP_NET_RAW"],
    netns=None,
    cgroup="/taut-ab12-c1",
    cpus="0-1",
)


def config_of(folder: Path, bundle: Bundle = BUNDLE) -> dict[str, Any]:
    write_bundle(folder / "c", bundle)
    config: dict[str, Any] = json.loads((folder / "c" / "config.json").read_text())
    return config


def test_a_container_has_the_rights_it_is_given_and_no_way_to_others(tmp_path: Path) -> None:
    process = config_of(tmp_path)["process"]

    assert process["capabilities"] == {
        kind: ["CAP_NET_RAW"] for kind in ("bounding", "effective", "permitted")
    }
    assert process["noNewPrivileges"] is True
    assert process["env"] == ["TAUT_RUN=ab12"]


def test_it_writes_in_its_own_folders_alone(tmp_path: Path) -> None:
    config = config_of(tmp_path)

    bound = {m["destination"]: m["options"] for m in config["mounts"] if m["type"] == "none"}
    assert config["root"]["readonly"] is True
    assert [where for where, options in bound.items() if "rw" in options] == ["/run/taut/ab12"]
    assert {"/usr", "/opt/rules"} <= bound.keys()


@pytest.mark.parametrize("root", [None, "image"])
def test_what_is_mounted_below_what_it_reads_is_read_only_too(
    tmp_path: Path, root: str | None
) -> None:
    """Of a folder: there is nothing below a file, of which crun 1.8 takes no `rro`."""
    image, folder, file = (tmp_path / name for name in ("image", "told", "told/file"))
    for path in (image / "usr", folder):
        path.mkdir(parents=True)
    file.touch()
    bundle = replace(BUNDLE, root=None if root is None else image, read=[folder, file])
    config = config_of(tmp_path, bundle)

    bound = {m["destination"]: m["options"] for m in config["mounts"] if m["type"] == "none"}
    for where in ("/usr", str(folder)):
        assert {"rbind", "ro", "rro"} <= set(bound[where])
    assert {"ro", "rro"} & set(bound[str(file)]) == {"ro"}
    assert not {"ro", "rro"} & set(bound["/run/taut/ab12"])


def test_a_root_of_ones_own_gets_nothing_of_the_host(tmp_path: Path) -> None:
    image = tmp_path / "image"
    (image / "usr/bin").mkdir(parents=True)
    config = config_of(tmp_path, replace(BUNDLE, root=image))

    bound = {m["destination"]: m["source"] for m in config["mounts"] if m["type"] == "none"}
    assert bound == {
        "/usr": str(image / "usr"),
        "/opt/rules": "/opt/rules",
        "/run/taut/ab12": "/run/taut/ab12",
    }


def test_mount_points_that_a_root_lacks_are_made_in_the_bundle(tmp_path: Path) -> None:
    """Also behind links; a folder in which nothing is missing is bound as a whole."""
    image = tmp_path / "image"
    for folder in ("opt/other", "usr/bin", "var/home", "data/there", "proc"):
        (image / folder).mkdir(parents=True)
    (image / "home").symlink_to("var/home")
    (image / "far").symlink_to("/data")
    read = [Path(path) for path in ("/opt/rules", "/home/me/x", "/far/absent", "/far/there")]
    config = config_of(tmp_path, replace(BUNDLE, root=image, read=read, written=[]))

    bound = [m["destination"] for m in config["mounts"] if m["type"] == "none"]
    assert bound[:-4] == ["/data/there", "/opt/other", "/usr"]
    assert set(bound[-4:]) == {str(path) for path in read}
    rootfs = tmp_path / "c/rootfs"
    assert {str(path.relative_to(rootfs)) for path in rootfs.rglob("*")} == {
        *("data", "far", "home", "opt", "var", "var/home")
    }


@pytest.mark.parametrize("netns", [None, Path("/run/netns/taut-ab12-dut")])
def test_it_is_in_the_network_namespace_of_its_link_or_one_with_nothing(
    tmp_path: Path, netns: Path | None
) -> None:
    linux = config_of(tmp_path, replace(BUNDLE, netns=netns))["linux"]

    [network] = [space for space in linux["namespaces"] if space["type"] == "network"]
    assert network.get("path") == (None if netns is None else str(netns))


@pytest.mark.parametrize(("nice", "shares"), [(0, 1024), (-20, 88_818), (19, 15)])
def test_its_share_of_a_core_is_that_of_tauts_nice_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nice: int, shares: int
) -> None:
    monkeypatch.setattr(os, "getpriority", lambda _which, _who: nice)
    monkeypatch.setattr(oci_bundle, "is_unified", lambda: False)

    assert config_of(tmp_path)["linux"]["resources"]["cpu"] == {"cpus": "0-1", "shares": shares}


def test_in_a_unified_hierarchy_the_kernel_takes_the_nice_value_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runtimes make of `shares` there is not the weight that was meant."""
    monkeypatch.setattr(os, "getpriority", lambda _which, _who: -7)
    monkeypatch.setattr(oci_bundle, "is_unified", lambda: True)

    resources = config_of(tmp_path)["linux"]["resources"]

    assert resources["cpu"] == {"cpus": "0-1"}
    assert resources["unified"] == {"cpu.weight.nice": "-7"}


@pytest.mark.parametrize(
    ("mounted", "is_unified"),
    [
        ("cgroup2 /sys/fs/cgroup cgroup2", True),
        ("tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2", False),
    ],
)
def test_a_hybrid_hierarchy_is_of_version_1(tmp_path: Path, mounted: str, is_unified: bool) -> None:
    (tmp_path / "mounts").write_text(f"{mounted} rw 0 0\n")

    assert control_groups.is_unified(tmp_path / "mounts") == is_unified


def test_without_root_it_has_a_user_namespace_and_no_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getegid", lambda: 1001)

    linux = config_of(tmp_path, replace(BUNDLE, cgroup=None))["linux"]

    assert {"type": "user"} in linux["namespaces"]
    assert linux["uidMappings"] == [{"containerID": 0, "hostID": 1000, "size": 1}]
    assert linux["gidMappings"] == [{"containerID": 0, "hostID": 1001, "size": 1}]
    assert "cgroupsPath" not in linux
    assert "cpu" not in linux["resources"]


@pytest.mark.parametrize(
    ("program", "links", "is_there"),
    [
        ("sh", {"bin/sh": "/bin/in-image"}, True),  # Alpine
        ("in-image", {"usr/bin": "/bin"}, True),
        ("java", {"usr/bin/java": "/etc/java", "etc/java": "/bin/in-image"}, True),  # Debian
        ("/a/x", {"a/x": "../../../bin/in-image"}, True),
        ("x", {"bin/x": "/usr/bin/env"}, False),  # the host's
        ("x", {"bin/x": "../../../../../../../../usr/bin/env"}, False),
        ("x", {"bin/x": "/bin/y", "bin/y": "/bin/x"}, False),
        ("/a/in-image", {"a": "/"}, False),
    ],
)
def test_links_of_an_image_are_followed_as_seen_from_it(
    program: str, links: dict[str, str], is_there: bool, tmp_path: Path
) -> None:
    image = tmp_path / "image"
    (image / "bin").mkdir(parents=True)
    (image / "bin/in-image").touch()
    for name, target in links.items():
        (image / name).parent.mkdir(parents=True, exist_ok=True)
        (image / name).symlink_to(target)

    assert ContainerOptions(root=image).has_program(program) is is_there


def test_a_path_in_an_image_need_not_be_there(tmp_path: Path) -> None:
    (tmp_path / "var").symlink_to("/data")

    assert path_in(tmp_path, Path("/var/x/y")) == tmp_path / "data/x/y"

"""A device's programs in containers: real ones, where this machine can make some."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from taut.core.cpus import cpuset_cores
from taut.core.errors import TrialError
from taut.core.processes import process_start_time
from taut.testbed import cleanup
from taut.testbed.control_groups import find_groups, group_name
from taut.testbed.guest.image import linked
from taut.testbed.oci_bundle import Bundle, write_bundle
from taut.testbed.oci_runtime import find_runtime
from taut.testbed.placement import Tenant
from taut.testbed.placements.container import ContainerOptions, ContainerPlacement
from taut.testbed.process import child
from taut.testbed.program import Program
from taut.testbed.scope import RunScope
from waiting import wait_for

KIND = ContainerPlacement()
CORE = cpuset_cores()[0]
CANNOT = KIND.missing(ContainerOptions())
pytestmark = [
    pytest.mark.root,
    pytest.mark.beside,
    pytest.mark.skipif(os.geteuid() != 0, reason="control groups need root"),
    pytest.mark.skipif(CANNOT is not None, reason=str(CANNOT)),
]
RIGHTS = ("grep", "-E", "^(Cap(Prm|Eff|Bnd)|NoNewPrivs|Cpus_allowed_list)", "/proc/self/status")


@pytest.fixture
def scope(tmp_path: Path) -> Iterator[RunScope]:
    with RunScope(tmp_path / "base") as scope:
        yield scope
    assert find_groups(f"taut-{scope.id}-*") == []


def tenant_in(folder: Path, link: str = "memif") -> Tenant:
    return Tenant("command", link, cores=(CORE,), housekeeping=(), files=(), log_dir=folder)


def said_in(
    scope: RunScope, folder: Path, *argv: str, options: ContainerOptions, link: str = "memif"
) -> list[str]:
    """Give what a program prints in a container, once it has ended."""
    (folder / "logs").mkdir()
    tenant = tenant_in(folder / "logs", link)
    with KIND.entered(options, tenant, scope) as place, scope.at(place):
        words = ["sh", "-c", '"$@"; echo end; exec sleep 100', "sh", *argv]
        log = folder / "logs" / "x.log"
        with child("x", words, scope=scope, log=log, cores=[CORE]) as process:
            process.wait_ready("^end$")
        return process.tail()[:-1]


def test_it_has_no_rights_over_shared_memory_and_is_held_to_its_core(
    scope: RunScope, tmp_path: Path
) -> None:
    said = said_in(scope, tmp_path, *RIGHTS, options=ContainerOptions())

    found = dict(line.split(":\t") for line in said)
    assert {int(found[f"Cap{of}"], 16) for of in ("Prm", "Eff", "Bnd")} == {0}
    assert found["NoNewPrivs"] == "1"
    assert found["Cpus_allowed_list"] == str(CORE)


def test_over_a_kernel_link_it_has_the_rights_that_are_listed(
    scope: RunScope, tmp_path: Path
) -> None:
    said = said_in(scope, tmp_path, *RIGHTS, options=ContainerOptions(), link="veth")

    found = dict(line.split(":\t") for line in said)
    net_admin, net_raw = 12, 13  # capabilities(7)
    assert int(found["CapEff"], 16) == 1 << net_admin | 1 << net_raw
    with KIND.entered(ContainerOptions(), tenant_in(tmp_path, "veth"), scope) as place:
        assert "capabilities: CAP_NET_RAW, CAP_NET_ADMIN" in place.notes[0]


def test_it_sees_its_own_folders_and_nothing_of_others(scope: RunScope, tmp_path: Path) -> None:
    secret, told = tmp_path / "secret", tmp_path / "told"
    for path in (secret, told):
        path.write_text("x")

    look = f"for p in {secret} {told} /usr/lib /root; do test -e $p && echo $p; done; true"
    said = said_in(scope, tmp_path, "sh", "-c", look, options=ContainerOptions(mounts=(told,)))

    assert said == [str(told), "/usr/lib"]


def test_what_is_mounted_below_what_it_reads_is_read_only_too(
    scope: RunScope, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    below = told / "below"
    below.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", below], check=True)
    try:
        touch = f"for p in {told} {below}; do touch $p/x || true; done"
        options = ContainerOptions(mounts=(told,))
        said = said_in(scope, tmp_path, "sh", "-c", touch, options=options)

        assert [line for line in said if "Read-only file system" in line] == said
        assert len(said) == 2
        (below / "x").touch()
    finally:
        subprocess.run(["umount", below], check=True)


def test_its_process_is_the_hosts_to_watch_and_to_stop(scope: RunScope, tmp_path: Path) -> None:
    code = "trap 'echo bye; exit 3' INT; echo on; while :; do sleep 0.1; done"
    with (
        KIND.entered(ContainerOptions(), tenant_in(tmp_path), scope) as place,
        scope.at(place),
        child("x", ["sh", "-c", code], scope=scope, log=tmp_path / "x", cores=[CORE]) as process,
    ):
        process.wait_ready("on")
        assert os.sched_getaffinity(process.pid) == {CORE}
        assert process.pid in cleanup.run_processes(scope.id)

        assert process.stop(signal.SIGINT) == 3
        assert process.tail() == ["on", "bye"]


def test_who_handles_no_signal_ends_by_it_as_on_the_host(scope: RunScope, tmp_path: Path) -> None:
    with (
        KIND.entered(ContainerOptions(), tenant_in(tmp_path), scope) as place,
        scope.at(place),
        child("x", ["sleep", "100"], scope=scope, log=tmp_path / "x") as process,
    ):
        process.stop(signal.SIGTERM, timeout_s=60)

        assert process.describe_end() == "killed by SIGKILL"


def test_a_root_without_the_program_is_one_line(scope: RunScope, tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.mkdir()
    options = ContainerOptions(root=image)

    with (
        KIND.entered(options, tenant_in(tmp_path), scope) as place,
        scope.at(place),
        pytest.raises(TrialError) as raised,
        child("sleep", ["sleep", "1"], scope=scope, log=tmp_path / "x"),
    ):
        pass

    assert str(raised.value) == (
        f"sleep: its container did not start: no sleep in {image}, the root of its options; "
        "install it there"
    )


def image_in(folder: Path, *names: str) -> tuple[Path, list[Path]]:
    """Make an image that has nothing but some of the host's programs; give their paths, too."""
    image = folder / "image"
    programs = [Path(str(shutil.which(name))).resolve() for name in names]
    for file in (*programs, *linked(programs)):
        target = image / file.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    return image, programs


def test_a_root_without_util_linux_is_held_to_its_core_and_ends_with_taut(
    scope: RunScope, tmp_path: Path
) -> None:
    image, (shell, *_) = image_in(tmp_path, "sh", "sleep", "grep")
    last = max(os.sched_getaffinity(0))
    code = "grep -E ^Cpus_allowed_list /proc/self/status; echo end; exec sleep 1000"
    tenant = replace(tenant_in(tmp_path), housekeeping=(CORE,))
    log = tmp_path / "x"

    with (
        KIND.entered(ContainerOptions(root=image), tenant, scope) as place,
        scope.at(place),
        child("x", [shell, "-c", code], scope=scope, log=log, cores=[last]) as process,
    ):
        process.wait_ready("^end$")
        assert process.tail()[0].split()[-1] == str(last)

        status = Path(f"/proc/{process.pid}/status").read_text()
        (runtime,) = re.findall(r"^PPid:\t(\d+)$", status, re.MULTILINE)
        os.kill(int(runtime), signal.SIGKILL)
        wait_for("the program's end", lambda: process_start_time(process.pid) is None)


@pytest.mark.parametrize("argv0", ["{}/fwd", "fwd"])
def test_a_program_of_an_image_is_run_not_the_hosts_of_that_path(
    scope: RunScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv0: str
) -> None:
    """Nor is the host's folder bound over the image's, behind a link neither."""
    image, (shell, *_) = image_in(tmp_path, "sh", "sleep")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        host, inside = Path(name), image / name.lstrip("/")
        inside.parent.mkdir(parents=True)
        inside.symlink_to("/usr/local/bin")
        (image / "usr/local/bin").mkdir(parents=True)
        for folder, whose in ((host, "host"), (image / "usr/local/bin", "image")):
            script = folder / "fwd"
            script.write_text(f"#!{shell}\necho {whose}\necho end\nexec sleep 100\n")
            script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{host}:{os.environ['PATH']}")
        with (
            KIND.entered(ContainerOptions(root=image), tenant_in(tmp_path), scope) as place,
            scope.at(place),
            child("x", [argv0.format(host)], scope=scope, log=tmp_path / "x") as process,
        ):
            process.wait_ready("^end$")
            assert process.tail() == ["image", "end"]


def test_a_root_of_ones_own_stays_as_it_is(scope: RunScope, tmp_path: Path) -> None:
    """Folders that it lacks, as the one of the logs, are none of it while a program runs either."""
    image, programs = image_in(tmp_path, "sh", "sleep")
    for name in ("var", "dev", "proc", "sys", "tmp", "run"):
        (image / name).mkdir()
    (image / "var/kept").write_text("")
    before = sorted(image.rglob("*"))
    code = "test -e /var/kept && echo on; exec sleep 100"

    # Not in /tmp, which is memory of the container's own.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        told = Path(name, "told")
        told.write_text("")
        options = ContainerOptions(root=image, mounts=(told,))
        with (
            KIND.entered(options, tenant_in(Path(name)), scope) as place,
            scope.at(place),
            child("x", [programs[0], "-c", code], scope=scope, log=tmp_path / "x") as process,
        ):
            process.wait_ready("on")
            assert sorted(image.rglob("*")) == before

    assert sorted(image.rglob("*")) == before


def test_what_the_options_name_must_be_there(tmp_path: Path) -> None:
    absent = KIND.missing(ContainerOptions(root=tmp_path / "none"))
    no_runtime = KIND.missing(ContainerOptions(mounts=(tmp_path / "none",)))

    assert absent == no_runtime
    assert f"{tmp_path / 'none'}: no such file or folder; " in str(absent)


def test_no_runtime_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    assert KIND.missing(ContainerOptions()) == "no runc or crun on PATH; install the package runc"


KILLED = """
import os, signal, sys
from pathlib import Path
from taut.core.cpus import cpuset_cores
from taut.testbed.placement import Tenant
from taut.testbed.placements.container import ContainerOptions, ContainerPlacement
from taut.testbed.process import child
from taut.testbed.scope import RunScope
base, log = map(Path, sys.argv[1:])
tenant = Tenant("command", "memif", cpuset_cores()[:1], (), (), log.parent)
with RunScope(base) as scope:
    with ContainerPlacement().entered(ContainerOptions(), tenant, scope) as place, scope.at(place):
        with child("x", ["sh", "-c", "echo on; exec sleep 1000"], scope=scope, log=log) as process:
            process.wait_ready("on")
            print(process.pid, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("times", [1, pytest.param(9, marks=pytest.mark.long)])
def test_after_a_kill_nothing_is_left(tmp_path: Path, times: int) -> None:
    base = tmp_path / "base"
    for number in range(times):
        (tmp_path / f"logs{number}").mkdir()
        argv = [sys.executable, "-c", KILLED, base, tmp_path / f"logs{number}" / "x.log"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
        pid = int(done.stdout)
        wait_for("the end of the container", lambda pid=pid: process_start_time(pid) is None)

        (run_id,) = [path.name for path in base.iterdir()]
        cleanup.clean(base)

        assert list(base.iterdir()) == []
        assert find_groups(f"taut-{run_id}-*") == []
        assert cleanup.run_processes(run_id) == []


def test_a_container_that_a_kill_left_before_its_program_is_ended(tmp_path: Path) -> None:
    """As `runc create` leaves it: it has no death signal yet, nor the run's mark."""
    base = tmp_path / "base"
    with RunScope(base) as scope:
        name = group_name(scope.id, "c1")
        folder = scope.folder / name
        bundle = Bundle(
            argv=["/usr/bin/sleep", "1000"],
            environment=scope.environment,
            root=None,
            read=(),
            written=(),
            capabilities=(),
            netns=None,
            cgroup=f"/{name}",
            cpus="",
        )
        write_bundle(folder, bundle)
        pid_file = tmp_path / "pid"
        words = ["--root", scope.folder / "containers", "create", "--bundle", folder]
        with (tmp_path / "log").open("w") as log:
            command = [str(find_runtime(None)), *words, "--pid-file", pid_file, name]
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True)
        pid = int(pid_file.read_text())
        assert cleanup.run_processes(scope.id) == []

        cleanup.remove_run(scope.folder)

        assert find_groups(f"taut-{scope.id}-*") == []
        assert process_start_time(pid) is None
        assert not scope.folder.exists()


ROOTLESS = """
import os, sys
from pathlib import Path
from taut.core.cpus import cpuset_cores
from taut.testbed.placement import Tenant
from taut.testbed.placements.container import ContainerOptions, ContainerPlacement
from taut.testbed.process import child
from taut.testbed.scope import RunScope
core = cpuset_cores()[0]
folder = Path(sys.argv[1])
os.environ["TMPDIR"] = str(folder)
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
why = ContainerPlacement().missing(ContainerOptions())
assert why is None, why
tenant = Tenant("command", "memif", (core,), (), (), folder)
code = "id -u; cat /proc/self/uid_map; echo end; exec sleep 100"
with RunScope(folder / "base") as scope:
    with ContainerPlacement().entered(ContainerOptions(), tenant, scope) as place, scope.at(place):
        log = folder / "x.log"
        with child("x", ["sh", "-c", code], scope=scope, log=log, cores=[core]) as process:
            process.wait_ready("end")
            assert os.sched_getaffinity(process.pid) == {core}
            print(process.tail(), place.notes)
assert list((folder / "base").iterdir()) == []
"""


def test_without_root_it_is_a_user_of_its_own(tmp_path: Path) -> None:
    folder = Path("/tmp") / f"rootless-{os.getpid()}"
    folder.mkdir(mode=0o700)
    os.chown(folder, 65534, 65534)
    try:
        argv = [sys.executable, "-c", ROOTLESS, folder]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)

    if "user namespaces" in done.stderr:
        pytest.skip("cannot make a container here without root: user namespaces are off")
    assert done.returncode == 0, done.stderr
    assert "['0', " in done.stdout
    assert "0      65534          1" in done.stdout
    assert "rootless: no control group of its own" in done.stdout


def test_a_program_is_what_the_driver_asked_for(scope: RunScope, tmp_path: Path) -> None:
    argv = ("sh", "-c", "pwd; echo $WORD; echo end; exec sleep 100")
    asked = Program("x", argv, tmp_path / "x.log", environment={"WORD": "told"})

    with (
        KIND.entered(ContainerOptions(), tenant_in(tmp_path), scope) as place,
        place.started(asked) as process,
    ):
        process.wait_ready("end")

    assert process.tail() == ["/", "told", "end"]

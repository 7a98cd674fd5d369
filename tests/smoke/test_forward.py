"""taut-forward over virtual ports: it forwards, stops when told, says one line when it cannot."""

import json
import os
import platform
import re
import secrets
import select
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from forwarding import READY, TIMEOUT_S, generate, run, runtime_folders, start, stop
from taut.core.binaries import find_binary
from taut.records import layout
from waiting import wait_for, wait_until_ran

pytestmark = [pytest.mark.smoke, pytest.mark.beside]

# In proc_pid_syscall(5); machines younger than x86-64 share their numbers (asm-generic/unistd.h).
ACCEPT = "43 " if platform.machine() == "x86_64" else "202 "


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_it_with_whole_files_and_nothing_left(
    run_dir: Path, tmp_path: Path, number: signal.Signals
) -> None:
    gaps, stats = tmp_path / "gaps.bin", tmp_path / "stats.json"
    process = start(
        *("--port", "memif:a", "--port", "ring:b"), "--gaps", str(gaps), "--stats", str(stats)
    )

    wait_until_ran(process.pid)  # into the loop
    stop(process, number)

    assert process.returncode == 0
    document = json.loads(stats.read_text())
    assert document["stop"] == "signal"
    assert document["iterations"] > 0
    header = np.frombuffer(gaps.read_bytes(), layout.FILE_HEADER, count=1)[0]
    records = np.frombuffer(gaps.read_bytes(), layout.GAP, offset=layout.FILE_HEADER.itemsize)
    kept = document["gaps"]["n"] - document["gaps"]["not_logged"]
    assert header["n_records"] == len(records) == kept
    assert (records["end_tsc"] > records["start_tsc"]).all()
    assert (records["thread"] == 1).all()
    assert not list(run_dir.iterdir())
    assert not list(runtime_folders())


def test_a_signal_ends_it_while_a_port_waits_for_its_peer(tmp_path: Path) -> None:
    socket_path = tmp_path / "virtio.sock"
    argv = [find_binary("taut-forward"), "--port", f"virtio:{socket_path}"]
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
    try:
        call = Path(f"/proc/{process.pid}/syscall")
        wait_for("its accept()", lambda: call.read_text().startswith(ACCEPT), TIMEOUT_S)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=TIMEOUT_S)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "refused" not in said


@pytest.mark.parametrize("transmit", ["eager", "single", "buffered:32,100us"])
def test_every_packet_of_the_generator_comes_through(
    run_dir: Path, tmp_path: Path, transmit: str
) -> None:
    stats = tmp_path / "stats.json"
    process = start(
        *("--port", "memif:a", "--port", "memif:b", "--nf", "null", "--transmit", transmit),
        *("--stats", str(stats)),
    )

    sent = generate(tmp_path / "out", "memif:a", "memif:b")["counters"]
    stop(process)

    ports = json.loads(stats.read_text())["ports"]
    assert sent["sent"] > 0
    assert ports[0]["rx"] == sent["sent"]
    assert ports[1]["tx"] == sent["matched"] + sent["late"]
    assert ports[1]["tx"] + ports[1]["tx_refused"] == ports[0]["rx"]


def test_delay_holds_each_packet_at_least_its_time(run_dir: Path, tmp_path: Path) -> None:
    process = start("--port", "memif:a", "--port", "memif:b", "--nf", "delay:time=200us")

    summary = generate(tmp_path / "out", "memif:a", "memif:b")
    stop(process)

    data = (tmp_path / "out" / "packets.bin").read_bytes()
    packets = np.frombuffer(data, layout.PACKET, offset=layout.FILE_HEADER.itemsize)
    arrived = packets[(packets["received_tsc"] > 0) & (packets["sent_tsc"] > 0)]
    latency_ns = (arrived["received_tsc"] - arrived["sent_tsc"]) * 1e9 / summary["clock"]["tsc_hz"]
    assert len(arrived) > 0
    assert latency_ns.min() >= 200_000


def test_duration_ends_it(run_dir: Path) -> None:
    done = run("--port", "ring:a", "--duration", "100ms", "--stats", "-")

    assert done.returncode == 0
    assert json.loads(done.stdout.removeprefix(READY))["stop"] == "duration"


def test_it_ends_in_peace_when_dpdks_interrupt_thread_runs_late(run_dir: Path) -> None:
    # EAL's thread is woken when a port is closed; on the core of the thread that closes, and not
    # preempting it, it runs after that one has gone on. Up to one such end in five was a crash.
    assert run_dir.is_dir()
    core = min(os.sched_getaffinity(0))
    for _ in range(12):
        process = start(
            "--port", "memif:a", "--port", "memif:b", "--core", str(core), "--", "--no-huge"
        )
        for thread in Path(f"/proc/{process.pid}/task").iterdir():
            if (thread / "comm").read_text().strip() == "eal-intr-thread":
                os.sched_setaffinity(int(thread.name), {core})
                os.sched_setscheduler(int(thread.name), os.SCHED_BATCH, os.sched_param(0))
        stop(process)


def test_killed_run_leaves_a_socket_and_a_folder_that_the_next_removes(run_dir: Path) -> None:
    process = start("--port", "memif:a", "--port", "memif:b")
    process.kill()
    process.communicate()
    assert (run_dir / "a.sock").exists()

    process = start("--port", "memif:a", "--port", "memif:b")
    stop(process)

    assert process.returncode == 0
    assert not list(runtime_folders())


def test_a_client_is_ready_when_its_server_has_answered(run_dir: Path) -> None:
    """What came before that would be lost."""
    server = start("--port", "memif:a")
    os.kill(server.pid, signal.SIGSTOP)
    argv = [str(find_binary("taut-forward")), "--port", "memif:a,role=client"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
        assert client.stdout is not None
        wait_for("its connection", lambda: n_sockets(run_dir / "a.sock") > 1)
        before, _, _ = select.select([client.stdout], [], [], 1)
        os.kill(server.pid, signal.SIGCONT)
        line = client.stdout.readline()
        client.terminate()
    stop(server)

    assert before == []
    assert line == READY.encode()


def n_sockets(path: Path) -> int:
    """How many are bound to a path: the one that listens, and those that it has given."""
    return Path("/proc/net/unix").read_text().count(f" {path}\n")


def test_socket_of_a_running_forwarder_is_in_use(run_dir: Path) -> None:
    first = start("--port", "memif:a", "--port", "memif:b")

    second = run("--port", "memif:a", "--port", "memif:c")
    stop(first)

    assert_one_line(second, "port memif:a: socket ", "in use")
    assert first.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ([], ["--port: 0 given"]),
        (["--port", "foo:x"], ["port foo:x: unknown kind of port", "memif"]),
        (["--port", "memif:x,size=3"], ["size: no such option", "rsize"]),
        (["--port", "memif:/nonexistent/x.sock"], ["folder /nonexistent", "make it"]),
        (["--port", "ring:a", "--nf", "nope"], ["--nf nope: no such network function"]),
        (["--port", "ring:a", "--nf", "./nope.so"], ["--nf ./nope.so: No such file"]),
        (["--port", "ring:a", "--nf", "delay:time=5"], ["time=5", "its unit"]),
        (["--port", "ring:a", "--nf", "delay:capacity=9999"], ["capacity 9999", "--hold"]),
        (["--port", "ring:a", "--nf", "delay", "--hold", "0"], ["capacity 0", "--hold"]),
        (["--port", "ring:a", "--nf", "bridge"], ["bridge: ports 0 and 1 wanted"]),
        (["--port", "ring:a", "--nf", "firewall:rules=/nonexistent"], ["/nonexistent: No such"]),
        (["--port", "ring:a", "--nf", "firewall:connections=0"], ["connections=0", "1 to"]),
        (["--port", "ring:a", "--transmit", "lazy"], ["--transmit lazy", "eager"]),
        (["--port", "ring:a", "--transmit", "buffered:0"], ["accepted are 1 to 256"]),
        (["--port", "virtio:a", "--wait", "nap"], ["--wait nap", "interrupt, adaptive"]),
        (["--port", "ring:a", "--burst", "257"], ["--burst 257", "1 to 256"]),
        (["--port", "ring:a", "--core", "999"], ["core 999: not a core"]),
        (["--port", "ring:a", "--core", "x"], ["--core x"]),
        (["--port", "ring:a", "--writer-core", "x"], ["--writer-core x"]),
        (["--port", "ring:a", "--writer-core", "999"], ["core 999: not a core"]),
        (["--port", "ring:a", "--duration", "5"], ["--duration 5", "its unit"]),
        (["--port", "ring:a", "--duration", "10ms", "--gaps", "/nonexistent/g"], ["/nonexistent"]),
        (["--prot", "ring:a"], ["--prot: no such option", "--help"]),
        (["--port"], ["--port: a value is missing"]),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    run_dir: Path, arguments: list[str], parts: list[str]
) -> None:
    assert_one_line(run(*arguments), *parts)


def test_a_rule_that_cannot_be_honoured_is_told_by_its_place(run_dir: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.nft"
    rules.write_text(
        "add table inet t\n"
        "add chain inet t c { type filter hook forward priority 0; policy drop; }\n"
        "add rule inet t c tcp dport 22 log accept\n"
    )

    done = run("--port", "ring:a", "--nf", f"firewall:rules={rules}")

    assert_one_line(done, f"{rules}:3:32: log: nothing is logged here", "--stats")


@pytest.mark.root
def test_missing_interface_is_named(run_dir: Path) -> None:
    assert_one_line(run("--port", "veth:nope0"), "port veth:nope0: no interface nope0", "ip link")
    assert_one_line(run("--port", "xdp:nope0"), "port xdp:nope0: no interface nope0")


@pytest.mark.root
def test_all_of_a_ring_may_be_under_way(run_dir: Path, veth_pair: tuple[str, str]) -> None:
    # With less the driver sleeps until the device took some, and never sends the last of a run.
    process = start(*(word for name in veth_pair for word in ("--port", f"veth:{name}")))
    sockets = subprocess.run(["ss", "-0mn"], check=True, capture_output=True, text=True).stdout
    stop(process, signal.SIGTERM)

    for name in veth_pair:
        [room] = re.findall(rf":{name}\b.*?,tb(\d+)", sockets, re.DOTALL)
        assert int(room) >= 1024 * 2048


@pytest.mark.alone
@pytest.mark.root
def test_interface_that_another_packet_socket_reads_is_in_use(run_dir: Path) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as other:
        other.bind(("lo", 0))
        assert_one_line(run("--port", "veth:lo"), "port veth:lo: in use", "shared=on")


@pytest.mark.alone
@pytest.mark.root
def test_without_root_memif_and_ring_work_and_veth_says_what_it_needs(tmp_path: Path) -> None:
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    binary = tmp_path_for_anyone(Path(find_binary("taut-forward")))
    # EAL's folder is in there; without it, /tmp/dpdk, which would stay.
    runtime = binary.parent / "runtime"
    runtime.mkdir()
    os.chown(runtime, 65534, 65534)
    environment = {
        "PATH": os.environ["PATH"],
        "TAUT_RUN": secrets.token_hex(2),
        "XDG_RUNTIME_DIR": str(runtime),
    }

    def run_as_nobody(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*nobody, str(binary), *arguments],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            env=environment,
            check=False,
        )

    try:
        works = run_as_nobody("--port", "memif:a", "--port", "ring:b", "--duration", "50ms")
        refused = run_as_nobody("--port", "veth:lo")
    finally:
        shutil.rmtree(binary.parent)

    assert works.returncode == 0, works.stderr
    assert "4 kB pages" in works.stderr
    assert_one_line(refused, "need root", "memif and ring do not")


def tmp_path_for_anyone(binary: Path) -> Path:
    """Copy a program to where another user may run it; a clone in /root is closed to others."""
    folder = Path("/tmp") / f"taut-smoke-{os.getpid()}-{time.monotonic_ns()}"
    folder.mkdir(mode=0o755)
    copy = folder / binary.name
    copy.write_bytes(binary.read_bytes())
    copy.chmod(0o755)
    return copy


def assert_one_line(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """Check status 2 and that the one line which is no warning has all the parts."""
    lines = [line for line in done.stderr.splitlines() if ": memory: " not in line]
    assert done.returncode == 2, done.stderr
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("taut-forward: ")
    for part in parts:
        assert part in lines[0]


def test_description_names_everything_there_is() -> None:
    document = json.loads(run("--describe").stdout)

    assert {nf["name"] for nf in document["network_functions"]} >= {
        *("null", "skeleton", "mac_swap", "bridge", "delay")
    }
    assert [policy["name"] for policy in document["transmit"]] == ["eager", "single", "buffered"]
    assert {port["name"] for port in document["ports"]} == {
        *("memif", "veth", "xdp", "ring", "null", "pci", "vhost", "virtio")
    }
    assert {option["name"] for option in document["options"]} >= {"port", "nf", "burst"}


@pytest.mark.beside
def test_check_says_what_is_wrong_and_nothing_where_nothing_is() -> None:
    good = run("--port", "ring:a", "--nf", "delay:time=5us", "--check")
    bad = run("--port", "ring:a", "--nf", "delay:time=5", "--check")

    assert (good.returncode, good.stdout, good.stderr) == (0, "", "")
    assert_one_line(bad, "time=5", "its unit")
    much = run("--port", "ring:a", "--nf", "delay:capacity=20000", "--check")
    assert_one_line(much, "capacity 20000", "--hold")
    assert_one_line(run("--port", "ring:a", "--nf", "bridge", "--memory"), "ports 0 and 1")
    lazy = run("--port", "ring:a", "--transmit", "lazy", "--check")
    assert_one_line(lazy, "--transmit lazy", "buffered")


@pytest.mark.parametrize(
    ("nf", "lines", "place"),
    [
        ("firewall:rules", "add table inet t\nadd table ip t\n", ":2:11: ip: tables"),
        ("router:routes", "blackhole 10.0.0.1/8\n", ":1:11: 10.0.0.1/8: bits behind"),
    ],
)
def test_check_reads_the_files_of_functions(
    tmp_path: Path, nf: str, lines: str, place: str
) -> None:
    file = tmp_path / "file"
    file.write_text(lines)

    assert_one_line(run("--port", "ring:a", "--nf", f"{nf}={file}", "--check"), f"{file}{place}")


def test_version_and_help_need_no_ports() -> None:
    assert run("--version").stdout.startswith("taut-forward ")
    assert "--transmit" in run("--help").stdout

"""`taut reproduce NAME --captures DIR`: pairs of files in, published beside measured out."""

import json
from pathlib import Path

import pytest

from host_idle import idle_files
from host_tree import tree
from made_captures import made_pair, pcap_bytes, plant_loss, write_capture
from taut.cli import reproduce_job
from taut.cli.main import run_command
from taut.cli.reproduce_job import left_out
from taut.core.binaries import find_binary_or_none
from taut.core.cpus import cpuset_cores
from taut.host.host import Host
from taut.reproduce.debs20 import DEBS20
from taut.reproduce.nfvi5g import NFVI5G
from taut.reproduce.nfvi18 import NFVI18

CPU = "/sys/devices/system/cpu"
DATA = Path(__file__).parents[3] / "shared/data/hipnet21"

needs_matcher = pytest.mark.skipif(
    find_binary_or_none("taut-match") is None, reason="needs taut-match: make build"
)


def write_pair(folder, name, pps, n_lost=0):
    pair = made_pair(2_000 + pps, gap_ns=10**9 // pps, latency_ns=3_000 + pps // 10)
    plant_loss(pair, n_lost)
    write_capture(folder / f"{name}-{pps}pps-pre.pcap", pcap_bytes(pair.ingress))
    write_capture(folder / f"{name}-{pps}pps-post.pcap.zst", pcap_bytes(pair.egress))


@needs_matcher
def test_each_pair_becomes_a_trial_without_its_first_second(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    write_pair(tmp_path / "in", "dpdk-l2fwd-hw", 1_000)
    write_pair(tmp_path / "in", "dpdk-l2fwd-hw", 10_000, n_lost=5)
    out = tmp_path / "out"

    status = run_command(
        [
            "reproduce",
            "hipnet21",
            "--captures",
            str(tmp_path / "in"),
            "--out",
            str(out),
            "--details",
        ]
    )

    assert status == 0
    shown = capsys.readouterr().out
    assert shown.index("At 1 kpkt/s") < shown.index("shapes as published")
    assert "10: paper, packets 300000, p50 3175" in shown
    assert "5 of 15,000" in shown
    table, _ = json.loads((out / "published.json").read_text())
    assert [row[:4] for row in table["rows"]] == [
        ["1", "here", "3000", "3100"],
        ["10", "paper", "300000", "3175"],
        ["", "here", "12000", "4000"],
        ["", "diff", "-288000", "+825"],
    ]
    results = json.loads((out / "results.json").read_text())["trials"]
    assert [trial["cold"]["due"] for trial in results] == [1_000, 10_000]


@needs_matcher
@pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data/hipnet21")
def test_the_published_captures_give_the_published_numbers(tmp_path, capsys):
    out = tmp_path / "out"

    assert run_command(["reproduce", "hipnet21", "--captures", str(DATA), "--out", str(out)]) == 0

    table, shape = json.loads((out / "published.json").read_text())
    assert table["rows"][2][2:] == ["="] * 9 + [""]
    judged = {row[0]: row[3] for row in shape["rows"]}
    assert judged["levels at 3.2, 3.4 and 4.1 µs at 10 kpkt/s"] == "yes"
    assert set(judged.values()) == {"yes", "not run"}
    assert "HiPNet 2021" in (out / "report.html").read_text(encoding="utf-8")


@needs_matcher
def test_json_is_one_document(tmp_path, capsys):
    write_pair(tmp_path, "made", 1_000)

    run_command(
        [
            "reproduce",
            "hipnet21",
            "--captures",
            str(tmp_path),
            "--json",
            "--out",
            str(tmp_path / "out"),
        ]
    )

    [trial] = json.loads(capsys.readouterr().out)["trials"]
    assert (trial["dut"], trial["asked_pps"]) == ("made", 1_000)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["debs20", "--captures", "."], "debs20 has published none"),
        (["hipnet21", "--captures", ".", "--quick"], "nothing is sent"),
        (["hipnet21", "--captures", ".", "--soak", "2h"], "nothing is sent"),
        (["hipnet21", "--captures", ".", "--live"], "nothing is sent"),
        (["hipnet21", "--captures", ".", "--wait"], "nothing is sent"),
        (["hipnet21", "--captures", "nowhere"], "nowhere: no such folder"),
    ],
)
def test_captures_that_cannot_be_are_one_line_and_2(arguments, said, capsys):
    assert run_command(["reproduce", *arguments]) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["debs20", "--soak", "2h"], "--soak: debs20 has published none; leave it out"),
        (["nfvi5g", "--soak", "2h", "--quick"], "--soak and --quick: one of them"),
        (["nfvi5g", "--soak", "2"], "duration '2': not a number with a unit"),
        (["nfvi5g", "--soak", "40h"], "longer than a day, which is the most a trial can take"),
    ],
)
def test_a_soak_that_cannot_be_is_one_line_and_2(arguments, said, capsys):
    assert run_command(["reproduce", *arguments, "--dry-run"]) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


def test_who_is_not_root_is_told_what_is_left_out(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    missing = left_out(NFVI5G, Host())

    assert list(missing) == ["trimmed"]
    assert "root" in missing["trimmed"]


def test_a_device_that_cannot_work_on_its_core_is_left_out(tmp_path, monkeypatch, capsys):
    far = cpuset_cores()[-1] + 8
    host = tree(tmp_path, {f"{CPU}/isolated": f"{far}\n"})
    monkeypatch.setattr(reproduce_job, "Host", lambda: host)
    monkeypatch.setattr(reproduce_job, "left_out", lambda *_: {})

    _, plan = reproduce_job.plan_here(DEBS20, [], quick=True)

    devices = {trial.device.name for trial in plan.trials}
    assert "linux_bridge" not in devices
    assert "eager" in devices
    assert f"without linux_bridge: core {far} is isolated at boot" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("files", "missing"),
    [({}, ["c1"]), (idle_files(limit="2"), ["c1"]), (idle_files(), [])],
    ids=["no idle states", "limited already", "deep"],
)
def test_a_depth_of_idle_that_changes_nothing_is_left_out(files, missing, tmp_path, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    found = left_out(NFVI18, tree(tmp_path, {f"{CPU}/online": "0-3\n"} | files))

    assert [name for name in found if name in NFVI18.states] == missing
    assert all("R19-now: nothing to change" in found[name] for name in missing)

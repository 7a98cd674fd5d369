"""The host's command line of taut-forward, as its guest reads it, and the way back."""

from pathlib import Path

import pytest

from taut.core.asked import check_understood
from taut.core.errors import TrialError
from taut.core.files import write_json
from taut.records.documents.json_form import read_json
from taut.records.layout import RecordKind
from taut.testbed.guest.words import put_back, translate, with_gaps_above

ASKED = {
    "port": ("virtio:/run/taut/ab12/link0.sock,role=server", "virtio:/run/taut/ab12/link1.sock"),
    "nf": ("mac_swap",),
    "core": "3",
    "writer-core": "1",
    "gaps": "/runs/logs/gaps-forwarder.bin",
    "stats": "/runs/logs/taut-forward.json",
}
ARGV = [
    "/opt/taut/bin/taut-forward",
    *("--port", ASKED["port"][0], "--port", ASKED["port"][1], "--nf", "mac_swap"),
    *("--core", "3", "--writer-core", "1", "--gaps", str(ASKED["gaps"])),
    *("--stats", str(ASKED["stats"]), "--", "--log-level", "debug"),
]


def test_ports_cores_and_files_are_the_guests_and_all_else_stays() -> None:
    words = translate(ARGV, n_cpus=2)

    assert words.argv == (
        "taut-forward",
        *("--port", "pci:0000:00:10.0", "--port", "pci:0000:00:11.0", "--nf", "mac_swap"),
        *("--core", "1", "--writer-core", "0", "--gaps", "/out/gaps", "--stats", "/out/stats"),
        *("--", "--log-level", "debug"),
    )
    assert words.sockets == (
        Path("/run/taut/ab12/link0.sock"),
        Path("/run/taut/ab12/link1.sock"),
    )
    assert [(output.guest, output.host.name, output.records) for output in words.outputs] == [
        ("/out/gaps", "gaps-forwarder.bin", RecordKind.GAP),
        ("/out/stats", "taut-forward.json", None),
    ]


def test_what_is_a_gap_is_said_where_nobody_did() -> None:
    words, own = translate(ARGV, 2), translate([ARGV[0], "--gap-threshold", "7us"], 2)

    coarse = with_gaps_above(words, "50us")

    assert coarse.argv == (words.argv[0], "--gap-threshold", "50us", *words.argv[1:])
    assert with_gaps_above(own, "50us") == own


@pytest.mark.parametrize(
    ("wait", "sleeps"), [("poll", False), ("interrupt", True), ("adaptive:50000ns", True)]
)
def test_one_that_sleeps_has_addresses_of_memory_as_they_are(wait: str, sleeps: bool) -> None:
    argv = ["taut-forward", "--port", str(ASKED["port"][0]), "--wait", wait]

    alone, with_more = translate(argv, 2), translate([*argv, "--", "--no-telemetry"], 2)

    assert (alone.sleeps, with_more.sleeps) == (sleeps, sleeps)
    physical = ("--iova-mode=pa",) if sleeps else ()
    assert alone.argv[-2:] == (("--", *physical) if sleeps else ("--wait", wait))
    assert with_more.argv[-2 - sleeps :] == ("--", "--no-telemetry", *physical)


def test_a_report_is_put_back_into_the_words_that_were_asked(tmp_path: Path) -> None:
    words = translate(ARGV, n_cpus=2)
    report = tmp_path / "taut-forward.json"
    understood = {"port": ["pci:0000:00:10.0", "pci:0000:00:11.0"], "nf": ["mac_swap"]}
    understood |= {"core": "1", "writer-core": "0", "gaps": "/out/gaps", "stats": "/out/stats"}
    write_json(report, {"core": 1, "understood": understood})

    put_back(report, words.meant)

    found = read_json(report)
    assert isinstance(found, dict)
    check_understood("taut-forward", ASKED, found["understood"])
    assert found["in_guest"] == {"core": 1}


def test_a_port_that_is_no_card_of_a_guest_is_refused() -> None:
    with pytest.raises(TrialError, match="link vhost"):
        translate(["taut-forward", "--port", "memif:/run/x.sock"], n_cpus=2)

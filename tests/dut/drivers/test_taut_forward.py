import json
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from taut.core.errors import MissingToolError
from taut.dut.drivers.taut_forward import TautForwardDriver
from taut.dut.forwarder import (
    TautForwardOptions,
    _argv,
    _asked_of,
    _described,
    _read_stats,
    _writer_core,
    refused,
)
from taut.host.situation import Waiting
from taut.records.documents.described import Described
from taut.records.documents.json_form import parse
from taut.records.documents.trial import DutStats
from taut.testbed.links import LINKS
from taut.testbed.scope import RunScope
from taut.testing.frames import LAST_CORE


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "taut-forward"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setenv("TAUT_BIN_DIR", str(tmp_path))


def test_options_become_arguments() -> None:
    ports = ("memif:d0", "memif:d1")
    options = TautForwardOptions(
        nf=("null", "delay:ns=5"),
        transmit="buffered:16",
        wait="adaptive:50us",
        burst=8,
        eal=("-x",),
    )

    asked = _asked_of(ports, (1, 0), options, Path("s.json"), Path("g.bin"))
    argv = _argv(asked, options.eal)

    assert " ".join(argv[1:]) == (
        "--port memif:d0 --port memif:d1 --nf null --nf delay:ns=5"
        " --transmit buffered:packets=16,drain=100000ns --wait adaptive:50000ns --burst 8"
        " --core 1 --gaps g.bin --stats s.json --writer-core 0 -- -x"
    )


def test_a_log_of_gaps_is_bounded_where_a_trial_is_and_no_other_experiment_by_it() -> None:
    options = TautForwardOptions()
    bounded = options.logging(10).stamping(0)

    asked = _asked_of([], (1, 0), bounded, Path("s.json"), Path("g.bin"))

    assert "--gaps g.bin --stats s.json --gaps-most 10 " in " ".join(_argv(asked, ()))
    assert "gaps-most" not in _asked_of([], (1, 0), options, Path("s"), Path("g"))
    assert bounded.model_dump() == options.model_dump()


def test_the_log_of_gaps_is_written_where_taut_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 3})

    assert _writer_core((3,)) == 2
    assert _writer_core((1,)) == 2
    # Where taut is for a moment only does not count.
    assert _writer_core((3,), own=(0,)) == 0
    assert _writer_core((3,), own=(3,)) is None


def test_a_device_that_shares_tauts_core_is_told_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1})

    core = _writer_core((1,))

    assert core is None
    asked = _asked_of([], (1, core), TautForwardOptions(), Path("s"), Path("g"))
    assert "writer-core" not in asked


def counters(folder: Path, **said: object) -> DutStats | None:
    """What is read of a forwarder that was asked for a buffer of 32 and reports this."""
    options = TautForwardOptions(transmit="buffered")
    stats = folder / "stats.json"
    asked = _asked_of([], (1, 0), options, stats, Path("g"))
    understood = {**asked, "port": [], "nf": []}
    held = {"packets": 32, "drain_ns": 100_000}
    stats.write_text(json.dumps({"transmit": "x", "understood": understood, "holds": held} | said))
    return _read_stats(stats, asked, options)


def test_counters_are_read_of_a_forwarder_that_understood(tmp_path: Path) -> None:
    stats = counters(tmp_path)

    assert stats is not None
    assert stats.transmit == "x"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"holds": None}, "asked for holds .*'packets': 32.*, understood None"),
        ({"holds": {"packets": 32, "drain_ns": 100}}, "understood .*'drain_ns': 100}"),
        ({"understood": {}}, r"asked for port \(\), understood None"),
    ],
)
def test_a_forwarder_that_did_another_thing_ends_the_run(
    tmp_path: Path, said: dict[str, Any], words: str
) -> None:
    with pytest.raises(MissingToolError, match=f"taut-forward: .*{words}"):
        counters(tmp_path, **said)


def test_a_burst_of_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="burst"):
        TautForwardOptions(burst=0)


_DESCRIBED = parse(
    Described,
    {
        "network_functions": [
            {"name": "null", "options": []},
            {"name": "delay", "options": [{"name": "time"}]},
        ],
        "transmit": [
            {"name": "eager", "options": []},
            {"name": "buffered", "options": [{"name": "packets"}, {"name": "drain"}]},
        ],
    },
    "made",
)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"nf": ("dely",)}, "nf 'dely': unknown; known are null, delay"),
        ({"nf": ("delay:tme=5us",)}, "nf delay: unknown key 'tme'; known are time"),
        ({"nf": ("null:x=1",)}, "nf null: unknown key 'x'; it has none"),
        ({"transmit": "lazy"}, "transmit 'lazy': unknown; known are eager, buffered"),
    ],
)
def test_words_the_program_does_not_know_are_refused_before_a_run(
    options: dict[str, Any], words: str
) -> None:
    assert words in str(refused(TautForwardOptions(**options), _DESCRIBED))


def test_words_the_program_knows_pass() -> None:
    options = TautForwardOptions(nf=("null", "delay:time=10us"), transmit="buffered:32,100us")

    assert refused(options, _DESCRIBED) is None


def test_a_shared_object_is_no_unknown_name() -> None:
    options = TautForwardOptions(nf=("./mine.so:port=5",))

    assert refused(options, _DESCRIBED) is None


def says(tmp_path: Path, script: str) -> str | None:
    """What is missing where the program, asked for a shared object, answers so."""
    described = json.dumps({"network_functions": [], "transmit": [{"name": "eager"}]})
    forward = f"case $1 in --describe) echo '{described}';; *) {script};; esac"
    (tmp_path / "taut-forward").write_text(f"#!/bin/sh\n{forward}\n")
    _described.cache_clear()
    try:
        return TautForwardDriver().missing(TautForwardOptions(nf=("./mine.so:port=5",)))
    finally:
        _described.cache_clear()


def test_the_program_is_asked_whether_it_loads_a_shared_object(tmp_path: Path) -> None:
    asked = "--port xdp:0 --port xdp:1 --nf ./mine.so:port=5 --memory"
    assert says(tmp_path, 'echo "$@" >&2; exit 2') == asked
    assert says(tmp_path, "echo 0") is None


def test_a_shared_object_that_kills_the_program_is_named(tmp_path: Path) -> None:
    assert "nf ./mine.so:port=5: it died" in str(says(tmp_path, "kill -SEGV $$"))


def test_shared_objects_are_seen_from_the_folder_of_the_experiment() -> None:
    given = {"nf": ["./mine.so", "null"], "burst": 8}

    assert TautForwardOptions.seen_from(Path("/x"), given) == {
        "nf": ["/x/mine.so", "null"],
        "burst": 8,
    }
    assert TautForwardOptions.seen_from(Path("/x"), {"nf": 5}) == {"nf": 5}


def test_its_files_are_shared_objects_and_what_functions_read() -> None:
    options = TautForwardOptions(nf=("./mine.so:port=5", "null", "firewall:rules=/x/fw.nft"))

    assert options.files == (Path("mine.so"), Path("/x/fw.nft"))


def test_its_device_polls() -> None:
    assert TautForwardDriver().waits(TautForwardOptions()) is Waiting.POLLS


def test_memory_of_tables_is_reserved_and_a_file_that_is_wrong_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TAUT_BIN_DIR")
    routes, driver = tmp_path / "routes", TautForwardDriver()
    options = TautForwardOptions(nf=(f"router:routes={routes}",))
    routes.write_text("blackhole 10.0.0.0/8\n")

    assert driver.missing(options) is None
    # The first level of rte_fib alone is 32 MB.
    assert driver.hugepages(options) >= driver.hugepages(TautForwardOptions()) + 16
    routes.write_text("blackhole 10.0.0.0/8\nblackhole 10.0.0.1/8\n")
    assert f"{routes}:2:11: 10.0.0.1/8: bits behind the prefix" in str(driver.missing(options))


def test_memory_of_packets_that_functions_hold_is_reserved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TAUT_BIN_DIR")
    options = TautForwardOptions(nf=("delay",), hold=65536)

    # 2624 bytes each, and as much beside as every forwarder has.
    assert TautForwardDriver().hugepages(options) >= 65536 * 2624 // (2 << 20)


@pytest.mark.smoke
@pytest.mark.beside
def test_a_trial_without_hugepages_says_so(
    scope: RunScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TAUT_BIN_DIR")
    options = TautForwardOptions(eal=("--no-huge",))

    with (
        LINKS["memif"].open(scope, 2) as links,
        TautForwardDriver().running(links, LAST_CORE, options, tmp_path, scope) as dut,
    ):
        dut.stop()

        assert any("without hugepages" in note for note in dut.notes)


def test_a_mistake_in_rules_is_told_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TAUT_BIN_DIR")
    rules, driver = tmp_path / "fw.nft", TautForwardDriver()
    options = TautForwardOptions(nf=(f"firewall:rules={rules}",))

    assert f"{rules}: No such file" in str(driver.missing(options))
    rules.write_text("add table inet t\n")
    assert driver.missing(options) is None
    rules.write_text("add table inet t\nadd table ip t\n")
    assert f"{rules}:2:11: ip: tables are of family inet here" in str(driver.missing(options))
    chain = "add table inet t\nadd chain inet t c { type filter hook forward priority 0; }\n"
    rules.write_text(chain + "add rule inet t c iifname { port1, port2 } drop\n")
    assert driver.missing(options) is None
    rules.write_text(chain + "add rule inet t c iifname != { port0, port1 } drop\n")
    assert f"{rules}:3: port2: no such port; ports are port0 to port1" in str(
        driver.missing(options)
    )

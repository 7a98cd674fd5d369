import platform
from pathlib import Path

import pytest
from pydantic import ValidationError

from forwarding import generate
from taut.dut import polling_switch
from taut.dut.drivers.chain import ChainDriver, ChainOptions
from taut.dut.forwarder import TautForwardOptions
from taut.dut.hop_ports import flows_through, joined_in_a_row
from taut.dut.installed import Found
from taut.host.host import Host
from taut.testbed.link import Link
from taut.testbed.links import LINKS
from taut.testbed.scope import RunScope
from taut.testing.frames import LAST_CORE


def test_each_hop_serves_the_next_one(tmp_path: Path) -> None:
    links = [Link("memif", f"memif:g{i}", f"memif:d{i}") for i in range(2)]
    with RunScope(tmp_path / "base") as scope, joined_in_a_row(links, 3, scope) as ports:
        folder = scope.folder

        assert ports == [
            ("memif:d0", f"memif:{folder}/hop1.sock,role=server"),
            (f"memif:{folder}/hop1.sock,role=client", f"memif:{folder}/hop2.sock,role=server"),
            (f"memif:{folder}/hop2.sock,role=client", "memif:d1"),
        ]


def test_a_switch_leads_packets_through_each_hop_in_both_directions() -> None:
    assert flows_through(2).splitlines() == [
        *("in_port=1,actions=output:3", "in_port=3,actions=output:1"),
        *("in_port=4,actions=output:5", "in_port=5,actions=output:4"),
        *("in_port=6,actions=output:2", "in_port=2,actions=output:6"),
    ]


def test_a_switch_takes_a_core_and_two_queues_of_the_generator() -> None:
    plain, switched = ChainOptions(), ChainOptions(switch="ovs_dpdk")

    assert (plain.n_cores, switched.n_cores) == (2, 3)
    assert (plain.peer_rx_queues("memif"), switched.peer_rx_queues("memif")) == (1, 2)
    # Those of the switch are lent to it.
    assert ChainDriver().hugepages(switched) == ChainDriver().hugepages(plain) > 0
    assert "it takes memif" in str(switched.refuses_link("veth"))


def test_a_switch_cannot_poll_on_a_core_that_its_dpdk_does_not_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(polling_switch, "find", lambda _: Found("/usr/sbin/ovs-vswitchd", ()))
    plain, switched = ChainOptions(), ChainOptions(switch="ovs_dpdk")

    assert "core 130: " in str(switched.refuses_cores((1, 2, 130), Host()))
    assert "core 129: " in str(switched.refuses_cores((129, 3), Host()))
    assert switched.refuses_cores((128, 129, 3), Host()) is None
    assert plain.refuses_cores((128, 129), Host()) is None


def test_hops_in_guests_want_a_switch() -> None:
    plain, switched = ChainOptions(), ChainOptions(switch="ovs_dpdk")

    assert 'give it switch = "ovs_dpdk"' in str(plain.refuses_placement("vm"))
    assert plain.refuses_placement("container") is None
    assert switched.refuses_placement("vm") is None


@pytest.mark.alone
@pytest.mark.root
def test_each_packet_passes_the_switch_once_more_than_there_are_hops(
    scope: RunScope, tmp_path: Path
) -> None:
    options = ChainOptions(switch="ovs_dpdk")
    if (lacks := ChainDriver().missing(options)) is not None:
        pytest.skip(lacks)
    scope.add_hugepages(ChainDriver().hugepages(options))

    with (
        LINKS["memif"].open(scope, 2) as links,
        ChainDriver().running(links, LAST_CORE, options, tmp_path, scope) as dut,
    ):
        ports = [link.generator_port for link in links]
        summary = generate(tmp_path / "out", *ports, "--rx-queues", "2", deadline="2s")
        counted = dut.stop()
        hops = [hop.device.stop() for hop in dut.hops]

    counters = summary["counters"]
    assert counters["lost"] == counters["late"] < counters["sent"]
    assert counted.others["in"] == 3 * counters["sent"]
    ways = sorted(counted.others["flows"].values())
    assert ways == [*[0] * 3, *[counters["sent"]] * 3]
    assert [[port.rx for port in hop.ports] for hop in hops] == [[counters["sent"], 0]] * 2


def test_shared_objects_of_every_hop_are_seen_from_the_folder_of_the_experiment() -> None:
    given = {"hops": [{"nf": ["./mine.so"]}, {"burst": 8}]}

    assert ChainOptions.seen_from(Path("/x"), given) == {
        "hops": [{"nf": ["/x/mine.so"]}, {"burst": 8}]
    }
    assert ChainOptions.seen_from(Path("/x"), {"hops": 5}) == {"hops": 5}


def test_a_word_that_no_hop_knows_is_refused_before_a_run() -> None:
    options = ChainOptions(hops=({}, {"nf": ("nosuch",)}))

    assert "nf 'nosuch': unknown" in str(ChainDriver().missing(options))
    assert ChainDriver().missing(ChainOptions()) is None


def test_each_hop_has_memory_of_its_own_and_wants_a_core() -> None:
    three = ChainOptions(hops=({}, {}, {}))

    assert three.n_cores == 3
    assert 2 * ChainDriver().hugepages(three) == 3 * ChainDriver().hugepages(ChainOptions())


def test_a_hop_that_waits_for_a_full_batch_makes_the_chain_wait() -> None:
    waits = TautForwardOptions(transmit="buffered:32,none")

    assert ChainOptions(hops=(TautForwardOptions(), waits)).waits_for_more
    assert not ChainOptions().waits_for_more


def test_one_hop_is_no_chain() -> None:
    with pytest.raises(ValidationError, match="at least 2"):
        ChainOptions(hops=({},))


def test_files_of_every_hop_are_files_of_the_chain() -> None:
    hops = ({"nf": ("router:routes=/a",)}, {"nf": ("firewall:rules=/b", "./mine.so")})

    assert ChainOptions(hops=hops).files == (Path("/a"), Path("/b"), Path("mine.so"))


def test_a_hop_that_would_sleep_is_refused_by_its_number() -> None:
    options = ChainOptions(hops=({}, {"wait": "interrupt"}))

    assert options.refuses_link("memif") == (
        "hop 2: wait = 'interrupt': memif has no receive interrupts; poll"
    )
    assert ChainOptions().refuses_link("memif") is None

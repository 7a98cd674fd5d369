from contextlib import ExitStack
from pathlib import Path

import pytest
from pydantic import ValidationError

from taut.dut.drivers.chain import ChainDriver, ChainOptions, _ports
from taut.dut.forwarder import TautForwardOptions
from taut.testbed.link import Link
from taut.testbed.scope import RunScope


def test_each_hop_serves_the_next_one(tmp_path: Path) -> None:
    links = [Link("memif", f"memif:g{i}", f"memif:d{i}") for i in range(2)]
    with RunScope(tmp_path / "base") as scope, ExitStack() as stack:
        folder = scope.folder

        assert _ports(links, 3, scope, stack) == [
            ("memif:d0", f"memif:{folder}/hop1.sock,role=server"),
            (f"memif:{folder}/hop1.sock,role=client", f"memif:{folder}/hop2.sock,role=server"),
            (f"memif:{folder}/hop2.sock,role=client", "memif:d1"),
        ]


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

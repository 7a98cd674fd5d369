"""Numbers and names that Python repeats, held to the lines of the data plane they are from."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from taut.analysis import budget
from taut.core.trace_names import TRACE
from taut.experiment import fields, model, tracing
from taut.explain.judge import held
from taut.testbed import leftovers, link
from taut.testbed.links import LINKS

_DATAPLANE = Path(__file__).parents[2] / "dataplane"


def found(path: str, pattern: str) -> list[str]:
    """Find what the pattern's one group matches in a source."""
    return re.findall(pattern, (_DATAPLANE / path).read_text(), re.MULTILINE)


def test_packets_of_a_full_receive_ring() -> None:
    (places,) = found("runtime/port.c", r"N_DESCRIPTORS = (\d+)")
    (burst,) = found("generator/receiver.h", r"RECEIVER_BURST = (\d+)")

    assert int(places) - int(burst) == held.RING_PACKETS


def test_links_that_cross_the_kernel(answer: Callable[..., Any]) -> None:
    """They are those of a socket, which the generator serves by system calls."""
    ports = answer("taut-generate", "--describe")["ports"]

    assert {port["name"] for port in ports if port["system_calls"]} == {
        kind.name for kind in LINKS.values() if kind.crosses_kernel
    }


def test_addresses_of_the_stations() -> None:
    lines = found("generator/probe.c", r"memcpy\(ether.*\(const uint8_t\[\]\)\{(.*), \w+\}")
    prefix = [bytes.fromhex(mac.replace(":", ""))[:5] for mac in link.STATION_MACS]

    assert [bytes(int(part, 0) for part in line.split(",")) for line in lines] == prefix


def test_ip_addresses_of_the_stations() -> None:
    lines = found("generator/probe.c", r"memcpy\(ip \+ 1.*\(const uint8_t\[\]\)\{(.*), \w+\}")
    prefix = [address.split(".")[:3] for address in link.STATION_ADDRESSES]

    assert [line.split(", ") for line in lines] == prefix


def test_threads_that_are_traced() -> None:
    (most,) = found("trace/collector.h", r"TRACE_THREADS_MAX = (\d+)")

    assert int(most) == tracing._MOST_THREADS


def test_packets_that_are_stamped() -> None:
    (factor,) = found("forwarder/stamp_log.c", r"spread_factor = UINT64_C\((\w+)\)")

    assert int(factor, 16) == int(budget._SPREAD_FACTOR)


def test_sizes_of_frames() -> None:
    assert found("traffic/frame_mix.c", r"M(?:IN|AX)_FRAME = (\d+)") == [
        str(fields.MIN_FRAME),
        str(fields.MAX_FRAME),
    ]


def test_simple_imix() -> None:
    (sizes,) = found("traffic/frame_mix.c", r"imix\[\] = \{(.*)\}")

    assert [int(size) for size in sizes.split(",")] == [
        size for size, n in model.IMIX for _ in range(n)
    ]


@pytest.mark.parametrize(
    ("path", "pattern"),
    [("trace/tracefs.c", TRACE), ("inject/cpu_group.c", leftovers._GROUP)],
)
def test_what_killed_programs_leave_is_known_by_name(path: str, pattern: re.Pattern[str]) -> None:
    (prefix,) = found(path, r'prefix\[\] = "(.*)"')

    assert pattern.fullmatch(f"{prefix}4711")
    match = pattern.fullmatch(f"{prefix}4711-4026531836")
    assert match is not None
    assert (match[1], match["namespace"]) == ("4711", "4026531836")

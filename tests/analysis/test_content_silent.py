"""Where content has nothing to do with latency nothing is found, however latency behaves."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from made_content import Stream, find_classes, made_heads, on_grid

HIPNET21 = Path(__file__).resolve().parents[3] / "shared" / "data" / "hipnet21"
N = 20_000
N_SEEDS = 5

Latencies = npt.NDArray[np.float64]


def quiet(rng: np.random.Generator) -> Latencies:
    return rng.normal(3200, 40, N) + rng.exponential(15, N)


def bursts(rng: np.random.Generator) -> Latencies:
    latency = quiet(rng)
    for start in rng.integers(0, N, rng.integers(1, 60)):
        n = int(min(rng.integers(2, 400), N - start))
        latency[start : start + n] += rng.integers(1000, 100_000) * np.linspace(1, 0, n)
    return latency


def steps(rng: np.random.Generator) -> Latencies:
    latency = quiet(rng)
    for start in rng.integers(0, N, 5):
        latency[start:] += rng.integers(-500, 500)
    return latency


def drift(rng: np.random.Generator) -> Latencies:
    at = np.arange(N) / N
    return quiet(rng) + 3000 * at + 1000 * np.sin(at * rng.integers(1, 200))


def correlated(rng: np.random.Generator) -> Latencies:
    slow = np.convolve(rng.normal(0, 1, N), np.exp(-np.arange(300) / 50))[:N]
    return quiet(rng) * np.exp(slow / slow.std())


def heavy_tail(rng: np.random.Generator) -> Latencies:
    return quiet(rng) + 100 * rng.pareto(1, N)


def timer(period: float):
    def spikes(rng: np.random.Generator) -> Latencies:
        latency = quiet(rng)
        hit = (np.arange(rng.integers(1, 256), N, period)).astype(int)
        latency[hit] += rng.integers(500, 5000)
        return latency

    return spikes


def two_levels(rng: np.random.Generator) -> Latencies:
    return rng.choice([3000.0, 3013.0], N, p=[0.9, 0.1])


LATENCIES = {
    "quiet": quiet,
    "bursts": bursts,
    "steps": steps,
    "drift": drift,
    "correlated": correlated,
    "heavy tail": heavy_tail,
    "two levels": two_levels,
    "a timer in step with the senders": timer(40),
    "a timer in step with the counter's bits": timer(64),
    "a timer in step with the counter's low byte": timer(256),
    "a timer that drifts": timer(40.0003),
}


def from_generator(stream: Stream) -> None:
    """Leave what the generator sent: senders in turn, an identifier that counts."""


def from_bursty_flows(stream: Stream) -> None:
    """Flows in runs of up to 200 packets, each with an identifier of its own."""
    rng = stream.rng
    flow = np.repeat(rng.integers(0, 50, N), rng.integers(1, 200, N))[:N]
    stream.rows[:, 29], stream.rows[:, 35], stream.rows[:, 15] = flow, flow * 7, (flow % 5 == 0) * 4
    number_by_flow(stream, flow)


def from_mixed_traffic(stream: Stream) -> None:
    """Common and rare flows in no order, four lengths, a rare mark."""
    rng = stream.rng
    flow = np.minimum(rng.zipf(1.5, N), 200)
    stream.rows[:, 29], stream.rows[:, 37] = flow, flow % 7
    stream.rows[:, 15] = (rng.random(N) < 1e-3) * 16
    stream.wire_len[:] = rng.choice([100, 128, 512, 1518], N)
    number_by_flow(stream, flow)


def number_by_flow(stream: Stream, flow: npt.NDArray[np.int64]) -> None:
    for one in np.unique(flow):
        members = np.flatnonzero(flow == one)
        count = np.arange(len(members)) + int(stream.rng.integers(0, 1 << 16))
        stream.rows[members, 18], stream.rows[members, 19] = count >> 8, count


@pytest.mark.parametrize("content", [from_generator, from_bursty_flows, from_mixed_traffic])
@pytest.mark.parametrize("latency", LATENCIES)
def test_nothing_is_found(content, latency):
    for seed in range(N_SEEDS):
        stream = Stream(N, seed)
        content(stream)
        stream.latency_ns = on_grid(LATENCIES[latency](stream.rng))

        result = stream.search()

        assert result.n_tests > 10_000
        assert [(c.field, c.value, c.p_corrected) for c in result.classes] == []


def test_senders_in_turn_under_a_timer_are_excluded_and_said():
    stream = Stream(N)
    stream.delay(np.arange(7, N, 40), 3000)

    result = stream.search()

    said = {e.field: e.reason for e in result.excluded}
    assert said["payload byte 0"] == "a counter: steps by 1 every packet"
    assert said["payload byte 1"].startswith("a slow counter")
    assert any("as a timer would" in reason for field, reason in said.items() if "src" in field)
    assert not result.classes


def test_packets_of_one_episode_are_no_class():
    stream = Stream(N)
    episode = np.arange(9_000, 9_060)
    stream.delay(episode, 50_000)
    stream.write(episode, 60, b"\x07")

    assert not stream.search().classes


def test_a_class_amid_bursts_is_still_found():
    stream = Stream(N)
    stream.latency_ns = on_grid(bursts(stream.rng))
    packets = stream.pick(50)
    stream.write(packets, 15, b"\x04")
    stream.delay(packets, 20_000)

    (only,) = stream.search().classes

    assert (only.field, only.value, only.n_packets) == ("ipv4 tos", "0x04", 50)


RECORD = np.dtype([("s", "<u4"), ("ns", "<u4"), ("lens", "<u4", (2,)), ("frame", "u1", (100,))])


def read_capture(name: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    if not HIPNET21.is_dir():
        pytest.skip(f"{HIPNET21} is absent: the real pair is not part of taut")
    path = HIPNET21 / f"dpdk-l2fwd-hw-10kpps-{name}.pcap.zst"
    with pa.CompressedInputStream(str(path), "zstd") as file:
        records = np.frombuffer(file.read(), RECORD, offset=24)
    return records["frame"], records["s"].astype(np.int64) * 10**9 + records["ns"]


def test_the_real_pair_has_no_classes():
    frames, ingress_ns = read_capture("pre")
    _, egress_ns = read_capture("post")

    result = find_classes(
        made_heads(frames, 100, 100), egress_ns - ingress_ns, ingress_ns - ingress_ns[0]
    )

    assert result.n_packets == 300_000
    assert result.not_searched is None
    assert result.classes == []
    assert "ipv4 id" in {e.field for e in result.excluded}


@pytest.mark.parametrize("n_planted", [4, 50])
def test_classes_planted_in_the_real_pair_are_found(n_planted):
    frames, ingress_ns = read_capture("pre")
    _, egress_ns = read_capture("post")
    packets = np.sort(np.random.default_rng(n_planted).choice(300_000, n_planted, replace=False))
    frames, latency_ns = frames.copy(), egress_ns - ingress_ns
    frames[packets, 15] = 0x10
    latency_ns[packets] += 2000

    result = find_classes(made_heads(frames, 100, 100), latency_ns, ingress_ns - ingress_ns[0])

    (only,) = result.classes
    assert (only.field, only.value) == ("ipv4 tos", "0x10")
    assert [p.position for p in only.packets] == packets.tolist()


def test_latencies_all_alike_are_not_searched_and_said():
    stream = Stream(N)
    stream.latency_ns[:] = 3200

    assert stream.search().not_searched == "no packet is slower than others"

"""Trials with a kernel device that holds one packet up."""

from made_packets import packet
from made_trace import (
    HOG,
    OTHER_CORE,
    SLEEPS,
    TRACE_JSON,
    MadeTrace,
    write_trial,
)
from taut.explain import Options, explain_trial

US = 1_000
CALL_SINGLE, NET_RX, RCU = 3, 3, 9
KSOFTIRQD, NAPI_THREAD, GENERATOR = 16, 77, 500
DELIVERY, DELIVERY_CSD = 0xFF10, 0xC5D
LATE = 200

THREADS = {
    "200": "hog",
    "16": "ksoftirqd/1",
    "77": "napi/ttd0-1",
    "4711": "telemetry",
    "500": "taut-generate",
}
BRIDGE = {"dut": {"driver": "linux_bridge", "options": {"placement": "rps"}}}


class Bridge(MadeTrace):
    """A core that idles between packets; all times of a packet count from its sending."""

    def __init__(self) -> None:
        super().__init__()
        self.switch(-100_000, HOG, 0, SLEEPS)

    def tell(self, t):
        """The sender's core queues the call that says: there are packets."""
        at = {"thread": GENERATOR, "cpu": OTHER_CORE}
        return self.add(t, "call_queue", DELIVERY_CSD, DELIVERY, **at)

    def take(self, t, thread=0):
        """The interrupt that raises the softirq, 300 ns."""
        self.add(t, "vector_entry", CALL_SINGLE, 0xFB, thread=thread)
        self.add(t + 100, "call_entry", DELIVERY_CSD, DELIVERY, thread=thread)
        self.add(t + 200, "call_exit", DELIVERY_CSD, DELIVERY, thread=thread)
        return self.add(t + 300, "vector_exit", CALL_SINGLE, 0xFB, thread=thread)

    def run(self, start, end, work=2, thread=0):
        """The network softirq runs once and handles `work` packets, in an idle core or a thread."""
        self.add(start, "softirq_entry", NET_RX, thread=thread)
        self.add(end - 50, "napi_poll", work | 64 << 32, 0xAB, thread=thread)
        return self.add(end, "softirq_exit", NET_RX, thread=thread)

    def forward(self, t, thread=0):
        """A packet as all are: told at once, the core awake after 4 us, through in 3 us more."""
        self.tell(t + US).take(t + 5 * US, thread)
        return self.run(t + 5 * US + 400, t + 8 * US + 400, thread=thread)


def explained(tmp_path, hold, out_us=70, *, over="20us", trial=None, **trace_json):
    """300 packets, 100 us apart; `hold` adds what happens from the sending of one of them on."""
    trace, rows = Bridge(), []
    for seq in range(300):
        row = packet(seq, 8_200, gap_ns=100_000)
        if seq == LATE:
            hold(trace, row["sent_ns"])
            row["received_ns"] = row["sent_ns"] + out_us * US
        else:
            trace.forward(row["sent_ns"])
        rows.append(row)
    if trial is not None:
        trial(rows)
    functions = TRACE_JSON["functions"] | {str(DELIVERY): "rps_trigger_softirq"}
    names = {"threads": THREADS, "functions": functions}
    folder = write_trial(tmp_path, rows, trace=trace, meta=BRIDGE, **(names | trace_json))
    return explain_trial(folder, Options(over=over))


def verdict(found):
    assert [total.n_packets for total in found.causes] == [found.n_tail]
    story = found.worst[0]
    return story.cause, story.grade


def detail(found):
    return found.worst[0].gap.detail

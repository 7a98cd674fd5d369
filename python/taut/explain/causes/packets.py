"""What the packets' own times show: other packets, batches, the measurer. Petrol."""

from taut.explain.cause import Cause, Evidence, Injector

QUEUEING = Cause(
    id="queueing",
    title="waiting in a queue",
    why="The device was busy with packets before this one: the load is too high, or they came in "
    "a burst.",
    noun="packets before: a queue",
    did="was busy for {time} with packets before",
    evidence=Evidence.PACKETS,
    seen_by="packets and gap logs",
    colour=("#00829b", "#2bb3cd"),
    ask="the offered load, bursts, and how many packets the device handles a second",
    not_made="packet bursts are a schedule of the generator (taut generate --schedule burst)",
)

BATCHING = Cause(
    id="batching",
    title="waiting in a batch",
    why="The device's transmit policy holds packets back until a batch is full or a timer runs "
    "out.",
    noun="the device's own batch",
    evidence=Evidence.PACKETS,
    seen_by="packets and gap logs",
    colour=("#0f5f6e", "#7fd6e6"),
    ask="the transmit policy: eager sends at once",
    not_made="needs a device with a transmit buffer (taut forward --transmit buffered)",
)

MEASURER = Cause(
    id="measurer",
    title="the measurer itself",
    why="The generator's own core was held up: the packet says nothing about the device.",
    evidence=Evidence.PACKETS,
    seen_by="packets and gap logs",
    colour=("#3a4252", "#d5d9e2"),
    remedies=("K04", "R24", "R02"),
    ask="the generator's core",
    made=Injector("measurer-stall", options="length=1ms", per_s=50),
)

"""The table of neighbours: who else may be busy on a machine. A new one is a row here.

Each is made of stress-ng's stressors (stress-ng(1)), which count what they do; neighbour.py runs
them. What its fields mean stands there, too.
"""

from taut.testbed.neighbour import NeighbourKind, Stressor

IDLE = NeighbourKind("idle", "nobody: the machine as it is without a neighbour")
"""The null member: nothing runs, and documents do not mention it."""

NEIGHBOURS: dict[str, NeighbourKind] = {
    kind.name: kind
    for kind in (
        IDLE,
        NeighbourKind(
            name="cache",
            summary="writes and reads at random all over the last-level cache",
            stressors=(Stressor("cache", ("--cache-no-affinity",)),),
        ),
        NeighbourKind(
            name="memory",
            summary="streams through arrays larger than any cache: memory bandwidth",
            # Its arrays, four times the last-level cache, are filled first.
            stressors=(Stressor("stream", begun_ns=400_000_000),),
        ),
        # Harmless ones: stress-ng's own "syscall" tries nearly every call there is, as root.
        NeighbourKind(
            name="system_calls",
            summary="asks the kernel, wakes through pipes, forks and ends processes",
            stressors=(Stressor("sysinfo"), Stressor("pipe"), Stressor("fork")),
        ),
        NeighbourKind(
            name="network",
            summary="TCP and UDP over the loopback of a network namespace of its own",
            stressors=(Stressor("sock"), Stressor("udp")),
            uses_network=True,
        ),
        NeighbourKind(
            name="disk",
            summary="writes files and waits until they are on the disk",
            stressors=(Stressor("hdd", ("--hdd-bytes", "64M", "--hdd-opts", "wr-seq,fsync")),),
            writes_files=True,
        ),
    )
}

from dataclasses import replace
from pathlib import Path

import pytest

from check_rows import BY_ID, CONTAINER, GUEST, NOBODY, bad, each, good, skipped, unseen
from host_idle import DEVICE, HostOfUser, held
from host_tree import BARE_METAL, POLL, tree
from taut.host.check import State
from taut.host.situation import Situation

CPU = "/sys/devices/system/cpu"
NO_TURBO = f"{CPU}/intel_pstate/no_turbo"
BOOST = f"{CPU}/cpufreq/boost"
STEADY = {
    **{
        f"{CPU}/cpu{core}/cpufreq/scaling_{which}_freq": "3000000\n"
        for core in range(4)
        for which in ("min", "max")
    },
    **{f"{CPU}/cpu{core}/cpuidle/state0/name": "POLL\n" for core in range(4)},
    **{f"{CPU}/cpu{core}/cpuidle/state0/disable": "0\n" for core in range(4)},
    **{f"{CPU}/cpu{core}/cpuidle/state1/name": "C1\n" for core in range(4)},
    **{f"{CPU}/cpu{core}/cpuidle/state1/disable": "1\n" for core in range(4)},
}
SLEEPS = {f"{CPU}/cpu0/cpuidle/state1/disable": "0\n"}
UNCORE = f"{CPU}/intel_uncore_frequency"
PACKAGE = "package_00_die_00"
NEW = {"/sys/devices/cpu/caps/pmu_name": "icelake\n"}
OLD = {"/sys/devices/cpu/caps/pmu_name": "skylake\n"}


def on(vendor: str = "intel", *flags: str, model: int = 106) -> Situation:
    machine = replace(BARE_METAL, vendor=vendor, flags=frozenset(flags), model=model)
    return replace(POLL, machine=machine)


def uncore(low: str, high: str, name: str = PACKAGE) -> dict[str, str]:
    folder = f"{UNCORE}/{name}"
    return {f"{folder}/min_freq_khz": f"{low}\n", f"{folder}/max_freq_khz": f"{high}\n"}


def driver(name: str, mode: str | None = None) -> dict[str, str]:
    """Who drives core 2, and intel_pstate's mode."""
    files = {f"{CPU}/cpu2/cpufreq/scaling_driver": f"{name}\n"}
    return files if mode is None else files | {f"{CPU}/intel_pstate/status": f"{mode}\n"}


def policy(core: int, cores: str = "", **knobs: str) -> dict[str, str]:
    folder = f"{CPU}/cpufreq/policy{core}"
    files = {f"{folder}/affected_cpus": f"{cores or core}\n"}
    return files | {f"{folder}/{name}": f"{text}\n" for name, text in knobs.items()}


def governed(governor: str = "performance", preference: str = "", bias: str = "") -> dict[str, str]:
    """Cores 0 and 1 save energy, 2 does not, and 3 is as given."""
    files = policy(0, scaling_governor="powersave") | policy(1, scaling_governor="powersave")
    files |= policy(2, scaling_governor="performance") | policy(3, scaling_governor=governor)
    if preference:
        files |= policy(3, energy_performance_preference=preference)
    if bias:
        files[f"{CPU}/cpu3/power/energy_perf_bias"] = f"{bias}\n"
    return files


def limited(low: str, high: str = "3200000") -> dict[str, str]:
    """Core 0 has a range, core 2 has none, and 3 is as given."""
    ranges = {0: ("800000", "3200000"), 2: ("3200000", "3200000"), 3: (low, high)}
    files: dict[str, str] = {}
    for core, (least, most) in ranges.items():
        files |= policy(core, scaling_min_freq=least, scaling_max_freq=most)
    return files


# A cluster of cores, and one of I/O; the package has the least and the most of both.
CLUSTERS = uncore("800000", "2200000", "uncore00") | uncore("800000", "2500000", "uncore01")
SLOW = policy(0, "0 1 2 3", scaling_governor="schedutil")

ROWS = (
    good("HW09", {NO_TURBO: "1\n"}),
    bad(
        "HW09",
        {NO_TURBO: "0\n"},
        remedies="now boot",
        does=("extreme", "Red Hat's NFV guide off"),
        mends=True,
    ),
    good("HW09", {BOOST: "0\n"}),
    bad("HW09", {BOOST: "1\n"}, mends=True),
    # On, where nothing can step.
    good("HW09", STEADY | {NO_TURBO: "0\n"}),
    bad("HW09", STEADY | {NO_TURBO: "0\n"} | SLEEPS),
    good("HW09", STEADY | {NO_TURBO: "0\n"} | SLEEPS | {DEVICE: held(0)}),
    unseen("HW09", {NO_TURBO: "1\n"}, "on the host", on=GUEST),
    bad("HW09", {NO_TURBO: "0\n"}, on=CONTAINER, remedies="by-hand"),
    # Without a switch the processor's flags decide.
    skipped("HW09", {}),
    unseen("HW09", {}, "no switch", on=on("intel", "ida")),
    unseen("HW09", {NO_TURBO: "2\n"}),
    good("HW10", uncore("2400000", "2400000")),
    bad(
        "HW10",
        uncore("800000", "2400000"),
        "800000 to 2400000",
        remedies="now boot",
        does=("min_freq_khz = 2400000",),
        mends=True,
    ),
    # Xeon 6: a write to the package would go to its clusters.
    bad(
        "HW10",
        CLUSTERS | uncore("800000", "2500000"),
        "uncore00 800000 to 2200000 kHz, uncore01 800000 to 2500000 kHz",
        remedies="now boot",
        does=("min_freq_khz = 2200000", "min_freq_khz = 2500000"),
        mends=True,
    ),
    good(
        "HW10",
        uncore("2200000", "2200000", "uncore00")
        | uncore("2500000", "2500000", "uncore01")
        | uncore("2200000", "2500000"),
    ),
    unseen("HW10", {}, "intel_uncore_frequency"),
    unseen("HW10", uncore("slow", "fast")),
    unseen("HW10", {}, "APBDIS", on=on("amd")),
    skipped("HW10", {}, on=on("arm")),
    skipped("HW10", {}, "the host's", on=GUEST),
    good("K16", NEW | driver("intel_pstate", "active")),
    bad(
        "K16",
        NEW | driver("intel_cpufreq", "passive"),
        remedies="now boot",
        does=("intel_pstate=active",),
        mends=True,
    ),
    bad(
        "K16",
        OLD | driver("intel_pstate", "active"),
        does=("intel_pstate=disable", "no such rule"),
        mends=True,
    ),
    # Without a counter unit the model tells the generation: Ice Lake, Skylake.
    bad("K16", driver("acpi-cpufreq")),
    good("K16", driver("acpi-cpufreq"), on=on(model=85)),
    unseen("K16", driver("intel_pstate", "active"), "generation", on=on(model=0)),
    bad("K16", driver("acpi-cpufreq"), on=on("amd", "cppc"), does=("amd_pstate=active",)),
    good("K16", driver("amd-pstate-epp"), on=on("amd", "cppc")),
    good("K16", driver("acpi-cpufreq"), on=on("amd")),
    skipped("K16", {}),
    bad("K16", driver("intel_cpufreq", "passive"), on=CONTAINER, does=("on the host",)),
    # Polling cores at performance pass whatever the others do.
    good("R16", governed()),
    bad("R16", governed(preference="balance_performance"), cores=(3,)),
    bad("R16", governed(bias="6"), cores=(3,)),
    bad("R16", governed(preference="128"), cores=(3,)),
    # Hints are written before the governor, so that undo writes them after.
    bad(
        "R16",
        governed("powersave", "balance_power", "6"),
        "energy_perf_bias 6",
        "scaling_governor powersave",
        remedies="now boot",
        does=(
            "bias = 0\n"
            f"{CPU}/cpufreq/policy3/energy_performance_preference = performance\n"
            f"{CPU}/cpufreq/policy3/scaling_governor = performance\n",
        ),
        mends=True,
    ),
    # Cores of one policy change together.
    bad("R16", SLOW, cores=(2, 3)),
    unseen("R16", {}, "on the host", on=GUEST),
    bad("R16", governed("ondemand"), on=GUEST, remedies="by-hand"),
    skipped("R16", {}),
    *(unseen("R16", governed(text)) for text in ("", "\x80\x00", "two words")),
    # A policy that vanishes is none.
    unseen("R16", policy(2)),
    unseen("R16", governed(), on=NOBODY),
    bad("R16", SLOW, on=NOBODY),
    good("R17", limited("3200000")),
    bad(
        "R17",
        limited("800000"),
        "800000-3200000 kHz on core 3",
        cores=(3,),
        remedies="now",
        does=("policy3/scaling_min_freq = 3200000", "R16-now"),
        mends=True,
    ),
    unseen("R17", {}, "on the host", on=GUEST),
    bad("R17", limited("800000"), on=GUEST, remedies="by-hand"),
    skipped("R17", {}),
    *(unseen("R17", limited("800000", text)) for text in ("", "<unsupported>", "\x80\x00")),
    # Policies that name no core.
    unseen("R17", {path: "all\n" if path.endswith("s") else "1\n" for path in limited("800000")}),
)

test_frequency = each(ROWS)


@pytest.mark.parametrize(
    ("files", "state"),
    [(STEADY | SLEEPS, State.UNKNOWN), (STEADY, State.PASS), (SLEEPS, State.FAIL)],
)
def test_a_latency_that_only_root_may_read_may_keep_cores_awake(
    files: dict[str, str], state: State, tmp_path: Path
) -> None:
    tree(tmp_path, files | {NO_TURBO: "0\n", DEVICE: held(0)})

    finding = BY_ID["HW09"].inspect(HostOfUser(tmp_path), POLL)

    assert finding.state is state
    assert finding.needs == ("run as root" if state is State.UNKNOWN else "")


def test_where_there_are_clusters_nothing_is_written_to_their_package(tmp_path: Path) -> None:
    host = tree(tmp_path, CLUSTERS | uncore("800000", "2500000"))

    for remedy in BY_ID["HW10"].propose(host, POLL):
        assert "uncore01" in str(remedy)
        assert PACKAGE not in str(remedy)

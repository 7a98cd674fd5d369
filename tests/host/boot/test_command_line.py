import pytest

from taut.core.errors import InputError
from taut.host.boot.command_line import command_line, merge_parameters, replaced
from taut.host.boot.item import KernelParameter, Sysctl
from taut.host.boot.wish import BootWish

ONLINE = (0, 1, 2, 3)


def merged(*parameters: KernelParameter) -> str:
    wishes = [BootWish(parameter, f"reason {i}") for i, parameter in enumerate(parameters)]
    return command_line(merge_parameters(wishes, ONLINE))


def test_flags_and_cores_of_isolcpus_are_added_up() -> None:
    domain = KernelParameter("isolcpus", flags=("domain",), cores=(2,))
    managed = KernelParameter("isolcpus", flags=("managed_irq",), cores=(2, 3))

    assert merged(managed, domain) == "isolcpus=domain,managed_irq,2-3"


def test_isolcpus_without_flags_means_domain() -> None:
    plain = KernelParameter("isolcpus", cores=(2,))
    managed = KernelParameter("isolcpus", flags=("managed_irq",), cores=(2,))

    assert merged(plain) == "isolcpus=2"
    assert merged(plain, managed) == "isolcpus=domain,managed_irq,2"


def test_cores_that_stand_in_the_value_are_merged_too() -> None:
    text = KernelParameter("isolcpus", "managed_irq,2-3")

    assert merged(text, KernelParameter("isolcpus", flags=("domain",), cores=(1,))) == (
        "isolcpus=domain,managed_irq,1-3"
    )


def test_the_same_parameter_twice_is_one_with_the_first_reason_and_both_wishers() -> None:
    wishes = [
        BootWish(KernelParameter("nohz_full", cores=(3,)), "no tick"),
        BootWish(Sysctl("vm.stat_interval", "120"), "not a parameter"),
        BootWish(KernelParameter("nohz_full", cores=(3,)), "each tick of a guest is an exit"),
    ]

    (only,) = merge_parameters(wishes, ONLINE)

    assert str(only.parameter) == "nohz_full=3"
    assert only.reason == "no tick"


def test_dash_and_underscore_are_the_same_to_the_kernel() -> None:
    assert merged(KernelParameter("rcu_nocb_poll"), KernelParameter("rcu-nocb-poll")) == (
        "rcu_nocb_poll"
    )


def test_two_values_are_a_conflict_that_names_both() -> None:
    with pytest.raises(InputError, match=r"idle=poll \(reason 0\) and idle=nomwait \(reason 1\)"):
        merged(KernelParameter("idle", "poll"), KernelParameter("idle", "nomwait"))


def test_housekeeping_lists_keep_what_all_allow() -> None:
    wide, narrow = (KernelParameter("irqaffinity", cores=cores) for cores in ((0, 1), (1,)))

    assert merged(wide, narrow) == "irqaffinity=1"
    with pytest.raises(InputError, match="leave no core"):
        merged(KernelParameter("irqaffinity", cores=(0,)), narrow)


def test_housekeeping_on_an_isolated_core_is_a_conflict() -> None:
    with pytest.raises(InputError, match="core 3 for housekeeping, which nohz_full=3 takes away"):
        merged(KernelParameter("nohz_full", cores=(3,)), KernelParameter("irqaffinity", "0-3"))


def test_a_core_is_left_for_housekeeping() -> None:
    with pytest.raises(InputError, match="no core is left for housekeeping"):
        merged(KernelParameter("isolcpus", cores=ONLINE))
    with pytest.raises(InputError, match="no core is left for housekeeping"):
        merged(KernelParameter("isolcpus", cores=(0, 1)), KernelParameter("rcu_nocbs", "2-3"))


def test_cores_that_are_not_there_are_refused() -> None:
    with pytest.raises(InputError, match="cores 4-5 are not online; this machine has 0-3"):
        merged(KernelParameter("nohz_full", cores=(3, 4, 5)))


def test_the_boot_core_keeps_its_tick_and_the_reason_says_so() -> None:
    wish = BootWish(KernelParameter("nohz_full", cores=(0, 1)), "no tick")

    (only,) = merge_parameters([wish], ONLINE)

    assert str(only.parameter) == "nohz_full=1"
    assert "core 0 left out" in only.reason
    with pytest.raises(InputError, match="name another core"):
        merged(KernelParameter("nohz_full", cores=(0,)))


def test_replaced_keeps_the_other_words_and_drops_those_of_the_same_name() -> None:
    parameters = merge_parameters([BootWish(KernelParameter("nohz_full", cores=(3,)), "")], ONLINE)

    assert replaced("quiet nohz-full=1 ro nohz_full=2", parameters) == "quiet ro nohz_full=3"
    assert replaced("quiet ro", []) == "quiet ro"


def test_what_is_for_init_stays_behind_the_kernels_own() -> None:
    parameters = merge_parameters([BootWish(KernelParameter("nohz_full", cores=(3,)), "")], ONLINE)

    assert replaced("ro nohz_full=2 -- --log nohz_full=1", parameters) == (
        "ro nohz_full=3 -- --log nohz_full=1"
    )

"""[[placement]]: which device is measured where, in which order, and what is refused."""

import pytest

from taut.core.errors import InputError
from taut.experiment.model import Spec
from taut.experiment.placed import refuse_places_in_turn
from taut.experiment.plan import Plan, make_plan
from taut.experiment.spec import parse_spec, spec_hash

DEVICES = """
name = "placed"
duration = "1s"
repetitions = 4
floor = false
[[device]]
driver = "taut_forward"
name = "a"
[[device]]
driver = "testpmd"
name = "b"
[[traffic]]
rates = ["10kpps"]
"""
BOTH = """
[[placement]]
name = "bare"
[[placement]]
name = "container"
"""


def spec_of(tables: str = "", *changes: str) -> Spec:
    return parse_spec(DEVICES + tables, changes)


def placed(plan: Plan) -> list[tuple[str, str]]:
    return [(trial.device.name, trial.place.name) for trial in plan.trials]


def test_without_a_table_devices_are_on_the_host_itself() -> None:
    plan = make_plan(spec_of())

    assert {place for _, place in placed(plan)} == {"bare"}
    assert plan.trials[0].name.split("-")[2] == "bare"


def test_every_device_is_measured_in_every_place_and_places_change_least() -> None:
    plan = make_plan(spec_of(BOTH))

    pairs = placed(plan)
    assert set(pairs) == {(d, p) for d in "ab" for p in ("bare", "container")}
    places = [place for _, place in pairs[::2]]
    assert places[:4] in (
        ["bare", "container", "container", "bare"],
        ["container", "bare", "bare", "container"],
    )
    assert all(one == other for (_, one), (_, other) in zip(pairs[::2], pairs[1::2], strict=True))


def test_one_place_more_leaves_the_order_of_devices_as_it_was() -> None:
    alone = [name for name, _ in placed(make_plan(spec_of()))]
    beside = [name for name, place in placed(make_plan(spec_of(BOTH))) if place == "bare"]

    assert beside == alone


def test_the_instrument_is_measured_on_the_host_alone() -> None:
    only = '\n[[placement]]\nname = "container"\n'

    plan = make_plan(spec_of(only, "floor=true"))

    assert set(placed(plan)) == {
        ("a", "container"),
        ("b", "container"),
        ("loopback_memif", "bare"),
    }


def test_a_device_may_name_its_one_place_and_a_place_its_devices() -> None:
    own = make_plan(spec_of(BOTH, "device.a.placement=container"))
    chosen = make_plan(spec_of(BOTH, 'placement.container.devices=["b"]'))

    assert set(placed(own)) == {("a", "container"), ("b", "bare"), ("b", "container")}
    assert set(placed(chosen)) == {("a", "bare"), ("b", "bare"), ("b", "container")}


def test_devices_may_name_their_places_where_the_file_has_no_table() -> None:
    plan = make_plan(spec_of("", "device.a.placement=container", "device.b.placement=bare"))
    one = make_plan(spec_of("", "device.a.placement=bare"))

    assert set(placed(plan)) == {("a", "container"), ("b", "bare")}
    assert set(placed(one)) == {("a", "bare"), ("b", "bare")}


def test_two_places_of_one_kind_have_two_names() -> None:
    twice = '\n[[placement]]\nkind = "container"\n[[placement]]\nkind = "container"\nname = "raw"\n'
    rights = 'placement.raw.options={capabilities=["CAP_NET_RAW"]}'

    plan = make_plan(spec_of(twice, rights))

    assert {(t.place.name, t.place.kind) for t in plan.trials} == {
        ("container", "container"),
        ("raw", "container"),
    }


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ('[[placement]]\nname = "containr"', "unknown placement 'containr'; did you mean 'contai"),
        ('[[placement]]\nkind = "container"\ncolour = "red"', "colour"),
        ('[[placement]]\nname = "container"\noptions = { roof = "x" }', "options: roof"),
        (
            '[[placement]]\nname = "container"\noptions = { capabilities = ["CAP_NET"] }',
            "options: capabilities: no capability 'CAP_NET'; write them as CAP_NET_RAW",
        ),
        (BOTH + '[[placement]]\nname = "bare"', "two of placement are called 'bare'"),
        ('[[placement]]\nname = "bare"\nkind = "container"', "bare is a kind of placement itself"),
        (BOTH + 'devices = ["c"]', "placement container: devices ['c'] matches no device"),
        ('[[placement]]\nname = "container"\ndevices = ["a"]', "device b: no [[placement]] takes"),
    ],
)
def test_a_mistake_is_answered_in_one_line(tables: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        spec_of("\n" + tables + "\n")

    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_device_that_names_no_place_there_is_says_which_there_are() -> None:
    with pytest.raises(
        InputError, match="device a: unknown placement 'cellar'; known are bare, co"
    ):
        spec_of("", "device.a.placement=cellar")


def test_a_kernel_device_and_a_nic_are_refused_a_container() -> None:
    bridge = spec_with("linux_bridge", "veth")
    card = spec_with("taut_forward", "pci")

    with pytest.raises(InputError, match="device a: it is the host's kernel, which runs in no con"):
        parse_spec(bridge)
    with pytest.raises(InputError, match="device a: a container gets no link pci"):
        parse_spec(card)


def spec_with(driver: str, link: str) -> str:
    device = f'[[device]]\nname = "a"\ndriver = "{driver}"\nlink = "{link}"\n'
    load = '[[traffic]]\nrates = ["10kpps"]\n'
    return f'name = "x"\nduration = "1s"\n{device}{load}[[placement]]\nname = "container"\n'


def test_a_place_is_part_of_what_a_run_measures() -> None:
    assert spec_hash(spec_of(BOTH)) != spec_hash(spec_of())


def test_a_device_that_says_bare_is_not_one_that_says_nothing() -> None:
    says_bare = spec_of(BOTH, "device.a.placement=bare")

    assert placed(make_plan(says_bare)) != placed(make_plan(spec_of(BOTH)))
    assert spec_hash(says_bare) != spec_hash(spec_of(BOTH))
    # Without tables both mean the same place, and runs of either resume.
    assert spec_hash(spec_of("", "device.a.placement=bare")) == spec_hash(spec_of())


def test_what_measures_in_one_place_refuses_several() -> None:
    both, one = spec_of(BOTH), spec_of('[[placement]]\nname = "container"\n')

    with pytest.raises(InputError, match="search measures a device in one place, a has bare, con"):
        refuse_places_in_turn(both.placement, both.device, "search")
    refuse_places_in_turn(one.placement, one.device, "search")

"""What an experiment lacks here, also where the code that should say so fails."""

from pathlib import Path

import pytest

from host_tree import tree
from taut.core.binaries import find_binary_or_none
from taut.core.cpus import cpuset_cores
from taut.core.errors import InputError
from taut.dut.drivers import DRIVERS
from taut.experiment import preflight
from taut.experiment.plan import make_plan
from taut.experiment.spec import parse_spec
from taut.host.host import Host
from taut.records.documents.described import Described, MemberDescribed, OptionDescribed
from taut.testbed import hugepages
from taut.testbed.placements import PLACEMENTS

NEEDS_GENERATOR = pytest.mark.skipif(
    find_binary_or_none("taut-generate") is None, reason="needs taut-generate: make build"
)

TEXT = """
name = "t"
duration = "1s"
trace = "off"
[[device]]
driver = "taut_forward"
name = "mine"
[[placement]]
kind = "container"
name = "boxed"
[[traffic]]
rates = ["10kpps"]
"""


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        (type(DRIVERS["taut_forward"]), "device mine"),
        (type(PLACEMENTS["container"]), "placement boxed"),
    ],
)
def test_who_fails_over_what_it_lacks_is_told_by_name(
    monkeypatch: pytest.MonkeyPatch, kind: type, named: str
) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr(kind, "missing", fails)

    reasons = [*preflight.missing(make_plan(parse_spec(TEXT)))]

    failed = "what it lacks cannot be told, its code failed: ZeroDivisionError: by zero"
    assert f"{named}: {failed}" in reasons


@pytest.mark.parametrize("where", ["image", "image and bare", "no image"])
def test_a_program_that_only_an_image_has_is_looked_for_there(tmp_path: Path, where: str) -> None:
    image = tmp_path / "image"
    (image / "opt/vendor").mkdir(parents=True)
    (image / "opt/vendor/taut-fwd").touch()
    text = TEXT.replace('"taut_forward"', '"command"\noptions.argv = ["/opt/vendor/taut-fwd"]')
    if where != "no image":
        text = text.replace('name = "boxed"', f'name = "boxed"\noptions.root = "{image}"')
    if where == "image and bare":
        text += '[[placement]]\nname = "bare"\n'

    reasons = [*preflight.missing(make_plan(parse_spec(text)))]

    lacks = "device mine: command /opt/vendor/taut-fwd: program not found"
    assert any(reason.startswith(lacks) for reason in reasons) == (where != "image")


@pytest.mark.parametrize(
    ("options", "cores", "refused"),
    [
        ("", "", ["linux_bridge"]),
        ('options = { placement = "threaded" }', "", []),
        ("", f"[cores]\ndevice = {cpuset_cores()[0]}", []),
    ],
)
def test_a_core_that_a_device_cannot_work_on_is_told_before_the_run(
    options: str, cores: str, refused: list[str], tmp_path: Path
) -> None:
    far = cpuset_cores()[-1] + 8
    host = tree(tmp_path, {"/sys/devices/system/cpu/isolated": f"{far}\n"})
    device = f'[[device]]\ndriver = "linux_bridge"\n{options}\n'
    text = TEXT[: TEXT.index("[[device]]")] + device + TEXT[TEXT.index("[[traffic]]") :] + cores

    found = preflight.refused_cores(make_plan(parse_spec(text)), host)

    assert list(found) == refused
    assert all(why.startswith(f"core {far} is isolated at boot") for why in found.values())


@pytest.mark.parametrize(
    ("available", "may_add", "refused"),
    [
        ("MemAvailable: 8192000 kB\n", True, True),
        ("MemAvailable: 8192000 kB\n", False, False),
        ("MemAvailable: 8196096 kB\n", True, False),
        ("", True, False),
    ],
)
def test_hugepages_of_more_than_half_of_the_free_memory_are_one_line_before_the_run(
    available: str, may_add: bool, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2001 of them; where the kernel does not say, or taut adds none, nothing is refused."""
    monkeypatch.setattr(hugepages, "may_change", lambda: may_add)
    text = """
name = "made"
duration = "1s"
[[device]]
driver = "command"
name = "app"
options = { argv = ["true"], hugepages = 2001 }
[[traffic]]
rates = ["10kpps"]
"""
    tree(tmp_path, {"/proc/meminfo": f"MemTotal: 1 kB\n{available}"})

    found = preflight.refused_memory(make_plan(parse_spec(text)), Host(tmp_path))

    said = (
        "hugepages = 2001 of 2 MB are more than half of the memory that is free; give pages, not "
        "MB, 2000 at most, or 0 where they are reserved already"
    )
    assert found == ({"app": said} if refused else {})


# As taut-generate --describe has them.
DESCRIBED = Described(
    schedules=(
        MemberDescribed(
            "burst",
            (
                OptionDescribed("size", others={"type": "uint", "min": 2, "max": 65536}),
                OptionDescribed("gap", others={"type": "duration"}),
            ),
        ),
        MemberDescribed(
            "step",
            (
                OptionDescribed("after", others={"type": "duration", "min": 1, "max": 2 * 10**9}),
                OptionDescribed("percent", others={"type": "uint", "min": 1, "max": 0}),
                OptionDescribed("new", others={"type": "what is not known here"}),
            ),
        ),
    )
)


def check_options(schedule: str, options: str) -> None:
    text = f"{TEXT}schedule = '{schedule}'\noptions = {{ {options} }}\n"
    preflight.check_schedules(make_plan(parse_spec(text)), DESCRIBED)


@pytest.mark.parametrize(
    ("schedule", "options", "said"),
    [
        ("burst", "size = 1", "size = 1: accepted are 2 to 65536"),
        ("burst", "size = '65537'", "size = '65537': accepted are 2 to 65536"),
        ("burst", "size = 2.5", "size = 2.5: a whole number is wanted"),
        ("burst", "size = -4", "size = -4: a whole number is wanted"),
        ("burst", "size = '4,gap=1us'", "size = '4,gap=1us': a whole number is wanted"),
        ("burst", "gap = 5", "gap = 5: duration '5': not a number with a unit; write 10s"),
        ("step", "after = 0", "after = 0: accepted are 1 ns to 2 s"),
        ("step", "after = '3s'", "after = '3s': accepted are 1 ns to 2 s"),
        ("step", "percent = 0", "percent = 0: accepted are 1 and more"),
    ],
)
def test_a_value_that_the_generator_would_refuse_is_one_line_before_the_run(
    schedule: str, options: str, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        check_options(schedule, options)

    assert str(caught.value).startswith(f"traffic {schedule}: schedule {schedule}: {said}")


@pytest.mark.parametrize(
    ("schedule", "options"),
    [
        ("burst", "size = 2, gap = '1.5 us'"),
        ("burst", "size = '65536', gap = 0"),
        ("step", "after = '2s', percent = 1000, new = 'x'"),
    ],
)
def test_a_value_that_the_generator_takes_is_taken(schedule: str, options: str) -> None:
    check_options(schedule, options)


def check_loads(schedule: str, options: str, rates: str, length: str = 'duration = "1s"') -> None:
    text = TEXT.replace('duration = "1s"', length).replace('"10kpps"', rates)
    text = f"{text}schedule = '{schedule}'\noptions = {{ {options} }}\n"
    preflight.check_loads(make_plan(parse_spec(text)))


@NEEDS_GENERATOR
@pytest.mark.parametrize(
    ("schedule", "options", "rates", "said"),
    [
        ("constant", "", '"1kpps", "0.5pps"', "constant at 0.5pps: no packet is due in the 1 s"),
        ("step", "", '"10kpps"', "step at 10kpps: schedule step: the rate falls after 60 s"),
        ("step", "after = '1s'", '"10kpps"', "and 1 to 2 s are measured"),
        ("burst", "size = 65536, gap = '10us'", '"20kpps"', "less than 3 trains; lower size"),
        ("burst", "gap = '2us'", '"10kpps", "1Mpps"', "burst at 1Mpps: schedule burst: a train"),
    ],
)
def test_a_load_that_would_not_happen_is_one_line_before_the_run(
    schedule: str, options: str, rates: str, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        check_loads(schedule, options, rates)

    assert said in str(caught.value)
    assert str(caught.value).startswith(f"traffic {schedule} at ")


@NEEDS_GENERATOR
@pytest.mark.parametrize(
    ("schedule", "options", "rates", "length"),
    [
        ("constant", "", '"1pps"', 'duration = "1s"'),
        ("poisson", "", '"0.5pps"', "count = 1"),
        ("step", "after = '1.5s'", '"10kpps"', 'duration = "1s"'),
        ("step", "after = '1.5s'", '"10kpps"', "count = 10000"),
        ("burst", "size = 333", '"1kpps"', 'duration = "1s"'),
        ("burst", "", '"10kpps"', "count = 96"),
    ],
)
def test_a_load_that_happens_is_taken(schedule: str, options: str, rates: str, length: str) -> None:
    check_loads(schedule, options, rates, length)

"""Every way a file can be wrong is one line that names the place and the remedy."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from taut.core.errors import InputError
from taut.experiment.spec import parse_spec, spec_hash

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
PAGES = [*EXAMPLES, ROOT / "README.md", *(ROOT / "docs").glob("*.md")]

GOOD = """
name = "good"
duration = "1s"
[[device]]
driver = "taut_forward"
[[device]]
driver = "taut_forward"
name = "buffered"
options = { transmit = "buffered:32,100us" }
[[traffic]]
rates = ["10kpps", "5Mbps"]
frames = [64, "imix"]
"""


def line_of(text: str, *overrides: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_spec(text, overrides, source="f.toml")
    message = str(caught.value)
    assert "\n" not in message
    assert caught.value.exit_status == 2
    return message


def test_defaults_fill_in_names_and_links():
    spec = parse_spec(GOOD)

    assert [d.name for d in spec.device] == ["taut_forward", "buffered"]
    assert {d.link for d in spec.device} == {"memif"}
    assert spec.traffic[0].name == "constant"
    assert spec.duration_ns == 1_000_000_000
    assert spec.warm_up_ns == 1_000_000_000


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_valid(path: Path):
    assert parse_spec(path.read_text()).name


def test_there_are_examples():
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('duration = "1s"', 'durration = "1s"', "durration: unknown key; did you mean 'duration'?"),
        ("frames =", "frame =", "traffic[0].frame: unknown key; did you mean 'frames'?"),
        ("[64, ", "[60, ", "60 B: a frame holds headers, probe and FCS, 64 to 1518 B"),
        ('"imix"', '"imax"', "write bytes, like 64, or 'imix'"),
        ('"10kpps"', '"0pps"', "nothing would be sent; give a rate above 0"),
        ('"10kpps"', '"10"', "not a number with a unit; write 100kpps, 100 kpkt/s or 50Mbps"),
        ('"10kpps"', "10", "10 has no unit; write it as text, like '100kpps'"),
        ('"10kpps"', '"1000000000000000pps"', "at most 15 digits"),
        ('"10kpps"', '"9000 Mpps"', "more than one packet a nanosecond; lower it"),
        ('"10kpps"', '"0.5bps"', "less than one packet in 1000 s; raise it"),
        ('"1s"', '"0s"', "duration: nothing would be measured"),
        ('"1s"', '"1 fortnight"', "not a number with a unit; write 10s"),
        (
            'duration = "1s"',
            'duration = "1s"\ntrace = "always"',
            "trace: 'always': input should be",
        ),
        ('duration = "1s"', "", "traffic constant: no length; give duration or count"),
        ('duration = "1s"', 'duration = "1s"\ncount = 5', "duration and count are both given"),
        (
            'driver = "taut_forward"\n[[',
            'driver = "taut_foward"\n[[',
            "did you mean 'taut_forward'",
        ),
        ('name = "buffered"', "", "two of device are called 'taut_forward'"),
        ('name = "buffered"', 'name = "a-b"', "'a-b' is no name here"),
        ('name = "buffered"', 'link = "memfi"', "unknown link 'memfi'; did you mean 'memif'?"),
        ("transmit =", "transmitt =", "device[1]: options: transmitt: "),
        (
            'transmit = "buffered:32,100us"',
            'wait = "interrupt"',
            "link 'memif': wait = 'interrupt' wants receive interrupts; the links that have them: ",
        ),
        ('transmit = "buffered:32,100us"', 'wait = "nap"', "wait 'nap': unknown; known are poll"),
        ("[[traffic]]", '[[traffic]]\ndevices = ["x*"]', "devices ['x*'] matches no device"),
        (
            "[[traffic]]",
            '[[traffic]]\ndevices = ["taut_forward", "bufered"]',
            "traffic constant: devices: no device 'bufered'; did you mean 'buffered'?",
        ),
        ('rates = ["10kpps", "5Mbps"]', "", "traffic[0].rates: missing"),
        ("rates = [", "flows = 0\nrates = [", "traffic[0].flows: 0: "),
        ('name = "good"', 'name = "a/b"', "name: 'a/b' is no name here"),
        ("[[traffic]]", "[links.pci]\n[[traffic]]", "links.pci: no device uses it; write link ="),
    ],
)
def test_a_mistake_is_one_line_that_names_it(old: str, new: str, expected: str):
    assert old in GOOD

    message = line_of(GOOD.replace(old, new))

    assert re.match(r"f\.toml(:\d+:\d+)?: ", message)
    assert expected in message


def test_a_bridge_cannot_use_memif():
    text = GOOD.replace(
        'driver = "taut_forward"\n[[', 'driver = "linux_bridge"\nlink = "memif"\n[['
    )

    assert "driver linux_bridge cannot use link 'memif'; it uses veth" in line_of(text)


def test_a_toml_mistake_names_its_line():
    assert line_of('name = "x"\nduration = 1s\n').startswith("f.toml:2:13: not TOML: ")
    assert line_of('name = "x"\ntraffic = [1,').startswith("f.toml:2:1: not TOML: ")


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('duration = "1s"', 'durration = "1s"', "3:1"),
        ('driver = "taut_forward"\nname', 'driver = "taut_forwrad"\nname', "6:1"),
        ("transmit = ", "transmitt = ", "6:1"),
        ("frames = [64,", "frames = [6,", "12:1"),
        ('rates = ["10kpps"', '  rates = ["10kppps"', "11:3"),
    ],
)
def test_a_wrong_key_is_named_by_its_line_and_column(old: str, new: str, place: str):
    assert line_of(GOOD.replace(old, new)).startswith(f"f.toml:{place}: ")


def test_what_an_override_broke_has_no_line():
    assert line_of(GOOD, "duration=5").startswith("f.toml: duration: ")


def test_overrides_reach_everything():
    spec = parse_spec(
        GOOD,
        [
            "duration=2s",
            'traffic.0.rates=["20kpps"]',
            "device.buffered.options.transmit=single",
            "device.taut_forward.link=veth",
            "traffic.constant.flows=4",
            "cores.generator=1",
        ],
    )

    assert spec.duration_ns == 2_000_000_000
    assert spec.traffic[0].rates == ("20kpps",)
    assert spec.traffic[0].flows == 4
    assert spec.device[1].options == {"transmit": "single"}
    assert spec.device[0].link == "veth"
    assert spec.cores.generator == 1


def test_a_load_has_one_name_however_its_rate_is_written():
    spec = parse_spec(GOOD.replace('"10kpps"', '"10 kpkt/s"'))

    assert spec.traffic[0].rates == ("10kpps", "5Mbps")
    assert spec_hash(spec) == spec_hash(parse_spec(GOOD))


@pytest.mark.parametrize(
    ("typed", "rates"),
    [
        ("""traffic.0.rates=["20kpps"]""", ("20kpps",)),
        ("""traffic.0.rates=['20kpps','5Mbps']""", ("20kpps", "5Mbps")),
        ("""'traffic.0.rates=["20kpps", "5Mbps"]'""", ("20kpps", "5Mbps")),
        ("""traffic.0.rates=["100 kpkt/s"]""", ("100kpps",)),
        ("traffic.constant.rates=20kpps,5Mbps", ("20kpps", "5Mbps")),
        ("traffic.constant.rates=20kpps", ("20kpps",)),
    ],
)
def test_a_list_survives_the_shell(typed: str, rates: tuple[str, ...]):
    [override] = shlex.split(typed)

    assert parse_spec(GOOD, [override]).traffic[0].rates == rates


def test_commas_make_a_list_only_where_the_experiment_has_one():
    overrides = ["device.buffered.options.transmit=buffered:32,50us", "traffic.0.frames=64,imix"]

    spec = parse_spec(GOOD, overrides)

    assert spec.device[1].options == {"transmit": "buffered:32,50us"}
    assert spec.traffic[0].frames == (64, "imix")


def test_what_only_looks_like_a_list_is_text():
    assert "a list is wanted" in line_of(GOOD, """traffic.0.rates=[a,"b,c"]""")


def test_a_network_function_of_one_s_own_is_seen_from_the_experiment_s_folder():
    overrides = ['device.buffered.options.nf=["./mine.so:port=5", "null"]']

    spec = parse_spec(GOOD, overrides, source="/home/me/mine.toml")

    assert spec.device[1].options["nf"] == ["/home/me/mine.so:port=5", "null"]


def test_files_of_a_network_function_are_seen_from_the_experiment_s_folder():
    overrides = ['device.buffered.options.nf=["router:routes=lab/routes,neighbours=/etc/n"]']

    spec = parse_spec(GOOD, overrides, source="/home/me/mine.toml")

    word = "router:routes=/home/me/lab/routes,neighbours=/etc/n"
    assert spec.device[1].options["nf"] == [word]
    assert spec.device[1].driver_options.files == (Path("/home/me/lab/routes"), Path("/etc/n"))


def commands() -> list[str]:
    """The runs of examples/ that files and pages name; the plug-in's wants its package."""
    pattern = re.compile(r"taut run (examples/(?!plugin/)[^`#\n]*)")
    return sorted({command for page in PAGES for command in pattern.findall(page.read_text())})


@pytest.mark.parametrize("command", commands())
def test_a_documented_run_works_as_it_is_typed(command: str):
    path, *words = shlex.split(command)
    overrides = [value for option, value in pairwise(words) if option == "--set"]

    assert parse_spec((ROOT / path).read_text(), overrides).traffic


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("duration", "write key=value"),
        ("traffic.7.flows=1", "no entry '7'; known are constant"),
        ("traffic.².flows=1", "no entry '²'; known are constant"),
        (f"traffic.{'1' * 5000}.flows=1", "no entry '1"),
        ("device.none.link=veth", "no entry 'none'"),
        ("durration=2s", "did you mean 'duration'"),
        ("name.x=1", "name is no table"),
    ],
)
def test_a_wrong_override_is_one_line(override: str, expected: str):
    assert expected in line_of(GOOD, override)


def test_the_hash_is_of_the_experiment_not_of_its_file():
    same = "# a comment\n" + GOOD

    assert spec_hash(parse_spec(GOOD)) == spec_hash(parse_spec(same))
    assert spec_hash(parse_spec(GOOD)) != spec_hash(parse_spec(GOOD, ["seed=2"]))


@pytest.mark.parametrize(
    ("driver", "options"),
    [
        ("snort", 'mode = "filter", rules = "x"'),
        ("suricata", 'mode = "filter", rules = "../x"'),
        ("ovs_dpdk", 'flows = "x"'),
        ("ovs_kernel", 'flows = "./x"'),
        ("linux_router", 'routes = "../x"'),
        ("taut_forward", 'nf = ["./x.so", "firewall:rules=../x"]'),
    ],
)
def test_the_hash_is_the_same_wherever_taut_is_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, driver: str, options: str
):
    text = f"""
name = "here-and-there"
duration = "1s"
device = [{{ driver = "{driver}", options = {{ {options} }} }}]
traffic = [{{ rates = ["10kpps"] }}]
"""
    (tmp_path / "lab").mkdir()
    monkeypatch.chdir(tmp_path)
    above = parse_spec(text, source="lab/f.toml")
    monkeypatch.chdir(tmp_path / "lab")
    beside = [parse_spec(text, source=source) for source in ("f.toml", "../lab/f.toml")]

    assert {spec_hash(spec) for spec in beside} == {spec_hash(above)}
    for path in above.device[0].driver_options.files:
        assert path.is_relative_to(tmp_path)
        assert ".." not in path.parts


def test_tables_of_one_name_add_loads_to_one_curve():
    more = '[[traffic]]\nrates = ["1Mpps"]\ndevices = ["buffered"]\n'

    assert len(parse_spec(GOOD + more).traffic) == 2
    assert "gets 64 B at 10kpps twice" in line_of(GOOD + '[[traffic]]\nrates = ["10kpps"]\n')
    for same in ("10000pps", "0.01Mpps", "5.12Mbps"):
        said = line_of(GOOD + f'[[traffic]]\nrates = ["{same}"]\n')
        assert f"gets 64 B at {same} twice, once as 10kpps" in said
    assert "two of traffic are called" in line_of(GOOD + more.replace("]\n", "]\nflows = 2\n", 1))


HOSTS = '[{name = "as found"}, {name = "trimmed", profile = "recommended", without = ["R06"]}]'


def test_states_of_the_host_are_read():
    spec = parse_spec(GOOD, [f"host={HOSTS}"])

    assert [host.name for host in spec.host] == ["as found", "trimmed"]
    assert [host.is_as_found for host in spec.host] == [True, False]
    assert spec.changes_host
    assert not parse_spec(GOOD).changes_host


@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        ('[{name = "a"}, {name = "a"}]', "two of host are called 'a'"),
        ('[{name = "a", only = ["R66"]}]', "host 'a': only: R66: no such check or remedy; did"),
        (
            '[{name = "a", profile = "minimal", without = ["R06-nwo"]}]',
            "host 'a': without: R06-nwo: no such check or remedy; did you mean R06?",
        ),
        ('[{name = "a", profile = "most"}]', "'most'"),
        ('[{name = "a", profile = "minimal", only = ["R06"]}]', "profile and only are both given"),
        ('[{name = "a", without = ["R06"]}]', "without leaves out of nothing"),
        ('[{name = "as found", only = ["R06"]}]', "names the host that nothing is changed of"),
        ('[{name = "A/b"}]', "is no name here"),
    ],
)
def test_a_state_that_cannot_be_is_one_line(hosts: str, said: str):
    assert said in line_of(GOOD, f"host={hosts}")


def test_what_is_required_is_read_when_the_file_is():
    spec = parse_spec(GOOD + '[require]\n"p99.9" = "< 25us"\nprofile = "urllc"\n', source="f.toml")

    assert spec.require == ("within(1ms) >= 99.999%", "p99.9 < 25us")


def test_a_requirement_that_is_none_is_named_in_its_line():
    message = line_of(GOOD + '[require]\n"p99.9" = "25us"\n')

    assert message.startswith(f"f.toml:{GOOD.count(chr(10)) + 1}:1: require: ")
    assert "requirement 'p99.9 25us': not a requirement" in message


def test_a_list_of_requirements_is_read_like_a_table():
    asked = 'require = ["p99 < 25us", "loss = 0"]\n'

    assert parse_spec(asked + GOOD).require == ("p99 < 25us", "loss = 0")
    assert parse_spec(GOOD, ["require=p99 < 25us"]).require == ("p99 < 25us",)
    message = line_of('require = ["loss = 0", "p99 < 25"]\n' + GOOD)
    assert message.startswith("f.toml:1:1: require: requirement 'p99 < 25': ")
    assert "requirement 'p99 < 25': " in line_of(GOOD, "require=p99 < 25")


def test_what_is_required_changes_no_measurement():
    asked = GOOD + '[require]\nloss = "= 0"\n'

    assert spec_hash(parse_spec(asked)) == spec_hash(parse_spec(GOOD))


def test_how_long_a_search_may_go_on_changes_no_trial_it_has():
    searched = [
        spec_hash(parse_spec(GOOD, ["search.min=2kpps", *more]))
        for more in (
            [],
            ["search.limit=1h"],
            ["search.repeats=9"],
            ["search.max=1Mpps"],
        )
    ]

    assert len({*searched[:3]}) == 1
    assert searched[3] != searched[0]


@pytest.mark.parametrize("said", ["search.limit=1h", "search.repeats=9"])
def test_a_search_without_a_word_of_it_in_its_file_may_get_another_limit(said):
    assert spec_hash(parse_spec(GOOD, [said])) == spec_hash(parse_spec(GOOD))


@pytest.mark.parametrize(
    ("deadline", "asked", "said"),
    [
        ("100us", '[require]\n"p99.9" = "< 200us"\n', "requirement 'p99.9 < 200us': what takes"),
        ("100us", '[require]\nmax = "< 1ms"\n', "the deadline of 100 µs counts as lost"),
        ("100us", '[require]\n"within(1ms)" = ">= 99%"\n', "measure with a longer deadline"),
        ("1s", '[[goal]]\nname = "a"\nwithin = "2s"\nshare = "99%"\n', "goal a: what takes longer"),
    ],
)
def test_latencies_that_count_as_lost_are_not_asked_for(deadline: str, asked: str, said: str):
    assert said in line_of(GOOD + asked, f"deadline={deadline}")

    assert parse_spec(GOOD + asked, ["deadline=2s"])

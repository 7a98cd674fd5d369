import pytest

from taut.core.errors import InputError
from taut.core.requirement import parse_requirement
from taut.core.requirement_profiles import PROFILES, all_requirements, profile_requirements


@pytest.mark.parametrize(
    ("text", "what", "limit", "share", "deadline_ns", "least_ns"),
    [
        ("p99.99 < 25us", "p", 25_000, 1e-4, None, 0),
        ("p50<=1.5 ms", "p", 1_500_000, 0.5, None, 0),
        ("max < 20us for 12h", "max", 20_000, 0, None, 43_200_000_000_000),
        ("min >= 3us", "min", 3_000, 0, None, 0),
        ("loss = 0", "loss", 0, 0, None, 0),
        ("loss <= 0.001%", "loss", 1e-5, 1e-5, None, 0),
        ("within(1ms) >= 99.999%", "within", 0.99999, 1e-5, 1_000_000, 0),
        ("window(10us..1ms) >= 99.9%", "window", 0.999, 1e-3, 1_000_000, 0),
        ("in_a_row(500us) <= 3", "in_a_row", 3, 0, 500_000, 0),
        ("outage(1ms) < 2ms", "outage", 2_000_000, 0, 1_000_000, 0),
    ],
)
def test_what_is_asked_is_read(text, what, limit, share, deadline_ns, least_ns):
    found = parse_requirement(f" {text} ")

    assert (found.text, found.what, found.deadline_ns) == (text, what, deadline_ns)
    assert (found.limit, found.share_above, found.least_ns) == pytest.approx(
        (limit, share, least_ns)
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max", "not a requirement"),
        ("p99.9 < 25", "not a number with a unit"),
        ("p100 < 25us", "not a requirement"),
        ("p0 < 25us", "asks for nothing"),
        ("p99 > 2us", "p99 goes with < or <="),
        ("median < 2us", "'median' is not known"),
        ("loss < 1", "'1' asks for nothing"),
        ("loss <= 100%", "asks for nothing"),
        ("within(1ms) >= 0", "asks for nothing"),
        ("window(10us..1ms) > 0%", "asks for nothing"),
        ("loss = 1%", "only none can be asked for exactly"),
        ("loss < 1kpps", "not from 0 to 100 %"),
        ("within >= 99%", "write within(1ms) >= ..."),
        ("p99(1ms) < 2us", "write p99 < ..."),
        ("window(1ms) >= 99%", "write window(10us..1ms)"),
        ("within(1us..1ms) >= 99%", "write within(1ms)"),
        ("window(2ms..1ms) >= 99%", "the window ends before it begins"),
        ("within(1ms) >= 110%", "not from 0 to 100 %"),
        ("loss < nan", "not from 0 to 100 %"),
        ("loss < snan", "not from 0 to 100 %"),
        ("within(1ms) >= inf", "not from 0 to 100 %"),
        ("in_a_row(1ms) <= x", "a number of packets"),
        ("p99 < 2us for ever", "not a number with a unit"),
    ],
)
def test_what_is_no_requirement_is_refused_by_name(text, said):
    with pytest.raises(InputError) as error:
        parse_requirement(text)

    assert repr(text) in str(error.value)
    assert said in str(error.value)


def test_every_profile_has_requirements_that_are_read():
    given = {"oran": "oran:latest=160us,earliest=10us"}
    for name in PROFILES:
        assert profile_requirements(given.get(name, name))

    assert [one.text for one in profile_requirements("cps:interval=500us")] == [
        "outage(500us) <= 1ms"
    ]
    assert [one.earliest_ns for one in profile_requirements(given["oran"])] == [10_000]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("urlc", "not known; these are: urllc"),
        ("oran", "write oran:latest=..."),
        ("ecpri:budget=3us", "'budget' is no setting"),
        ("ecpri:within", "'within' is no setting"),
        ("urllc:within=soon", "not a number with a unit"),
    ],
)
def test_a_profile_that_is_none_is_refused(text, said):
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        profile_requirements(text)


def test_one_that_is_asked_twice_is_judged_once():
    texts = ["within(1ms) >= 99.999%", "loss = 0"]

    found = all_requirements(texts, ["urllc"])

    assert [one.text for one in found] == texts

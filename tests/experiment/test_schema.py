"""The experiment's schema: it takes what the reader takes, and refuses what is planted here."""

import re
import tomllib
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from grammar import cases
from taut.cli.init import EXPERIMENT
from taut.core.errors import InputError
from taut.core.units import parse_duration_ns, parse_rate
from taut.experiment.plan import make_plan
from taut.experiment.preflight import check_schedules
from taut.experiment.schema import experiment_schema
from taut.experiment.spec import parse_spec
from taut.records.documents.described import Described, MemberDescribed, OptionDescribed

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))

SCHEDULES = (
    MemberDescribed("constant"),
    MemberDescribed("jittered", (OptionDescribed("percent"),)),
    MemberDescribed("poisson"),
    MemberDescribed("burst", (OptionDescribed("size", others={"type": "uint", "min": 2}),)),
)
SCHEMA = experiment_schema(SCHEDULES)
VALIDATOR = Draft202012Validator(SCHEMA)
WITHOUT_SCHEDULES = Draft202012Validator(experiment_schema(None))

GOOD = """\
name = "good"
seed = 1
repetitions = 2
duration = "1s"
record = "auto"
trace = true
floor = true
[cores]
generator = "auto"
device = 1
[[device]]
driver = "taut_forward"
link = "memif"
options = { transmit = "single", burst = 4, stamp_every = "auto" }
[[device]]
driver = "chain"
options = { hops = [{ wait = "poll" }, { nf = ["mac_swap"] }] }
[[device]]
driver = "linux_bridge"
link = "veth"
[[device]]
driver = "testpmd"
link = "pci"
[[host]]
name = "trimmed"
only = ["R24", "K04-now"]
[[traffic]]
schedule = "burst"
options = { size = 32 }
frames = [64, "imix", "1500"]
rates = ["10kpps", "50 Mbit/s"]
rate_layer = "l1"
flows = 2
both = false
[links.pci]
generator = ["0000:3b:00.0"]
"""

PLANTED = [
    ('name = "good"\n', ""),
    ('"good"', '"not a name"'),
    ("seed = 1", "sead = 1"),
    ("seed = 1", "seed = -1"),
    ("repetitions = 2", "repetitions = 0"),
    ('duration = "1s"', "duration = 1"),
    ('duration = "1s"', 'duration = "1 fortnight"'),
    ('record = "auto"', 'record = "most"'),
    ("trace = true", 'trace = "all"'),
    ("floor = true", 'floor = "perhaps"'),
    ("device = 1", "device = -1"),
    ("device = 1", "dut = 1"),
    ('driver = "taut_forward"\n', ""),
    ('driver = "taut_forward"', 'driver = "taut-forward"'),
    ('link = "memif"', 'link = "wire"'),
    ("burst = 4", "burst = 512"),
    ("burst = 4", "bursts = 4"),
    ('stamp_every = "auto"', 'stamp_every = "always"'),
    ("burst = 4", 'forward_mode = "io"'),
    ('{ wait = "poll" }, ', ""),
    ('wait = "poll"', 'wait = ["poll"]'),
    ('link = "veth"', 'link = "memif"'),
    ('only = ["R24", "K04-now"]', 'profile = "all"'),
    ('"R24"', '"Q24"'),
    ('"K04-now"', '"Q04-now"'),
    ('name = "trimmed"\n', ""),
    ('schedule = "burst"', 'schedule = "bursts"'),
    ("size = 32", "percent = 5"),
    ('[64, "imix"', '[60, "imix"'),
    ('"imix"', '"imax"'),
    ('[64, "imix", "1500"]', "64"),
    ('"10kpps"', "10"),
    ('"10kpps"', '"10"'),
    ('["10kpps", "50 Mbit/s"]', "[]"),
    ('rate_layer = "l1"', 'rate_layer = "l3"'),
    ("flows = 2", "flows = 100_000"),
    ("both = false", "bath = false"),
    ("links.pci", "links.cable"),
]


def errors_of(text: str) -> list[str]:
    return [f"{e.json_path}: {e.message}" for e in VALIDATOR.iter_errors(tomllib.loads(text))]


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert re.fullmatch(r"urn:taut:schema:experiment:[0-9.]+|.*:unknown", SCHEMA["$id"])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_it_takes_every_example(path: Path) -> None:
    assert errors_of(path.read_text()) == []


def test_it_takes_what_init_writes_and_every_key_that_is_commented_out_there() -> None:
    text = EXPERIMENT.format(name="x", file="x.toml")

    assert errors_of(text) == []
    assert errors_of(re.sub(r"(?m)^#(?=\S)", "", text)) == []


def test_it_takes_what_errors_are_planted_in() -> None:
    assert errors_of(GOOD) == []
    assert parse_spec(GOOD).name == "good"


@pytest.mark.parametrize(
    ("require", "is_taken"),
    [
        ('["p99.99 < 25us", "loss = 0"]', True),
        ('{ "p99.99" = "< 25us", profile = ["cps"] }', True),
        ("[]", True),
        ('"loss = 0"', False),
        ("[1]", False),
    ],
)
def test_requirements_are_a_table_or_a_list_of_rules(require: str, is_taken: bool) -> None:
    text = f"require = {require}\n{GOOD}"

    assert (errors_of(text) == []) is is_taken
    if is_taken:
        assert isinstance(parse_spec(text).require, tuple)
    else:
        with pytest.raises(InputError):
            parse_spec(text)


@pytest.mark.parametrize(("old", "new"), PLANTED)
def test_it_refuses_a_planted_error_as_the_reader_does(old: str, new: str) -> None:
    text = GOOD.replace(old, new, 1)
    assert text != GOOD

    assert errors_of(text) != []
    with pytest.raises(InputError):
        check_schedules(make_plan(parse_spec(text)), Described(schedules=SCHEDULES))


def test_it_refuses_a_number_that_only_the_generator_would() -> None:
    assert errors_of(GOOD.replace("size = 32", 'size = "1"')) == []
    assert "1 is less than the minimum of 2" in errors_of(GOOD.replace("size = 32", "size = 1"))[0]


def test_an_error_names_the_option_and_not_all_that_drivers_have() -> None:
    found = best_match(VALIDATOR.iter_errors(tomllib.loads(GOOD.replace("size = 32", "siz = 32"))))

    assert found.json_path == "$.traffic[0].options"
    assert "'siz' was unexpected" in found.message


@pytest.mark.parametrize("kind", ["duration", "rate", "frame"])
def test_texts_are_taken_that_both_halves_read(kind: str) -> None:
    key = {"duration": "duration", "rate": "rates", "frame": "frames"}[kind]
    table = SCHEMA["properties"] if kind == "duration" else SCHEMA["$defs"]["TrafficSpec"]
    part = table["duration"] if kind == "duration" else table["properties"][key]["items"]
    validator = Draft202012Validator(part)

    for text, meaning in cases(kind):
        assert meaning is None or validator.is_valid(text), text
        assert meaning is not None or not validator.is_valid(text) or _has_form(kind, text), text


def _has_form(kind: str, text: str) -> bool:
    """Whether a refused text is wrong by its number alone, which a pattern does not see."""
    if kind == "frame":
        return text.isdecimal()
    read = parse_duration_ns if kind == "duration" else parse_rate
    try:
        read(text)
    except InputError as error:
        numbers = "too long|finer than|nothing would be sent|at most 15 digits"
        return re.search(numbers, str(error)) is not None
    return True


def test_every_key_of_an_experiment_is_described() -> None:
    parts = {"": SCHEMA, **SCHEMA["$defs"]}

    silent = [
        f"{name}.{key}"
        for name, part in parts.items()
        for key, value in part.get("properties", {}).items()
        if not value.get("description")
    ]

    # A new key: its comment in the example of experiment/model.py, or a docstring below the field.
    assert silent == []


VALUES: tuple[Any, ...] = (
    *("10s", "0s", "1.5 ms", "100kpps", "50Mbps", "imix", "auto", "off", "nonsense", "a b", ""),
    *("taut_forward", "command", "loopback", "memif", "veth", "poisson", "l2", "R24", "K04-now"),
    *(64, 1500, -1, 7, 2.5, True, False, [], ["*"], ["R06"], {}, {"size": 4}, {"burst": 8}),
    *({"argv": ["true"]}, [64, "imix"], ["1kpps"], {"veth": {}}),
)


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32))
def test_what_the_reader_takes_is_taken(seed: int) -> None:
    random = Random(seed)
    document = tomllib.loads(GOOD)
    for _ in range(random.randrange(1, 3)):
        _change(document, random)

    try:
        parse_spec(_toml(document))
    except InputError:
        return
    assert [error.message for error in WITHOUT_SCHEDULES.iter_errors(document)] == []


def _change(table: dict[str, Any], random: Random) -> None:
    """Give a key at any depth another value, or take it away."""
    key = random.choice(list(table))
    inner = table[key][0] if isinstance(table[key], list) and table[key] else table[key]
    if isinstance(inner, dict) and inner and random.random() < 0.9:
        _change(inner, random)
    elif random.random() < 0.15:
        del table[key]
    else:
        # The reader takes numbers for truth and truth for numbers; the schema wants the type.
        table[key] = random.choice(
            [v for v in VALUES if isinstance(v, bool) == isinstance(table[key], bool)]
        )


def _toml(value: Any) -> str:
    """Spell a document with inline tables."""
    return "\n".join(f"{key} = {_inline(inner)}" for key, inner in value.items())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}" = {_inline(inner)}' for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)

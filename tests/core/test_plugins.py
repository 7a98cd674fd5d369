"""What other packages add stands in the tables; what clashes or fails is one line, and no more."""

import json
from pathlib import Path

import pytest

from made_plugin import CHECK, make_plugin, python, taut, taut_json
from taut.core.plugins import Family, PluginWarning, groups
from taut.dut.drivers import DRIVERS
from taut.host.checks import CHECKS
from taut.host.plugged import guarded, refuses
from taut.host.table import Check

GOOD = CHECK.format(id="MADE01", judge='return passed("all is well")')


def made(folder: Path, name: str, target: str, source: str, group: str = "taut.checks") -> Path:
    return make_plugin(folder, "taut-made", {group: {name: target}}, {"made": source})


def why_not(folder: Path) -> str:
    """What `taut plugins` says of the only plug-in."""
    [row] = taut_json(folder, "plugins")["plugins"]
    return row["why_not"]


def test_a_check_of_another_package_stands_in_the_audit(tmp_path: Path) -> None:
    made(tmp_path, "MADE01", "made:ROW", GOOD)

    [row] = taut_json(tmp_path, "plugins")["plugins"]
    audit = taut_json(tmp_path, "host", "audit", "--watch", "0s")

    assert row == {
        "name": "MADE01",
        "kind": "check",
        "package": "taut-made",
        "version": "1.0",
        "target": "made:ROW",
        "why_not": None,
    }
    assert [c["id"] for c in audit["checks"]][-1] == "MADE01"
    assert audit["checks"][-1]["observed"] == "all is well"


BAD = {
    "R06": (GOOD, "R06 is a name of taut itself; the package has to take another"),
    "BAD02": ("import not_there", "cannot be imported: ModuleNotFoundError: No module named"),
    "BAD03": ("1 +", "cannot be imported: SyntaxError: invalid syntax"),
    "BAD04": ("import sys; sys.exit(3)", "cannot be imported: SystemExit: 3"),
    "BAD05": ("", "cannot be imported: AttributeError: module 'bad05' has no attribute 'ROW'"),
    "BAD06": ("ROW = 1", "bad06:ROW is no Check: it is of type int"),
    "BAD07": ("class ROW: pass", "bad07:ROW is a class; name an object of it"),
    "BAD08": (GOOD, "bad08:ROW calls itself 'MADE01'; give the entry point that name"),
    "R99": (GOOD.replace("MADE01", "R99"), "id 'R99': two to eight capitals and two digits"),
    "HW99": (GOOD.replace("MADE01", "HW99"), "id 'HW99': HW is a group of taut's catalogue"),
    "BAD11": ("from taut.host.checks import CHECKS", "cannot be imported: ImportError: cannot"),
}


def test_what_cannot_stand_there_is_one_line_and_stops_nothing(tmp_path: Path) -> None:
    for name, (source, _) in BAD.items():
        points = {"taut.checks": {name: f"{name.lower()}:ROW"}}
        make_plugin(tmp_path, f"taut-{name.lower()}", points, {name.lower(): source})
    made(tmp_path, "MADE01", "made:ROW", GOOD)

    status, out, err = taut(tmp_path, "host", "audit", "--watch", "0s", "--json")

    assert status == 0
    assert [c["id"] for c in json.loads(out)["checks"]] == [*(c.id for c in CHECKS), "MADE01"]
    said = sorted(err.splitlines())
    assert len(said) == len(BAD)
    for line, (name, (_, why)) in zip(said, sorted(BAD.items()), strict=True):
        assert line.startswith(f"taut: plug-in {name} of taut-{name.lower()} 1.0: {why}")
    rows = taut_json(tmp_path, "plugins")["plugins"]
    whys = {row["name"]: row["why_not"] or "" for row in rows}
    assert all(whys[name].startswith(why) for name, (_, why) in BAD.items())


def test_a_member_that_fails_where_it_is_looked_at_is_left_out(tmp_path: Path) -> None:
    cause = (
        "from taut.explain.cause import Cause, Evidence\n"
        "X = Cause('x', 't', 'w', Evidence.EVENT, 's', ('#000000', '#ffffff'), vectors=None,"
        " threads=('house',))"
    )
    figure = "class X:\n    def __getattr__(self, name): raise SystemExit(3)\nX = X()"
    make_plugin(tmp_path, "taut-cause", {"taut.causes": {"x": "cause:X"}}, {"cause": cause})
    make_plugin(tmp_path, "taut-figure", {"taut.figures": {"x": "figure:X"}}, {"figure": figure})

    rows = taut_json(tmp_path, "plugins")["plugins"]

    assert {row["kind"]: row["why_not"] for row in rows} == {
        "cause": "its code failed: TypeError: 'NoneType' object is not iterable; "
        "mend or uninstall it",
        "figure": "its code failed: SystemExit: 3; mend or uninstall it",
    }


def test_two_packages_with_one_name_are_both_left_out(tmp_path: Path) -> None:
    points = {"taut.checks": {"MADE01": "made:ROW"}}
    for package in ("taut-one", "taut-two"):
        make_plugin(tmp_path, package, points, {"made": GOOD})

    rows = taut_json(tmp_path, "plugins")["plugins"]

    assert [row["why_not"] for row in rows] == [
        "also MADE01 of taut-two 1.0; uninstall one",
        "also MADE01 of taut-one 1.0; uninstall one",
    ]


def test_a_group_without_a_table_is_named(tmp_path: Path) -> None:
    made(tmp_path, "MADE01", "made:ROW", GOOD, group="taut.check")

    assert "taut has no table taut.check; there are taut.devices, taut.placements," in why_not(
        tmp_path
    )


def test_what_a_plugin_prints_stands_in_no_document(tmp_path: Path) -> None:
    made(tmp_path, "MADE01", "made:ROW", f"print('hello')\n{GOOD}")

    status, out, err = taut(tmp_path, "host", "audit", "--watch", "0s", "--json")

    assert (status, err) == (0, "hello\n")
    assert out.startswith("{")


def test_the_list_is_read_at_80_columns(tmp_path: Path) -> None:
    made(tmp_path, "MADE01", "made:ROW", GOOD)
    make_plugin(tmp_path, "taut-bad", {"taut.causes": {"x": "bad:X"}}, {"bad": "X = 1"}, "0.2")

    _, out, err = taut(tmp_path, "plugins")

    assert err == ""
    assert out == (
        "cause x: of taut-bad 0.2; left out: bad:X is no Cause: it is of type int\n"
        "check MADE01: of taut-made 1.0\n"
    )


def test_names_are_known_before_anything_is_imported(tmp_path: Path) -> None:
    """Of devices, one that is named imports its own package and no other."""
    points = {"taut.devices": {"bad_one": "bad:X", "other": "other:X"}}
    modules = {"bad": "raise RuntimeError('no')", "other": "raise SystemExit"}
    make_plugin(tmp_path, "taut-made", points, modules)

    lines = python(
        tmp_path,
        "import sys\n"
        "from taut.core.errors import InputError\n"
        "from taut.dut.drivers import DRIVERS\n"
        "print(DRIVERS.names()[-2:], 'bad_one' in DRIVERS, 'bad' in sys.modules)\n"
        "try: DRIVERS['bad_one']\n"
        "except InputError as error: print(error)\n"
        "print('other' in sys.modules)\n",
    )

    assert lines[0] == "['bad_one', 'other'] True False"
    assert lines[1].startswith("plug-in bad_one of taut-made 1.0: cannot be imported: Runtime")
    assert lines[2] == "False"


def test_a_device_may_be_made_of_another_of_the_table(tmp_path: Path) -> None:
    source = "from taut.dut.drivers.command import CommandDriver\nX = CommandDriver()\nX.name = 'x'"
    make_plugin(tmp_path, "taut-made", {"taut.devices": {"x": "made:X"}}, {"made": source})

    lines = python(
        tmp_path,
        "import made\n"
        "from taut.dut.drivers import DRIVERS\n"
        "print(DRIVERS['x'].summary, len(DRIVERS))",
    )

    assert lines == [f"{DRIVERS['command'].summary} {len(DRIVERS) + 1}"]


def test_a_check_that_raises_is_unknown_and_has_no_remedies(tmp_path: Path) -> None:
    def judge(_: object) -> None:
        raise ValueError("no number")

    broken: Check = Check(
        "MADE01",
        "t",
        "f",
        CHECKS[0].severity,
        judge,
        remedies=judge,  # type: ignore[arg-type]
    )

    finding = guarded(broken).judge(None)  # type: ignore[arg-type]

    assert finding.observed == "its code failed: ValueError: no number"
    assert finding.needs
    assert guarded(broken).remedies(None) == ()  # type: ignore[operator,arg-type]


def test_claims_of_a_plugin_are_held_to_those_of_all_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = "A = {'name': 'a', 'has': 1}\nB = {'name': 'b', 'has': 2}\nC = {'name': 'c', 'has': 2}"
    points = {"taut.made": {"a": "made_claims:A", "b": "made_claims:B", "c": "made_claims:C"}}
    make_plugin(tmp_path, "taut-made", points, {"made_claims": source})
    monkeypatch.syspath_prepend(tmp_path)
    groups.cache_clear()
    ours = [{"name": "ours", "has": 1}]
    family = Family(
        "taut.made", dict, ours, lambda m: m["name"], claims=lambda m: [f"number {m['has']}"]
    )

    with pytest.warns(PluginWarning) as said:
        added = family.added()

    groups.cache_clear()
    assert list(added) == ["b"]
    assert [str(line.message) for line in said] == [
        "plug-in a of taut-made 1.0: number 1 is what ours of taut itself has; "
        "the package has to take another",
        "plug-in c of taut-made 1.0: number 2 is what b of taut-made 1.0 has; "
        "the package has to take another",
    ]


def test_taut_s_own_checks_could_not_be_a_plugin_s() -> None:
    assert all(refuses(check) for check in CHECKS if check.id[-2:].isdigit())


@pytest.mark.parametrize(
    ("interface", "table"),
    [
        ("taut.dut.driver", "taut.dut.drivers"),
        ("taut.testbed.placement", "taut.testbed.placements"),
        ("taut.analysis.metric", "taut.analysis.metrics"),
        ("taut.explain.cause", "taut.explain.causes"),
        ("taut.report.figure", "taut.report.figures"),
        ("taut.host.table", "taut.host.checks"),
    ],
)
def test_what_a_plugin_imports_does_not_import_its_table(interface: str, table: str) -> None:
    """Else the table would look for the plug-in while that is imported."""
    code = f"import sys, {interface}; print({table!r} in sys.modules)"

    assert python(Path(), code) == ["False"]

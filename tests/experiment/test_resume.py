"""Which run is gone on with: one of the same experiment, its files and its command."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from taut.core.errors import InputError
from taut.core.files import write_json
from taut.experiment.plan import Plan, make_plan
from taut.experiment.run_manifest import Origin, hash_inputs
from taut.experiment.runner import open_run
from taut.experiment.spec import parse_spec, spec_hash

TEXT = """
name = "run"
duration = "1s"
[[device]]
driver = "taut_forward"
[[traffic]]
rates = ["10kpps"]
"""


@pytest.fixture
def plan() -> Plan:
    return make_plan(parse_spec(TEXT))


@pytest.mark.parametrize(
    ("began", "said"),
    [
        ("/opt/bin/taut soak", "begun by `taut soak`, not by `taut run`; resume it by that, or"),
        ("/usr/lib/taut/cli/main.py trim", "begun by `taut trim`, not by `taut run`; resume it"),
        ("taut run", None),
        ("", None),  # by an older taut, or
        ("sweep.py soak", None),  # by a program that calls taut
    ],
)
def test_what_another_command_began_is_not_mixed_in(began, said, plan: Plan, tmp_path: Path):
    known = {"spec": {"hash": spec_hash(plan.spec)}, "taut": {"command_line": began.split()}}
    (out := tmp_path / "run").mkdir()
    write_json(out / "manifest.json", known)

    with pytest.raises(InputError, match=said) if said else nullcontext():
        open_run(plan, out, True, Origin(command_line=["taut", "run", "x.toml"]))


def test_a_file_of_a_device_that_changed_is_not_mixed_in(tmp_path: Path):
    rules, out = tmp_path / "fw.nft", tmp_path / "run"
    rules.write_text("add table inet t\n")
    text = TEXT.replace("[[tr", 'options = { nf = ["firewall:rules=fw.nft"] }\n[[tr')
    plan = make_plan(parse_spec(text, source=str(tmp_path / "fw.toml")))
    inputs = hash_inputs(plan.spec)
    open_run(plan, out, resume=False)
    write_json(out / "manifest.json", {"spec": {"hash": spec_hash(plan.spec)}, "inputs": inputs})
    assert inputs.keys() == {str(rules)}
    assert open_run(plan, out, resume=True).path == out

    rules.write_text("add table inet u\n")

    with pytest.raises(InputError, match=r"fw.nft: has changed since .*/run began; resume with"):
        open_run(plan, out, resume=True)


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("left", [(), (".tmp-manifest.json",)])
def test_a_run_killed_before_its_manifest_can_be_begun_and_resumed(
    left: tuple[str, ...], resume: bool, plan: Plan, tmp_path: Path
):
    (tmp_path / "run/trials").mkdir(parents=True)
    for name in left:
        (tmp_path / "run" / name).touch()

    assert open_run(plan, tmp_path / "run", resume=resume).path == tmp_path / "run"

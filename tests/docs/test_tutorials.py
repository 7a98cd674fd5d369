"""What a tutorial tells to type works, in order, and prints what stands below it, numbers apart."""

import re
from pathlib import Path

import pytest

from tutorials import Step, run, steps

ROOT = Path(__file__).parents[2]
PAGES = sorted(ROOT.glob("docs/tutorials/*.md"))
OF_ROOT = {"why-late", "trim-a-host"}


@pytest.mark.smoke
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[pytest.mark.root] if page.stem in OF_ROOT else [])
        for page in PAGES
    ],
)
def test_a_tutorial_prints_what_it_says(page: Path, tmp_path: Path) -> None:
    told = list(steps(page.read_text()))

    for step in told:
        printed = run(step, tmp_path)
        assert step.bare(printed) == step.bare(step.printed), step.command

    assert len(told) >= 3


def test_another_line_is_seen_and_another_number_is_not() -> None:
    step = Step("x", ("eager  20,000  0  1.20 µs  5.97 ms*", "No proof"), re.compile("^eager"))

    assert step.same(["eager 9,000  0  61 ns 7 µs", "Proof of another kind"])
    assert not step.same(["buffered 9,000  0  61 ns 7 µs", "No proof"])
    assert not step.same(["eager 9,000  0  61 ns", "No proof"])
    assert not step.same([])

import json
import re
from dataclasses import replace
from math import inf

import pytest

from browser import needs_browser, wrong_in
from host_tree import tree
from made_run import MadeTrial, MadeVariant, make_run
from taut.analysis.paired import paired_ratio
from taut.analysis.results import analyse_run
from taut.cli.main import run_command
from taut.core.errors import InputError
from taut.host.situation import POLLS_ONLY, Waiting
from taut.records.documents.json_form import parse, plain_object
from taut.records.documents.trim import TRIM_FILE, TrimDocument
from taut.records.rundir import RunDirectory
from taut.report import page
from taut.report import trim as report
from taut.report.html import write_html
from taut.trim.bench import Repetition
from taut.trim.candidates import Candidate, CauseFound, When
from taut.trim.decision import HARMFUL, Decision, decide
from taut.trim.document import as_document
from taut.trim.trim import Compared, Trimmed

SHORTER = [-1.1, -0.9, -1.3, -1.0, -1.2, -0.8, -1.05]
"""ln(trimmed / as found) of seven pairs: about a third."""

UNKNOWN = [-1.0, 0.9, -0.2, 0.3, 1.1, -0.8, 0.05]
NOT_READ = {"format", "groups", "waiting"}
"""Keys that say again what others say, are looked at before, or that older documents lack."""


def candidate(remedy, when=When.NOW, cause="preemption", **changes):
    share = 0.96 if cause else 0.0
    rest = {"severity": "critical", "risk": "", "cost": "fewer cores <b>", "lines": ("/a: 1",)}
    return Candidate(
        remedy, remedy[:3], f"does {remedy}", when, cause, share, **{**rest, **changes}
    )


CANDIDATES = (
    candidate("R24-now", lines=tuple(f"affinity of thread {n}: 0" for n in range(5))),
    candidate("R06-now", cause="", cost=""),
    candidate("K04-boot", When.BOOT, lines=("kernel parameter isolcpus=domain,1",)),
    candidate("R02-by-hand", When.BY_HAND, lines=("move it by hand",)),
)
CAUSES = (CauseFound("preemption", "another thread ran", 0.96),)


def compared(after, log_ratios):
    repetitions = [
        Repetition(n, {"as found": {"eager, 100 kpkt/s": 9000.0}, after: {}})
        for n in range(2, 2 + len(log_ratios))
    ]
    effect = paired_ratio(log_ratios, 0.984)
    return Compared("as found", after, repetitions, effect, effect)


def made(log_ratios, groups=None):
    """A trim that came to its end."""
    whole = compared("trimmed", log_ratios)
    ratios = {cause: paired_ratio(of, 0.984) for cause, of in (groups or {}).items()}
    return Trimmed(
        causes=CAUSES,
        candidates=CANDIDATES,
        whole=whole,
        groups={cause: compared(f"without {cause}", of) for cause, of in (groups or {}).items()},
        decided=decide(CANDIDATES, whole.verdict, ratios),
        notes=["a note <i>"],
    )


HELPS = made(SHORTER, {"preemption": [1.0, 0.8, 1.2, 0.9, 1.1, 0.7, 1.3], "": UNKNOWN})
NOT_SHOWN = made(UNKNOWN)
HARMS = made([-x for x in SHORTER])
DRY = Trimmed(causes=CAUSES, candidates=CANDIDATES)


def document_of(found, waiting=POLLS_ONLY):
    """As it comes back from the file."""
    asked = {"target": "p99.9", "figure": "p99.9", "cores": (1,), "waiting": waiting}
    document = plain_object(as_document(found, **asked, took_s=12.0))
    document["causes"] = [
        {**of, "after": 0.0, "late_ns_before": 1e6, "late_ns_after": 0.0} if found.whole else of
        for of in document["causes"]
    ]
    return json.loads(json.dumps(document))


@pytest.fixture(scope="module")
def analysed(tmp_path_factory):
    trial = MadeTrial(n_packets=2_000, n_cold=100, device_stall=None)
    variants = tuple(
        MadeVariant("eager", "taut_forward", trial, host=state) for state in ("as found", "trimmed")
    )
    path = make_run(tmp_path_factory.mktemp("trim") / "run", variants, (1e5, 2e5), repetitions=1)
    run = RunDirectory(path)
    return run, analyse_run(run)


@pytest.fixture
def _no_script(monkeypatch):
    """Neither is the library for the browser needed where there is none."""
    monkeypatch.setattr(page, "javascript", lambda: "")


def page_of(analysed, document, out):
    run, _ = analysed
    (run.path / TRIM_FILE).write_text(json.dumps(document))
    return write_html([analysed], out / "report.html").read_text(encoding="utf-8")


def words_of(page):
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def test_the_report_reads_the_file_that_a_trim_writes(tmp_path):
    for found in (HELPS, NOT_SHOWN, HARMS, DRY, Trimmed()):
        (tmp_path / TRIM_FILE).write_text(json.dumps(document_of(found)))
        assert report.read_trim(tmp_path).sentence


@pytest.mark.parametrize("key", sorted(set(document_of(HELPS)) - NOT_READ))
def test_a_key_that_is_missing_is_one_clear_line(key, tmp_path):
    document = document_of(HELPS)
    del document[key]
    (tmp_path / TRIM_FILE).write_text(json.dumps(document))

    with pytest.raises(InputError, match=f"^[^\n]*trim.json: {key}: a value expected[^\n]*$"):
        report.read_trim(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"causes": 7},
        {"effect": {**document_of(HELPS)["effect"], "low": 0.0}},
        {"remedies": ["R24"]},
        {"took_s": "long"},
    ],
)
def test_a_value_that_is_another_is_one_clear_line(change, tmp_path):
    (tmp_path / TRIM_FILE).write_text(json.dumps(document_of(HELPS) | change))

    with pytest.raises(InputError, match=r"^[^\n]*trim.json: [^\n]* not in this report[^\n]*$"):
        report.read_trim(tmp_path)


@pytest.mark.usefixtures("_no_script")
def test_a_trim_of_another_taut_is_a_warning_and_the_rest_is_reported(analysed, tmp_path):
    page = page_of(analysed, document_of(HELPS) | {"format": 2}, tmp_path)

    words = words_of(page)
    assert "format 2, this taut shows format 1" in words
    assert "What became of each remedy" not in words
    assert "Trimmed beside as found: " in words
    assert '<figure id="trimmed"' in page


@pytest.mark.usefixtures("_no_script")
def test_a_run_that_is_no_trim_has_no_section(analysed, tmp_path):
    (analysed[0].path / TRIM_FILE).unlink(missing_ok=True)

    page = write_html([analysed], tmp_path / "report.html").read_text(encoding="utf-8")

    assert "The trim" not in words_of(page)
    assert report.read_trim(tmp_path) is None


@pytest.mark.usefixtures("_no_script")
def test_a_trim_that_helps_says_what_on_what_grounds_and_what_became_of_each(analysed, tmp_path):
    page = page_of(analysed, document_of(HELPS), tmp_path)

    words = words_of(page)
    assert '<p class="verdict good">Trimming this host makes the p99.9' in page
    assert words.index("Trimming this host") < words.index("Trimmed beside as found: ")
    assert words.index("How slow are the slow packets before") < words.index("one in ten")
    assert "rests on 7 pairs of runs" in words
    assert "another thread ran (96 % of the tail of the scouting run) : without them 2.7" in words
    assert re.search(r"no cause seen .{,60}without them .{,60}no effect shown", words)
    assert '<span class="good">kept: shown to help</span>' in page
    assert '<span class="neutral">kept: costs nothing; nothing was shown</span>' in page
    assert "96 % 1 ms 0 % 0 ns" in words
    assert "At boot, so not tried: 1 remedy" in words
    assert "kernel parameter isolcpus=domain,1" in words
    assert "By hand: 1 remedy" in words
    assert "5 values" in words
    assert "taut host apply --cores 1 --only R24-now,R06-now" in words
    assert "a note &lt;i&gt;" in words
    assert "fewer cores <b>" not in page


@pytest.mark.usefixtures("_no_script")
def test_every_load_has_its_figure_in_the_section_and_nowhere_else(analysed, tmp_path):
    page = page_of(analysed, document_of(HELPS), tmp_path)

    assert re.findall(r'<figure id="(trimmed[^"]*)"', page) == ["trimmed", "trimmed-2"]
    assert page.rindex('<figure id="trimmed') < page.index("What the pairs show")


@pytest.mark.usefixtures("_no_script")
def test_no_effect_shown_is_neutral(analysed, tmp_path):
    page = page_of(analysed, document_of(NOT_SHOWN), tmp_path)

    assert '<p class="verdict neutral">No effect shown' in page
    assert 'class="whisker open"' in page
    assert 'class="good"' not in page
    assert "The host is as it was." in words_of(page)


@pytest.mark.usefixtures("_no_script")
def test_where_losses_decide_no_ratio_is_drawn(analysed, tmp_path):
    """Neither the whole, which lost packets, nor what would be left, nor a group."""
    losses = "eager, 100 kpkt/s: lost or not sent 0 % as found, 5 % trimmed"
    found = made(SHORTER, {"preemption": SHORTER, "": SHORTER})
    found.confirmed = compared("kept", SHORTER)
    document = document_of(found)
    ratios = [document["effect"], document["effect_with_void"], document["confirmed"]]
    ratios += [remedy["without_it"] for remedy in document["remedies"] if "without_it" in remedy]
    for ratio in ratios:
        ratio["losses"] = losses

    page = page_of(analysed, document, tmp_path)

    words = words_of(page)
    assert f"claim none: {losses}" in words
    assert "rests on 7 pairs" not in words
    assert "What the pairs show" not in words
    assert f"not shown: {losses}" in words


@pytest.mark.usefixtures("_no_script")
def test_an_interval_without_an_end_is_drawn_to_the_edge(analysed, tmp_path):
    document = document_of(made([-inf, *SHORTER[1:]]))
    assert document["effect"]["low"] is None

    page = page_of(analysed, document, tmp_path)

    assert '<line x1="0.00%"' in page
    assert re.search(r"interval [\d.]+ or more; 7 pairs", words_of(page))
    assert " or less " in words_of(page)


@pytest.mark.usefixtures("_no_script")
def test_harm_is_said_as_such(analysed, tmp_path):
    page = page_of(analysed, document_of(HARMS), tmp_path)

    assert '<p class="verdict bad">' in page
    assert '<span class="bad">put back: all together made the figure worse</span>' in page


@pytest.mark.usefixtures("_no_script")
def test_a_dry_run_shows_causes_and_candidates_alone(analysed, tmp_path):
    page = page_of(analysed, document_of(DRY), tmp_path)

    words = words_of(page)
    assert '<p class="verdict neutral">A dry run' in page
    assert "What could help, and what it costs" in words
    assert "another thread ran" in words
    assert "What the pairs show" not in words
    assert "decision" not in words[words.index("The trim") : words.index("The host when")]


def test_decisions_are_coloured_where_something_was_shown():
    tones = {decision: report.decision_tone(str(decision)) for decision in Decision}

    shown = (Decision.KEPT_SHOWN, Decision.KEPT_GROUP, Decision.KEPT_ALL)
    assert {tones.pop(one) for one in shown} == {"good"}
    assert {tones.pop(one) for one in HARMFUL} == {"bad"}
    assert set(tones.values()) == {"neutral"}


def last_line(waiting=POLLS_ONLY, **changes):
    [line] = report.last_lines(parse(TrimDocument, document_of(HELPS, waiting) | changes, "made"))
    return line


def test_last_lines_say_how_to_keep_and_how_to_undo():
    assert last_line(kept=[]) == "The host is as it was."
    keep = last_line(cores="1-2", kept=["R24-now", "R06-now"])
    undo = last_line(kept=["R24-now"], in_force=True)

    assert keep.endswith("taut host apply --cores 1-2 --only R24-now,R06-now.")
    assert "taut host undo" in undo
    assert "--cores 1 --only R24-now --boot" in undo


@pytest.mark.parametrize("in_force", [False, True])
def test_what_the_last_line_says_to_type_plans_all_that_helped_a_sleeper(
    tmp_path, capsys, in_force
):
    haltpoll = "/sys/module/haltpoll/parameters/guest_halt_poll_ns"
    cpu = "/sys/devices/system/cpu"
    guest = {f"{cpu}/online": "0-3\n", f"{cpu}/cpuidle/current_governor": "haltpoll\n"}
    tree(tmp_path, guest | {haltpoll: "0\n", "/proc/sys/vm/stat_interval": "1\n"})
    kept = ["G05-now", "R06-now"]

    line = last_line(frozenset({Waiting.SLEEPS}), cores="2-3", kept=kept, in_force=in_force)
    told = re.search("taut host apply ([^.;]*?)( --boot makes it survive a boot)?[.]$", line)
    options = ["--role", "kvm-guest", "--root", str(tmp_path), "--json"]
    assert run_command(["host", "plan", *told.group(1).split(), *options]) == 0

    steps = json.loads(capsys.readouterr().out)["steps"]
    assert {step["remedy"] for step in steps if step["choice"] == "take"} == set(kept)


@needs_browser
def test_nothing_of_the_section_lies_over_anything_or_is_cut_or_pale(analysed, tmp_path):
    page_of(analysed, document_of(HELPS), tmp_path)

    wrong = wrong_in(tmp_path / "report.html", tmp_path)

    assert not wrong, "\n".join(wrong)


def test_what_was_not_confirmed_is_not_what_is_kept() -> None:
    groups = {"preemption": [1.0, 0.8, 1.2, 0.9, 1.1, 0.7, 1.3], "": UNKNOWN}
    found = made(SHORTER, groups)
    found.confirmed = compared("kept", UNKNOWN)

    def names() -> list[str]:
        trim = parse(report.Trim, document_of(found), "made")
        return [shown.name for shown in report.effects(trim)]

    assert "what is kept / as found" in names()

    found.decided = [
        replace(d, decision=Decision.KEPT_UNCONFIRMED) if d.candidate.remedy == "R06-now" else d
        for d in found.decided
    ]

    assert "what would be left / as found" in names()
    assert "what is kept / as found" not in names()

    # As a taut of before told them.
    found.decided = [
        replace(d, decision=Decision.KEPT_WHOLE, ratio=found.confirmed.effect)
        if d.candidate.remedy == "R06-now"
        else d
        for d in found.decided
    ]

    assert "what would be left / as found" in names()


def test_of_which_packets_the_causes_are_is_said():
    """Of the scouting run those above the target; of all trials those that explain looks at."""
    scouted, compared_ = (parse(report.Trim, document_of(of), "made") for of in (DRY, HELPS))

    assert report.over_of(replace(scouted, target="p50")) == "p50"
    assert "own p50, so" in report.causes_note(replace(scouted, target="p50"))
    assert report.over_of(replace(compared_, target="p50")) == "p99.9"
    assert "Totals are how long episodes of a cause went on" in report.causes_note(compared_)

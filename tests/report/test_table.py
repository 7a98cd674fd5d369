import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from made_run import MadeTrial, MadeVariant, make_run
from taut.analysis.results import analyse_run
from taut.records.documents.generator import Energy, EnergyDomain
from taut.records.rundir import RunDirectory
from taut.report.html import write_html
from taut.report.table import print_results


def printed(analysed, width, *, terminal=False, report=None, details=False):
    out = io.StringIO()
    colours = "truecolor" if terminal else "auto"
    console = Console(file=out, width=width, force_terminal=terminal or None, color_system=colours)
    print_results([analysed], console, report, details=details)
    return out.getvalue()


def test_floor_is_the_first_row_of_each_load(analysed):
    lines = printed(analysed, 160).splitlines()

    header = next(i for i, line in enumerate(lines) if line.startswith("device"))
    loads = [
        i for i, line in enumerate(lines) if i > header and line.strip().endswith(" kpkt/s 64 B")
    ]
    assert len(loads) == 2
    assert all(lines[i + 1].startswith("floor") for i in loads)


@pytest.mark.parametrize("width", [80, 90, 100, 160])
def test_table_fits_the_terminal(analysed, width):
    lines = printed(analysed, width).splitlines()

    assert max(len(line) for line in lines) <= width
    header = next(line for line in lines if line.startswith("device"))
    assert not any("…" in line for line in lines)
    assert {"p50", "p99", "max", "lost"} <= set(header.split())


def test_unsupported_percentiles_are_marked_and_explained(analysed):
    text = printed(analysed, 160)

    row = next(line for line in text.splitlines() if line.startswith("eager"))
    assert "*" in row
    assert "* rests on fewer than 10 independent packets or stalls: says little of" in text
    assert "is at least" not in text
    # One planted stall decides it.
    text = printed(analysed, 160, details=True)
    assert re.search(r"p99\.9 is at least \(95 %\): .*eager [\d.]+ µs", text)


def test_the_details_have_each_row_s_power_or_why_nobody_knows(analysed):
    run, analysis = analysed
    power = Energy(10**9, None, (EnergyDomain("intel-rapl:0", "package-0", 31_250_000),))
    unread = Energy(10**9, "no powercap here")

    known, unknown = (
        printed((run, replace(analysis, trials=took)), 400, details=True).splitlines()
        for took in (
            [replace(trial, energy=energy) for trial in analysis.trials]
            for energy in (power, unread)
        )
    )

    (line,) = (line for line in known if line.startswith("Energy: "))
    assert line.startswith("Energy: of whole packages: ")
    assert re.search(r"100 kpkt/s 64 B: floor 31\.2 W, eager 31\.2 W.*; 200 kpkt/s 64 B: ", line)
    assert "Energy: not readable here: no powercap here." in unknown
    assert not any(line.startswith("Energy") for line in printed(analysed, 160, details=True))


def test_colour_only_on_a_terminal(analysed):
    assert "\x1b[" not in printed(analysed, 120)
    assert "\x1b[" in printed(analysed, 120, terminal=True)


def test_failure_is_said_and_the_report_is_the_last_line(analysed, tmp_path):
    path = tmp_path / ("long" * 40) / "report.html"

    lines = printed(analysed, 80, report=path).splitlines()

    assert lines[-1] == f"Report: {path}"
    assert "killed by SIGSEGV" in " ".join(" ".join(lines).split())


def test_what_the_warm_up_lost_stands_in_its_own_row_and_what_can_hide_below(tmp_path):
    trial = MadeTrial(n_packets=2_000, n_cold=500, n_lost=0, n_cold_lost=5, generator_gap=None)
    run = RunDirectory(make_run(tmp_path / "run", (MadeVariant("eager", "taut_forward", trial),)))

    lines = printed((run, analyse_run(run)), 160, details=True).splitlines()

    at = next(i for i, line in enumerate(lines) if line.startswith("eager"))
    assert lines[at].split()[1:3] == ["3,000", "0"]
    assert lines[at + 1].split()[:5] == ["its", "warm-up", "990", "10", "(1"]
    assert any(line.endswith("pass as its ports' work: 850 ns over memif.") for line in lines)


def test_each_direction_of_two_has_its_row_below_both(tmp_path):
    back = MadeTrial(n_packets=2_000, n_cold=500, n_lost=7, base_ns=5_000, generator_gap=None)
    there = replace(back, n_lost=0, base_ns=900, back=back)
    run = RunDirectory(make_run(tmp_path / "run", (MadeVariant("eager", "taut_forward", there),)))
    analysed = run, analyse_run(run)

    lines = printed(analysed, 160).splitlines()

    at = next(i for i, line in enumerate(lines) if line.startswith("eager"))
    both, first, second = (line.split() for line in lines[at : at + 3])
    assert both[1:3] == ["5,986", "14"]
    assert first[:4] == ["direction", "0", "3,000", "0"]
    assert second[:4] == ["direction", "1", "2,986", "14"]
    [row] = analysed[1].variants
    assert [way.lost for way in row.directions] == [0, 14]
    assert sum(way.latency.n for way in row.directions) == row.latency.n
    p50s = [way.latency.p50_ns for way in row.directions]
    assert p50s[0] < row.latency.p50_ns < p50s[1]
    assert 5_000 < p50s[1] < 5_400
    page = write_html([analysed], tmp_path / "report.html").read_text()
    assert '<th scope="row">eager, direction 1</th><td class="num">2,986</td>' in page


def test_one_direction_alone_has_no_row_of_its_own(analysed):
    assert "direction 0" not in printed(analysed, 160)
    assert all(row.directions is None for row in analysed[1].variants)


def test_states_of_a_host_fit_80_columns_and_warnings_keep_them_apart(tmp_path):
    trial = MadeTrial(n_packets=2_000, n_cold=100, generator_gap=(5_000_000, 6_000_000))
    variants = tuple(
        MadeVariant("linux_bridge", "linux_bridge", trial, "veth", host=state)
        for state in ("as found", "trimmed", "without hypervisor-or-hardware")
    )
    run = RunDirectory(make_run(tmp_path / "run", variants, repetitions=1))

    text = printed((run, analyse_run(run)), 80, details=True)

    assert max(len(line) for line in text.splitlines()) <= 80
    assert "…" not in text
    assert sum(line.startswith("linux_bridge,") for line in text.splitlines()) == 3
    words = " ".join(text.split())
    assert "The generator itself was late in 3 of 3 rows, with up to 5.3 % of" in words
    for state in ("as found", "trimmed", "without hypervisor-or-hardware"):
        assert f"linux_bridge, {state} at 100 kpkt/s, 64 B: the generator was late with" in words


def test_a_mark_in_a_row_below_a_device_is_explained(analysed):
    run, analysis = analysed
    supported = [
        replace(row, doubt=replace(row.doubt, unsupported_percentiles=()))
        for row in analysis.variants
    ]
    assert "*" not in printed((run, replace(analysis, variants=supported)), 80)
    cold = supported[0].warm_up
    doubt = replace(cold.doubt, unsupported_percentiles=("p99",))
    supported[0] = replace(supported[0], warm_up=replace(cold, lost=5, doubt=doubt))

    text = printed((run, replace(analysis, variants=supported)), 80)

    [row] = [line for line in text.splitlines() if line.startswith("  its warm-up")]
    assert "*" in row
    assert "* rests on fewer than 10 independent packets" in text


def called(analysed, name):
    """Give a run whose devices, floors apart, have this name."""
    run, analysis = analysed
    return run, replace(
        analysis,
        **{
            rows: [
                one if one.device.is_floor else replace(one, device=replace(one.device, dut=name))
                for one in getattr(analysis, rows)
            ]
            for rows in ("variants", "trials")
        },
    )


@pytest.mark.parametrize("length", [10, 34, 44, 80])
def test_a_name_is_wrapped_rather_than_the_tail_left_out(analysed, length):
    name = ("eager beside the network " * 4)[:length].strip()

    text = printed(called(analysed, name), 80)

    header, below = re.findall("^device  .*\n.*", text, re.MULTILINE)[0].splitlines()
    assert "p99.9" in header.split()
    assert below.strip() == "late"
    assert "No room here for packets, p99.99, p99.9 on time: the report has them." in text


def test_a_name_in_one_line_is_worth_more_than_what_the_report_has(analysed):
    name = "eager beside the disk"

    assert f"\n{name} (memif)  " in printed(called(analysed, name), 100)


def test_what_a_name_that_cannot_be_wrapped_leaves_no_room_for_is_told(analysed):
    text = " ".join(printed(called(analysed, 34 * "x"), 80).split())

    assert "for packets, p99.9, p99.99, generator late, p99.9 on time: the report has them" in text


def test_where_no_table_fits_each_row_has_everything(analysed):
    text = " ".join(printed(called(analysed, 44 * "x"), 80).split())

    assert "No room here" not in text
    assert re.search(r"x \(memif\): packets [\d,]+, lost .*, p99\.9 on time", text)

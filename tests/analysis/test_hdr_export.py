"""The HdrHistogram files, read back by HdrHistogram's own library."""

import json
import re
import shutil
import subprocess
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from made_run import VARIANTS, make_run
from taut.analysis.blocks import FINE_BITS, rounded_down
from taut.analysis.hdr_export import SIGNIFICANT_DIGITS, write_hgrm
from taut.analysis.results import analyse_run
from taut.core.percentiles import PERCENTILES, percentile_rank
from taut.records.documents.json_form import plain_object
from taut.records.documents.match import CaptureSide, Envelope, MatchCounts, MatchReport, capture_of
from taut.records.rundir import RunDirectory

JARS = sorted(Path("/usr/share/java").glob("[Hh]dr[Hh]istogram*.jar"))

JAVA = """
import java.io.File;
import org.HdrHistogram.*;
public class Read {
	public static void main(String[] a) throws Exception {
		HistogramLogReader reader = new HistogramLogReader(new File(a[0]));
		Histogram total = new Histogram(3);
		int n = 0;
		EncodableHistogram next;
		while ((next = reader.nextIntervalHistogram()) != null) {
			total.add((Histogram) next);
			n++;
		}
		System.out.println(n + " " + total.getTotalCount() + " "
			+ total.getValueAtPercentile(99.99) + " " + total.getMaxValue());
	}
}
"""


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    run = make_run(tmp_path_factory.mktemp("run") / "run", VARIANTS[1:2], repetitions=1)
    result = analyse_run(RunDirectory(run)).trials[0]
    return run / "trials" / result.name, plain_object(result)["latency_ns"]


def test_python_library_reads_the_log(trial):
    folder, latency = trial
    total = HdrHistogram(1, 10**12, 3)

    reader = HistogramLogReader(str(folder / "latency.hlog"), total)
    while (interval := reader.get_next_interval_histogram()) is not None:
        total.add(interval)

    assert total.get_total_count() == latency["n"]
    # The package rounds a rank to the nearest where we (and Java) take the next: ask by rank.
    rank = percentile_rank(latency["n"], PERCENTILES["p99.99"])
    p9999 = total.get_value_at_percentile(100 * rank / latency["n"])
    assert p9999 == pytest.approx(latency["p99.99"], rel=10.0**-SIGNIFICANT_DIGITS)


@pytest.mark.skipif(
    not shutil.which("java") or not JARS,
    reason="needs java and libhdrhistogram-java",
)
def test_java_library_reads_the_log(trial, tmp_path):
    folder, latency = trial
    (tmp_path / "Read.java").write_text(JAVA)

    done = subprocess.run(
        ["java", "-cp", str(JARS[0]), str(tmp_path / "Read.java"), str(folder / "latency.hlog")],
        capture_output=True,
        text=True,
        check=False,
    )
    if "compiler" in done.stderr.lower() and "module" in done.stderr.lower():
        pytest.skip("java without a compiler")

    assert done.returncode == 0, done.stderr
    _, n, p9999, highest = (int(word) for word in done.stdout.split())
    assert n == latency["n"]
    assert p9999 == pytest.approx(latency["p99.99"], rel=10.0**-SIGNIFICANT_DIGITS)
    assert highest == pytest.approx(latency["max"], rel=10.0**-SIGNIFICANT_DIGITS)


def test_percentile_text_ends_with_the_total(trial):
    folder, latency = trial

    text = (folder / "latency.hgrm").read_text()

    total = re.search(r"TotalCount\s*=\s*([\d.]+)", text)
    assert float(total[1]) == latency["n"]
    assert "Percentile" in text.splitlines()[0]


@pytest.mark.parametrize("highest", [1, 5_000, 40_000_000, 2**40])
def test_the_percentile_text_is_of_all_intervals_together(tmp_path, highest):
    rng = np.random.default_rng(highest)
    values, n = np.unique(rng.integers(0, highest, 300, endpoint=True), return_counts=True)
    own = rounded_down(values, FINE_BITS)
    theirs, text = HdrHistogram(1, max(int(own[-1]), 2), 3), BytesIO()
    for value, count in zip(own.tolist(), n.tolist(), strict=True):
        theirs.record_value(value, count)
    theirs.output_percentile_distribution(text, 1.0)

    write_hgrm(tmp_path / "t.hgrm", {0: (values[:100], n[:100]), 1: (values[100:], n[100:])})

    assert (tmp_path / "t.hgrm").read_bytes() == text.getvalue()


def test_without_records_the_log_has_one_interval_behind_the_warm_up(tmp_path):
    run = RunDirectory(make_run(tmp_path / "run", VARIANTS[1:2], repetitions=1))
    [trial] = run.trials()
    document = json.loads((trial.path / "trial.json").read_text())
    document["traffic"]["record"] = "none"
    (trial.path / "trial.json").write_text(json.dumps(document))

    analyse_run(run)

    [line] = (trial.path / "latency.hlog").read_text().splitlines()[3:]
    # 20,000 packets at 100 kpkt/s, the first 1,000 of them warm-up.
    assert line.split(",")[:2] == ["0.010", "0.190"]


def test_the_log_of_a_live_run_has_no_time_of_day(trial):
    folder, _ = trial

    head = (folder / "latency.hlog").read_text().splitlines()[:3]

    assert head[1] == "#[Histogram log format version 1.3]"
    assert head[2].startswith('"StartTimestamp"')


def test_the_log_of_captures_lies_where_they_were_taken(tmp_path):
    run = RunDirectory(make_run(tmp_path / "run", VARIANTS[1:2], repetitions=1))
    [trial] = run.trials()
    before = CaptureSide("a.pcap", 20_000, 1_700_000_000_250_000_000, 1_700_000_000_450_000_000)
    n_frames = MatchCounts(20_000, *[0] * 12, 20_000, 20_000)
    report = MatchReport(before, before, n_frames, "ip", 0, 0, 0, 0.0, Envelope(()))
    document = json.loads((trial.path / "trial.json").read_text())
    document["capture"] = plain_object(capture_of(report, ()))
    (trial.path / "trial.json").write_text(json.dumps(document))

    analyse_run(run, "duckdb")

    reader = HistogramLogReader(str(trial.path / "latency.hlog"), HdrHistogram(1, 10**12, 3))
    interval = reader.get_next_interval_histogram()
    assert interval.get_start_time_stamp() == 1_700_000_000_250
    assert reader.start_time_sec == 1_700_000_000.25

"""The textfile, the dashboard and the alerts of a soak, asked of promtool."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from made_soak import SECOND_NS, row, segment
from taut.core.errors import TautError
from taut.records.segments import Kept, Latencies
from taut.report.textfile import SoakMetrics

GRAFANA = Path(__file__).parents[2] / "examples" / "grafana"
PROMTOOL = shutil.which("promtool")
pytestmark = pytest.mark.skipif(PROMTOOL is None, reason="no promtool in PATH: setup.sh test")

LIMITS_NS = (100_000, 1_000_000)
ABOVE = {"100000": 30, "1000000": 3}


def packets_of(n: int) -> Latencies:
    """So many packets of 1 µs each."""
    ns = np.array([1_000.0])
    return Latencies(ns, np.array([n], np.uint64), ns)


def promtool(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(PROMTOOL), *arguments], input=text, capture_output=True, text=True, check=False
    )


@pytest.fixture
def metrics(tmp_path: Path) -> SoakMetrics:
    return SoakMetrics("day", "eager", 3_600 * SECOND_NS, LIMITS_NS, tmp_path / "soak.prom")


def test_the_file_is_what_node_exporter_reads_and_counters_grow(
    metrics: SoakMetrics, tmp_path: Path
) -> None:
    path = tmp_path / "soak.prom"
    before = segment([row(0, lost=1, above=ABOVE)])
    metrics.add_segments([Kept(before, packets_of(900), packets_of(99))])
    metrics.told(row(0, lost=2, above=ABOVE, max_ns=2_000_000))
    first = path.read_text()
    metrics.told(row(1, lost=2, above=ABOVE))

    checked = promtool("check", "metrics", text=first)

    assert checked.returncode == 0, checked.stderr
    assert checked.stderr == ""
    for line in (
        'taut_soak_packets_total{device="eager",fate="lost",soak="day"} 3.0',
        f'taut_soak_latency_seconds_bucket{{device="eager",le="0.001",soak="day"}} {1997 - 6}.0',
        'taut_soak_latency_seconds_bucket{device="eager",le="+Inf",soak="day"} 1997.0',
        'taut_soak_latency_seconds_count{device="eager",soak="day"} 1997.0',
        'taut_soak_row_max_seconds{device="eager",soak="day"} 0.002',
        'taut_soak_measured_seconds_total{device="eager",soak="day"} 600.0',
        'taut_soak_memory_bytes{device="eager",program="taut",soak="day"} 5e+07',
    ):
        assert line in first
    assert 'fate="lost",soak="day"} 5.0' in path.read_text()
    # The segment before, 999 packets, and what there is of this one, each of 1 µs.
    name = 'taut_soak_latency_seconds_sum{device="eager",soak="day"}'
    assert samples_of(first)[name] == pytest.approx(1_997e-6)
    assert samples_of(path.read_text())[name] == pytest.approx(2_995e-6)


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    metrics = SoakMetrics("day", "eager", SECOND_NS, LIMITS_NS, tmp_path / "no" / "soak.prom")

    with pytest.raises(TautError, match="name a file in a folder that is there"):
        metrics.told(row(above=ABOVE))


def samples_of(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


@pytest.fixture
def two_rows(metrics: SoakMetrics, tmp_path: Path) -> list[dict[str, object]]:
    """What Prometheus has of two rows, five minutes apart."""
    found = []
    for n in range(2):
        of = row(n, lost=10, void=20, above=ABOVE, max_ns=2_000_000)
        metrics.told(of)
        found.append(samples_of((tmp_path / "soak.prom").read_text()))
    return [{"series": name, "values": f"{found[0][name]} {v}"} for name, v in found[1].items()]


def panels() -> list[tuple[str, str]]:
    dashboard = json.loads((GRAFANA / "soak.json").read_text())
    found = [(panel["title"], panel["targets"][0]["expr"]) for panel in dashboard["panels"]]
    assert all(len(panel["targets"]) == 1 for panel in dashboard["panels"])
    return found


# Rows of 1,000 packets: 10 lost, 20 void, 30 above 100 us, 3 above 1 ms.
EXPECTED = {
    "Latency of each row": {
        f'taut_soak_row_latency_seconds{{device="eager",percentile="{name}",soak="day"}}': 1e-6
        for name in ("p50", "p90", "p99", "p99.9", "p99.99")
    },
    "The slowest packet of each row": {
        'taut_soak_row_max_seconds{device="eager",soak="day"}': 0.002
    },
    "Share of packets lost": {'{device="eager",soak="day"}': 0.01},
    "Share of packets that the generator itself held up": {'{device="eager",soak="day"}': 0.02},
    "Share of packets above each limit": {
        '{device="eager",le="0.0001",soak="day"}': 1 - 1920 / 1980,
        '{device="eager",le="0.001",soak="day"}': 1 - 1974 / 1980,
    },
    "Memory": {'taut_soak_memory_bytes{device="eager",program="taut",soak="day"}': 50_000_000},
    "Measured": {'{device="eager",soak="day"}': 600 / 3600},
}


@pytest.mark.parametrize(("title", "query"), panels())
def test_every_query_of_the_dashboard_has_its_answer(
    title: str, query: str, two_rows: list[dict[str, object]], tmp_path: Path
) -> None:
    expected = [{"labels": labels, "value": value} for labels, value in EXPECTED[title].items()]
    test = {
        "evaluation_interval": "5m",
        "tests": [
            {
                "interval": "5m",
                "input_series": two_rows,
                "promql_expr_test": [
                    {
                        "expr": re.sub(r"\$soak", ".*", query),
                        "eval_time": "5m",
                        "exp_samples": expected,
                    }
                ],
            }
        ],
    }
    path = tmp_path / "test.yml"
    path.write_text(json.dumps(test))  # JSON is YAML

    done = promtool("test", "rules", str(path))

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_alerts_fire_when_they_should(
    two_rows: list[dict[str, object]], tmp_path: Path
) -> None:
    rules = GRAFANA / "alerts.yml"
    assert promtool("check", "rules", str(rules)).returncode == 0
    labels = {"device": "eager", "soak": "day"}
    lost = {"severity": "page", "fate": "lost", **labels}
    summaries = {
        "TautSoakLostPackets": "eager: packets were lost in the last 15 minutes",
        "TautSoakSlowPacket": "eager: a packet took 2ms",
    }
    test = {
        "rule_files": [str(rules)],
        "evaluation_interval": "5m",
        "tests": [
            {
                "interval": "5m",
                "input_series": two_rows,
                "alert_rule_test": [
                    {
                        "eval_time": "5m",
                        "alertname": name,
                        "exp_alerts": [
                            {
                                "exp_labels": lost
                                if name == "TautSoakLostPackets"
                                else {"severity": "page", **labels},
                                "exp_annotations": {"summary": summary},
                            }
                        ],
                    }
                    for name, summary in summaries.items()
                ]
                + [{"eval_time": "5m", "alertname": "TautSoakStandsStill", "exp_alerts": []}],
            }
        ],
    }
    path = tmp_path / "test.yml"
    path.write_text(json.dumps(test))

    done = promtool("test", "rules", str(path))

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("measured_s", "is_paged"),
    [(600, True), (3_599.5, False), (3_600, False)],
    ids=["missing", "all but the last packet", "all"],
)
def test_a_file_that_stays_pages_only_where_something_is_missing(
    measured_s: float, is_paged: bool, tmp_path: Path
) -> None:
    labels = {"device": "eager", "soak": "day"}
    written = '{device="eager",soak="day",instance="lab"}'
    page = {
        "exp_labels": {"severity": "page", "instance": "lab", **labels},
        "exp_annotations": {"summary": "eager: no row came for 15 minutes"},
    }
    test = {
        "rule_files": [str(GRAFANA / "alerts.yml")],
        "evaluation_interval": "5m",
        "tests": [
            {
                "interval": "5m",
                "input_series": [
                    {
                        "series": f"taut_soak_measured_seconds_total{written}",
                        "values": f"{measured_s}+0x6",
                    },
                    {"series": f"taut_soak_planned_seconds{written}", "values": "3600+0x6"},
                ],
                "alert_rule_test": [
                    {
                        "eval_time": "30m",
                        "alertname": "TautSoakStandsStill",
                        "exp_alerts": [page] if is_paged else [],
                    }
                ],
            }
        ],
    }
    path = tmp_path / "test.yml"
    path.write_text(json.dumps(test))

    done = promtool("test", "rules", str(path))

    assert done.returncode == 0, done.stdout + done.stderr

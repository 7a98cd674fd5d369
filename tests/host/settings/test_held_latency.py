from pathlib import Path

import pytest

from host_tree import HOLDER, TreeWriter, put, snapshot, tree
from taut.host.settings import HeldLatency
from taut.host.settings.held_latency import PID_FILE

STAT = f"/proc/{HOLDER}/stat"


def test_a_holder_is_started_replaced_and_ended(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/proc/4711/kept": "", "/run/taut-host/kept": ""})
    before = snapshot(tmp_path)
    setting = HeldLatency()

    assert setting.read(host) is None
    setting.write(TreeWriter(host), "0")
    assert setting.read(host) == "0"
    setting.write(TreeWriter(host), "20")
    assert setting.read(host) == "20"
    setting.write(TreeWriter(host), None)

    assert setting.read(host) is None
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("text", ["", "4711\n", "a b c\n", "4711 78 0\n", "\0\0"])
def test_a_stale_or_malformed_pid_file_holds_nothing(tmp_path: Path, text: str) -> None:
    host = tree(tmp_path, {PID_FILE: text, STAT: f"4711 (taut) S {'1 ' * 18}77 0\n"})

    assert HeldLatency().read(host) is None


def test_a_process_of_the_same_number_and_time_holds_it(tmp_path: Path) -> None:
    host = tree(tmp_path, {STAT: f"4711 (taut (x)) S {'1 ' * 18}77 0\n"})
    put(tmp_path, PID_FILE, "4711 77 0\n")

    assert HeldLatency().read(host) == "0"

"""The firewall's network function without ports, in a process that outlives rule sets."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from firewall_packets import Packet
from firewall_rules import RuleSet
from taut.core.binaries import find_binary


class Firewall:
    """What `firewall_verdicts` says; rules and bursts one after the other."""

    def __init__(self, folder: Path) -> None:
        program = find_binary("taut-forward").resolve().parents[1] / "nf" / "firewall_verdicts"
        self._rules = folder / "rules"
        self._process = subprocess.Popen(
            [str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().rstrip("\n")

    def load(self, rules: RuleSet) -> None:
        self._rules.write_text(rules.text())
        answer = self._ask(f"O rules={self._rules}")
        assert answer == "ok", (answer, rules.text())

    def burst(self, packets: Sequence[Packet]) -> list[bool]:
        frames = (f"{packet.port}:{packet.frame(0).hex()}" for packet in packets)
        return [digit == "1" for digit in self._ask(f"B {' '.join(frames)}")]

    def wait(self, seconds: float) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"T {int(seconds * 1e9)}\n")

    def stats(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self._ask("S"))
        return document

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(60) == 0

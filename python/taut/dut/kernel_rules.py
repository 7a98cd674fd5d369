"""A rules file of taut's firewall in nftables: loaded into a namespace, and what each rule counted.

The file goes to `nft` line by line as it is, but for three things. The ports are called what they
are there (`port0`: the first link). Every rule counts, as in taut's firewall, and what no rule fits
is counted by a rule behind them all. And a source port that a rule must not have is told in a way
that nft does not mistake (`apart`). docs/firewall.md says which lines there are, and taut-forward
has refused others before.
"""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from taut.core.errors import TrialError
from taut.records.documents.json_form import JsonObject
from taut.testbed import netlink

_CHAIN = re.compile(r"\s*add\s+chain\s+inet\s+(?P<table>\S+)\s+(?P<chain>[^\s{]+).*")
_POLICY_DROP = re.compile(r"\bpolicy\s+drop\b")
_RULE = re.compile(
    r"(?P<head>\s*add\s+rule\s+.*?)(?:\bcounter\s*)?\b(?P<verdict>accept|drop)\b"
    r"(?P<comment>\s*comment\s*\".*\")?\s*"
)
_COMMENT = re.compile(r"(^|\s)#.*")
_INTERFACE = re.compile(r"\biifname\s*(?:[!=]=\s*)?(?:\{[^}]*\}|\S+)")
_PORT = re.compile(r'"?\bport(\d+)\b"?')
# As nft lists a rule's; what stands in quotes is a comment or a link.
_COUNTER = re.compile(r"\bcounter packets (\d+) bytes (\d+)")
_QUOTED = re.compile(r'"[^"]*"')
_NO_SPORT = re.compile(r"\bsport\s*!=\s*(?:\{\s*(?P<one>\d+)\s*\}|(?P<bare>\d+)(?![-\d]))")
# Neither side looks at sequence numbers or checksums (docs/firewall.md).
_TRACKING = {"nf_conntrack_tcp_be_liberal": 1, "nf_conntrack_checksum": 0}
_TRACKING_FOLDER = Path("/proc/sys/net/netfilter")


@dataclass(frozen=True)
class Rule:
    """A line of the file that says what becomes of a packet."""

    line: int
    verdict: str


@dataclass(frozen=True)
class Rules:
    """A file as nft is told it."""

    text: str
    rules: tuple[Rule, ...] = ()
    table: str = ""
    """Empty: there is no chain, and every packet is accepted."""
    chain: str = ""
    policy: str = "accept"


NO_RULES = Rules("")


@dataclass(frozen=True)
class Count:
    """Packets that a rule, or the policy, was the first to fit."""

    verdict: str
    packets: int
    n_bytes: int
    line: int | None = None
    """Where the rule stands in the file; None of the policy, which has no line of its own."""

    @property
    def document(self) -> JsonObject:
        """As taut's firewall has it in --stats."""
        where = {} if self.line is None else {"line": self.line}
        counted = {"packets": self.packets, "bytes": self.n_bytes}
        return {**where, "verdict": self.verdict, **counted}


@dataclass(frozen=True)
class Counted:
    """What a file's rules counted; without a chain there is no policy either."""

    rules: tuple[Count, ...]
    policy: Count | None = None

    @property
    def document(self) -> JsonObject:
        """As taut's firewall has it in --stats."""
        policy = None if self.policy is None else self.policy.document
        return {"rules": [rule.document for rule in self.rules], "policy": policy}

    @property
    def dropped_by(self) -> dict[str, int]:
        """Packets that rules and the policy dropped."""
        by_policy = [] if self.policy is None else [self.policy]
        return {"rule": _dropped(self.rules), "policy": _dropped(by_policy)}


def read_rules(path: Path, ports: Sequence[str]) -> Rules:
    """Read a file that taut-forward has taken, for links of these names."""
    told: list[str] = []
    rules: list[Rule] = []
    found: dict[str, str] = {}
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.split("\n"), 1):
        said = _COMMENT.sub("", line)
        if (chain := _CHAIN.fullmatch(said)) is not None:
            policy = "drop" if _POLICY_DROP.search(said) else "accept"
            found = {**chain.groupdict(), "policy": policy}
        elif (rule := _RULE.fullmatch(said)) is not None:
            rules.append(Rule(number, rule["verdict"]))
            head = apart(rule["head"])
            head = _INTERFACE.sub(lambda names: _with_names(names[0], ports), head)
            said = f"{head} counter {rule['verdict']}{rule['comment'] or ''}"
        told.append(said)
    if found:
        told.append(f"add rule inet {found['table']} {found['chain']} counter")
    return Rules("\n".join(told) + "\n", tuple(rules), **found)


def apart(rule: str) -> str:
    """Spell the source port that a rule must not have as a set of all the others.

    Of `sport != 53 dport != 2` nft 1.0.6 makes one comparison of both, which a packet passes that
    has either: a set it compares alone. A range of one (`!= 53-53`) nft refuses before 1.0.3.
    """
    return _NO_SPORT.sub(lambda no: f"sport {_all_but(int(no['one'] or no['bare']))}", rule)


def _all_but(port: int) -> str:
    ranges = ((0, port - 1), (port + 1, 65535))
    spelt = (
        str(first) if first == last else f"{first}-{last}"
        for first, last in ranges
        if first <= last
    )
    return f"{{ {', '.join(spelt)} }}"


def refused_by_nft(path: Path, rules: Rules) -> str | None:
    """Ask nft, in a namespace made for it, whether it takes the rules; its first line, if not."""
    done = _nft(["unshare", "--net"], "--check", "--file", "-", told=rules.text)
    return None if done.returncode == 0 else f"{path}: {_first_line(done)}"


def load_rules(namespace: str, rules: Rules) -> None:
    """Load them in place of those of a device that was stopped there; TrialError: as nft says."""
    done = _nft(_inside(namespace), "--file", "-", told=_anew(rules.table) + rules.text)
    if done.returncode != 0:
        raise TrialError(_first_line(done))
    netlink.inside(namespace, _be_liberal)


def _anew(table: str) -> str:
    """Spell that a table goes, whether it is there or not; `destroy` nft has from 1.0.7 on."""
    return f"add table inet {table}\ndelete table inet {table}\n" if table else ""


def count_rules(namespace: str, rules: Rules) -> Counted:
    """Read packets and bytes of each rule and of the policy."""
    if not rules.chain:
        return Counted(())
    listed = _nft(_inside(namespace), "list", "chain", "inet", rules.table, rules.chain)
    if listed.returncode != 0:
        raise TrialError(_first_line(listed))
    *counted, behind = _COUNTER.findall(_QUOTED.sub("", listed.stdout))
    return Counted(
        tuple(
            Count(rule.verdict, int(packets), int(n_bytes), rule.line)
            for rule, (packets, n_bytes) in zip(rules.rules, counted, strict=True)
        ),
        Count(rules.policy, *map(int, behind)),
    )


def _dropped(counts: Sequence[Count]) -> int:
    return sum(count.packets for count in counts if count.verdict == "drop")


def _with_names(text: str, ports: Sequence[str]) -> str:
    """Put the links' names in the place of ports; one without a link stays, and fits no packet."""

    def name(port: re.Match[str]) -> str:
        number = int(port[1])
        return f'"{ports[number] if number < len(ports) else f"port{number}"}"'

    return _PORT.sub(name, text)


def _inside(namespace: str) -> list[str]:
    return ["nsenter", f"--net={netlink.NETNS_FOLDER / namespace}"]


def _nft(
    where: Sequence[str], *arguments: str, told: str | None = None
) -> subprocess.CompletedProcess[str]:
    command = [*where, "nft", *arguments]
    return subprocess.run(command, input=told, capture_output=True, text=True, check=False)


def _first_line(done: subprocess.CompletedProcess[str]) -> str:
    return f"nft: {(done.stderr.splitlines() or ['refused'])[0]}"


def _be_liberal() -> None:
    """Track as taut's firewall does; the settings are there once something is tracked."""
    for name, value in _TRACKING.items():
        if (path := _TRACKING_FOLDER / name).exists():
            path.write_text(f"{value}\n", encoding="ascii")

"""Pairs are found by their names, and a file that is half of nothing is wrong."""

import pytest

from taut.core.errors import InputError
from taut.reproduce.capture_pairs import find_pairs


@pytest.fixture
def folder(tmp_path):
    def make(*names):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        return tmp_path

    return make


def test_pairs_come_by_name_and_rate_whatever_their_format(folder):
    found = find_pairs(
        folder(
            "l2fwd-hw-120kpps-pre.pcap.zst",
            "l2fwd-hw-120kpps-post.pcap.zst",
            "l2fwd-hw-10kpps-post.pcapng",
            "l2fwd-hw-10kpps-pre.pcap.gz",
            "a-1.5Mpps-pre.pcap",
            "a-1.5Mpps-post.pcap",
            "expected.json",
            "README.md",
        )
    )

    assert [(p.name, p.offered_pps, p.ingress.name) for p in found] == [
        ("a", 1.5e6, "a-1.5Mpps-pre.pcap"),
        ("l2fwd-hw", 10_000, "l2fwd-hw-10kpps-pre.pcap.gz"),
        ("l2fwd-hw", 120_000, "l2fwd-hw-120kpps-pre.pcap.zst"),
    ]
    assert all("-post." in pair.egress.name for pair in found)


def test_folders_are_parts_of_the_name(folder):
    found = find_pairs(folder("10kpps/latencies-pre.pcap.zst", "10kpps/latencies-post.pcap.zst"))

    assert [(p.name, p.offered_pps) for p in found] == [("latencies", 10_000)]


def test_a_pair_without_a_name_is_a_capture(folder):
    assert [p.name for p in find_pairs(folder("10kpps-pre.pcap", "10kpps-post.pcap"))] == [
        "capture"
    ]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["x-10kpps-pre.pcap"], "x-10kpps-pre.pcap: its -post is missing"),
        (["x-10kpps-pre.pcap", "x-20kpps-post.pcap"], "is missing"),
        (["x-pre.pcap", "x-post.pcap"], "no captures in it are named NAME-RATE-pre"),
        ([], "no captures in it are named"),
        (
            ["x-10kpps-pre.pcap", "x-10kpps-post.pcap", "x-10kpps-pre.pcap.zst"],
            "x-10kpps-pre.pcap.zst: ",
        ),
        (["x-0pps-pre.pcap"], "give a rate above 0"),
    ],
)
def test_what_is_no_pair_is_said_in_one_line(folder, names, said):
    with pytest.raises(InputError, match=said.replace(".", r"\.")) as caught:
        find_pairs(folder(*names))

    assert "\n" not in str(caught.value)


def test_a_folder_that_is_not_there_is_bad_input(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        find_pairs(tmp_path / "nowhere")

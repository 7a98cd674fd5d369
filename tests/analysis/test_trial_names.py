import pytest

from made_documents import made_result
from taut.analysis.trial_names import device_of, headings
from taut.records.documents.results import TrialResult
from taut.records.documents.trial import Dut, Guest, TrialDocument


def trial(name, dut="eager", **changes):
    row = {
        "name": name,
        "dut": dut,
        "driver": "taut_forward",
        "link": "memif",
        "host": "as found",
        "traffic": "constant",
        "schedule": "constant",
        "frame": "64",
        "both": False,
        "asked_pps": 100_000.0,
        "repetition": 1,
    }
    return made_result(**row | changes)


def test_a_trial_is_called_by_device_load_and_repetition():
    floor = trial("b", "loopback_veth", driver="loopback", link="veth")

    found = headings([trial("a", "linux_bridge"), floor, trial("c", repetition=2)])

    assert found == {
        "a": "linux_bridge, 100 kpkt/s, repetition 1",
        "b": "floor over veth, 100 kpkt/s, repetition 1",
        "c": "eager, 100 kpkt/s, repetition 2",
    }


def test_states_of_the_host_stand_in_it_where_there_are_several():
    found = headings([trial("a"), trial("b", host="trimmed")])

    assert found["b"] == "eager, trimmed, 100 kpkt/s, repetition 1"


def test_loads_of_one_rate_are_told_in_full():
    found = headings([trial("a"), trial("b", frame="imix")])

    assert found["b"] == "eager, 100 kpkt/s, imix, repetition 1"


def test_no_two_trials_are_called_alike():
    found = headings([trial("a"), trial("b", link="veth"), trial("c", link="veth")])

    assert found["a"] == "eager, 100 kpkt/s, repetition 1 (over memif)"
    assert len(set(found.values())) == 3


def test_what_is_not_known_is_left_out():
    """A pair of captures has no repetition; a trial that failed early has no device."""
    captured = trial("a", repetition=None)

    found = headings([captured, TrialResult("001-x")])

    assert found == {"a": "eager, 100 kpkt/s", "001-x": "001-x"}


@pytest.mark.parametrize(
    ("claim", "name"), [(None, "l2"), ("emulated: no latency claim", "l2 (emulated)")]
)
def test_a_device_in_an_emulated_guest_is_called_so(claim: str | None, name: str):
    guest = Guest(claim, "6.1.0-56-amd64", "", cpu=1, cpu_thread=77)

    assert device_of(TrialDocument(dut=Dut("l2", guest=guest))).dut == name

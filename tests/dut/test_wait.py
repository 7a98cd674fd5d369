import pytest

from grammar import cases
from taut.core.errors import InputError
from taut.dut.drivers import DRIVERS
from taut.dut.forwarder import TautForwardOptions
from taut.dut.wait import spell_wait
from taut.host.situation import Waiting


@pytest.mark.parametrize(("text", "meaning"), cases("wait"))
def test_a_way_is_read_as_the_data_plane_reads_it(text: str, meaning: str | None) -> None:
    if meaning is None:
        with pytest.raises(InputError):
            spell_wait(text)
        return
    name, _, spin_ns = meaning.partition(" ")
    assert spell_wait(text) == (f"{name}:{spin_ns}ns" if spin_ns else name)


@pytest.mark.parametrize("text", ["pause", "monitor"])
def test_what_no_processor_at_hand_can_do_is_not_called_unknown(text: str) -> None:
    with pytest.raises(InputError, match=rf"^wait '{text}': not built: .*waitpkg.*; known are"):
        spell_wait(text)


@pytest.mark.parametrize(
    ("wait", "waiting"),
    [
        ("poll", Waiting.POLLS),
        ("interrupt", Waiting.SLEEPS),
        ("adaptive", Waiting.SLEEPS),
        ("adaptive:50us", Waiting.SLEEPS),
    ],
)
def test_the_audit_is_told_whether_the_forwarder_sleeps(wait: str, waiting: Waiting) -> None:
    assert DRIVERS["taut_forward"].waits(TautForwardOptions(wait=wait)) is waiting


@pytest.mark.parametrize("link", ["memif", "veth", "xdp"])
def test_a_link_that_cannot_wake_it_is_refused(link: str) -> None:
    assert TautForwardOptions().refuses_link(link) is None
    why = TautForwardOptions(wait="interrupt").refuses_link(link)
    assert why == (
        "wait = 'interrupt' wants receive interrupts; the links that have them: virtio, vhost, pci"
    )

"""What a value in an experiment means is what the data plane takes it for."""

import pytest
from pydantic import TypeAdapter, ValidationError

from grammar import cases
from taut.core.errors import InputError
from taut.experiment.model import FrameSize
from taut.experiment.spec import parse_spec

FRAMES = TypeAdapter(FrameSize)
DEVICE_AND_LOAD = '[[device]]\ndriver = "loopback"\n[[traffic]]\nrates = ["1kpps"]\n'


@pytest.mark.parametrize(("text", "meaning"), cases("frame"))
def test_frames_are_read_as_the_data_plane_reads_them(text: str, meaning: str | None) -> None:
    if meaning is None:
        with pytest.raises(ValidationError, match="frame"):
            FRAMES.validate_python(text)
    else:
        assert str(FRAMES.validate_python(text)) == meaning


@pytest.mark.parametrize("key", ["duration", "warm_up", "deadline"])
def test_a_time_that_no_trial_takes_is_refused_before_the_run(key: str) -> None:
    times = {"duration": "1s", key: "25h"}
    text = "".join(f'{name} = "{time}"\n' for name, time in times.items())

    with pytest.raises(InputError, match=f"{key}: longer than a day"):
        parse_spec(f'name = "long"\n{text}{DEVICE_AND_LOAD}')


@pytest.mark.parametrize(
    ("length", "said"),
    [
        ("count = 100_000_000", "traffic constant: 100000000 packets take longer than a day"),
        (f"count = 1{'0' * 400}", "count: "),
        ('duration = "1s"\nrepetitions = 1_000_000_000', "repetitions: 1000000000: "),
    ],
)
def test_a_run_that_no_machine_ends_is_refused(length: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_spec(f'name = "long"\n{length}\n{DEVICE_AND_LOAD}')


def test_a_day_of_packets_is_taken() -> None:
    assert parse_spec(f'name = "long"\ncount = 86_400_000\n{DEVICE_AND_LOAD}').count == 86_400_000


@pytest.mark.parametrize(
    "key",
    [
        *("repetitions", "count", "seed", "cores.device", "traffic.0.flows", "search.repeats"),
        *("rfc.tags", "traffic.0.options.size", "device.0.options.burst"),
    ],
)
def test_a_truth_value_is_no_number(key: str) -> None:
    forwarder = DEVICE_AND_LOAD.replace("loopback", "taut_forward")

    with pytest.raises(InputError, match="True: input should be a valid"):
        parse_spec(f'name = "typed"\n{forwarder}', [f"{key}=true"])

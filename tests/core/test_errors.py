import pytest

from taut.core.errors import (
    InputError,
    InterruptedRun,
    MissingToolError,
    TautError,
    TrialError,
)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (TautError, 1),
        (InputError, 2),
        (MissingToolError, 2),
        (TrialError, 1),
        (InterruptedRun, 130),
    ],
)
def test_each_error_owns_its_exit_status(kind: type[TautError], status: int) -> None:
    assert kind("why").exit_status == status


def test_a_failed_trial_keeps_the_last_lines() -> None:
    error = TrialError("device died", ["line 1", "line 2"])

    assert str(error) == "device died"
    assert error.log_tail == ["line 1", "line 2"]

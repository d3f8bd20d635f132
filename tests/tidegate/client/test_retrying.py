"""Pauses between tries, and when there are to be no more."""

import grpc
import pytest

from tests.tidegate.client.fakes import REFUSED
from tidegate.client.retrying import Backoff, client_error


class _Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_pauses_double_up_to_the_longest_with_some_chance() -> None:
    backoff = Backoff(100.0, _Time(), first_s=0.1, longest_s=0.5, chance=lambda: 1.0)
    assert [backoff.pause_s() for _ in range(4)] == pytest.approx([0.1, 0.2, 0.4, 0.5])
    shorter = Backoff(100.0, _Time(), first_s=0.1, chance=lambda: 0.0)
    assert shorter.pause_s() == pytest.approx(0.05)


def test_nothing_is_tried_beyond_the_deadline_which_success_puts_off() -> None:
    time = _Time()
    backoff = Backoff(1.0, time, first_s=0.6, longest_s=0.6, chance=lambda: 1.0)
    assert backoff.pause_s() == pytest.approx(0.6)
    time.now = 0.9
    assert backoff.pause_s() is None
    backoff.succeeded()
    assert backoff.left_s == pytest.approx(1.0)
    assert backoff.pause_s() == pytest.approx(0.6)


def test_an_error_has_grpcs_status_and_the_brokers_name() -> None:
    error = client_error(REFUSED)
    assert (error.status, error.error) == (grpc.StatusCode.PERMISSION_DENIED, "TopicAuthorizationFailed")
    assert str(error) == "TopicAuthorizationFailed: words"

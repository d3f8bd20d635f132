"""What a heartbeat says."""

import pytest

from coordinators.group.consumer.requests import HeartbeatRequest


@pytest.mark.parametrize(
    ("request_", "is_full"),
    [
        (HeartbeatRequest("g", "m", 1), False),
        (HeartbeatRequest("g", "m", 1, topics=("t",), owned={}, rebalance_timeout_ms=1), True),
        (HeartbeatRequest("g", "m", 1, regex="t", owned={}, rebalance_timeout_ms=1), True),
        (HeartbeatRequest("g", "m", 1, topics=("t",), owned={}), False),
        (HeartbeatRequest("g", "m", 1, topics=("t",), rebalance_timeout_ms=1), False),
        (HeartbeatRequest("g", "m", 1, owned={}, rebalance_timeout_ms=1), False),
    ],
)
def test_a_request_is_full_that_says_everything(request_: HeartbeatRequest, is_full: bool) -> None:
    assert request_.is_full is is_full

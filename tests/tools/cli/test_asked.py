"""What a record asks of the broker, as headers."""

import re

import pytest

from tools.cli.asked import Asked, header, lane, new_traceparent
from tools.cli.errors import UsageMistake

NOW_MS = 1_800_000_000_000


def test_options_become_headers() -> None:
    asked = Asked(delay="15m", priority="HIGH", ttl="1h", schedule_id="call-bob")
    assert dict(asked.headers(NOW_MS)) == {
        "tide-delay": b"900000",
        "tide-priority": b"high",
        "tide-ttl": b"3600000",
        "tide-schedule-id": b"call-bob",
    }


def test_times_become_milliseconds() -> None:
    asked = Asked(deliver_at="+1m", expires_at="+2m")
    assert dict(asked.headers(NOW_MS)) == {
        "tide-deliver-at": str(NOW_MS + 60_000).encode(),
        "tide-expires-at": str(NOW_MS + 120_000).encode(),
    }


def test_nothing_asked_is_no_header() -> None:
    assert Asked().headers(NOW_MS) == []


@pytest.mark.parametrize("asked", [Asked(delay="1s", deliver_at="now"), Asked(ttl="1s", expires_at="now")])
def test_two_ways_to_say_the_same_are_refused(asked: Asked) -> None:
    with pytest.raises(UsageMistake, match="exclude each other"):
        asked.headers(NOW_MS)


@pytest.mark.parametrize(("text", "name"), [("0", "critical"), ("4", "background"), ("Low", "low")])
def test_a_priority_has_a_name_and_a_number(text: str, name: str) -> None:
    assert lane(text) == name


@pytest.mark.parametrize("text", ["urgent", "5", "-1", ""])
def test_what_is_no_priority_is_told(text: str) -> None:
    with pytest.raises(UsageMistake, match="no priority"):
        lane(text)


def test_a_new_trace_is_sampled() -> None:
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-01", new_traceparent())
    assert new_traceparent() != new_traceparent()


def test_a_header_is_a_name_and_a_value() -> None:
    assert header("a=b=c") == ("a", b"b=c")
    assert header("a=") == ("a", b"")
    assert header("a") == ("a", None)
    with pytest.raises(UsageMistake):
        header("=b")


def test_bytes_that_are_no_text_are_sent_as_they_were_typed() -> None:
    assert header("name=\udcff") == ("name", b"\xff")
    assert Asked(cancel="\udcff").headers(0) == [("tide-cancel", b"\xff")]
    with pytest.raises(UsageMistake, match="no UTF-8"):
        header("\udcff=value")

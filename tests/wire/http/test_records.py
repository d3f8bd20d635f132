"""Records as JSON."""

import msgspec
import pytest

from engine.errors import InvalidRecord
from wire.http.problems import Problem
from wire.http.records import HeaderForm, NewMessage, WrittenMessage, message, stored
from wire.inner.records import ReadRecord, SentRecord


def parsed(text: str) -> NewMessage:
    return msgspec.json.decode(text, type=NewMessage)


@pytest.mark.parametrize(("given", "held"), [("a", b"a"), (1.5, b"1.5"), ([], b"[]"), (False, b"false"), (None, None)])
def test_text_is_stored_as_it_is_and_other_json_as_a_document(given: object, held: bytes | None) -> None:
    assert stored(given) == held


def test_what_a_record_asks_for_becomes_headers() -> None:
    asked = parsed('{"delay": 5, "priority": 0, "ttl": 9, "scheduleId": "x", "headers": {"own": "1"}}').record()
    assert asked.headers == (
        ("own", b"1"),
        ("tide-delay", b"5"),
        ("tide-schedule-id", b"x"),
        ("tide-priority", b"0"),
        ("tide-ttl", b"9"),
    )
    assert asked.asks
    assert not parsed('{"headers": {"own": "1"}}').record().asks


@pytest.mark.parametrize("text", ['{"key": "a", "keyBase64": "YQ=="}', '{"keyBase64": "!"}', '{"key": "\\ud800"}'])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises((Problem, msgspec.DecodeError)):
        parsed(text).record()


def test_what_is_no_text_is_given_in_base64() -> None:
    record = ReadRecord(3, 7, b"k", b"\xff", (("h", b"\xfe"), ("n", None)))
    told = message(1, record, "text")
    assert (told.key, told.key_base64, told.value, told.value_base64) == ("k", None, None, "/w==")
    assert told.headers == [HeaderForm("h", None, "/g=="), HeaderForm("n")]


def test_a_document_that_is_none_is_text() -> None:
    assert message(0, ReadRecord(0, 0, None, b"{", ()), "json").value == "{"


def test_outcomes_say_what_became_of_records() -> None:
    assert WrittenMessage.of(SentRecord(1, 2, 3)) == WrittenMessage(1, 2, 3)
    assert WrittenMessage.of(SentRecord(1, -1, 3)).offset is None
    assert WrittenMessage.of(InvalidRecord("why")) == WrittenMessage(error="InvalidRecord", detail="why")

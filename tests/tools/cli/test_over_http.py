"""Records by the HTTP door alone, written and read by the command line."""

import pytest

from tests.tools.cli.conftest import Tidegate
from tidegate.testing import RunningBroker


@pytest.fixture(autouse=True)
def _nobody_answers_kafkas_clients(tidegate: Tidegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """What works without that works by HTTP alone."""
    assert tidegate
    monkeypatch.setenv("TIDEGATE_CLI_BOOTSTRAP", "127.0.0.1:1")


def test_records_go_out_and_come_back(broker: RunningBroker, tidegate: Tidegate) -> None:
    http = ("--http", broker.http_url)
    sent = tidegate("produce", "http-plain", *http, "--key", "k", "-H", "h=1", "one", "two", "-o", "json")
    assert sent.code == 0, sent.err
    assert sent.data["records"] == 2
    read = tidegate("consume", "http-plain", *http, "-e", "-f", r"%p %o %k %h %v\n")
    assert read.out.splitlines() == ["0 0 k h=1 one", "0 1 k h=1 two"], read.err
    one = tidegate("consume", "http-plain", *http, "--partition", "0", "--from", "1", "--count", "1")
    assert one.out == "two\n"
    assert tidegate("consume", "http-plain", *http, "--from", "latest", "-e").out == ""


def test_a_group_goes_on_where_it_was(broker: RunningBroker, tidegate: Tidegate) -> None:
    http = ("--http", broker.http_url)
    tidegate("produce", "http-group", *http, "a", "b", "c")
    group = ("--group", "http-kitchen", "--commit-interval", "1000", "--fetch-bytes", "100000")
    first = tidegate("consume", "http-group", *http, *group, "--count", "2")
    assert first.out == "a\nb\n", first.err
    assert tidegate("consume", "http-group", *http, *group, "-e").out == "c\n"


def test_delays_are_asked_for(broker: RunningBroker, tidegate: Tidegate) -> None:
    sent = tidegate("produce", "http-late", "--http", broker.http_url, "--delay", "1h", "x", "-o", "json")
    assert sent.data["held"] == 1, sent.err


def test_what_there_is_not_over_http_is_told(broker: RunningBroker, tidegate: Tidegate) -> None:
    http = ("--http", broker.http_url)
    for arguments, words in (
        (("produce", "t", *http, "--acks", "0", "x"), "--acks"),
        (("consume", "t", *http, "--since", "-1h"), "--since"),
        (("consume", "t", *http, "--from", "-5"), "--from"),
        (("consume", "t", "u", *http), "one topic"),
        (("consume", "t", *http, "--group", "g", "--partition", "0"), "group"),
    ):
        ended = tidegate(*arguments)
        assert ended.code != 0
        assert words in ended.err
    missing = tidegate("consume", "http-missing", *http, "-e")
    assert missing.code != 0
    assert "http-missing" in missing.err


def test_a_door_that_does_not_answer_is_told(tidegate: Tidegate) -> None:
    ended = tidegate("produce", "t", "--http", "http://127.0.0.1:1", "x")
    assert ended.code != 0
    assert "127.0.0.1:1" in ended.err

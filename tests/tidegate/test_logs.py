"""The program's own log: for people and for machines, and no client can flood it or forge its lines."""

import io
import json
import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import trio_test

from tests.tidegate.processes import serving
from tests.wire.http.door import open_http_door
from tests.wire.kafka.door import until
from tests.wire.kafka.groups import group_door
from tests.wire.kafka.requests import create_topic
from tests.wire.kafka.transacting import Producer, transacting
from tidegate import logs
from tidegate.config import BrokerConfig
from wire.kafka.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


@pytest.fixture(autouse=True)
def _own_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def configured(stream: io.StringIO, **settings: Any) -> logging.Logger:
    values = {f"logging.{name}": value for name, value in settings.items()}
    logs.configure(BrokerConfig.load(values=values).settings, stream)
    logs.release()
    return logging.getLogger("tidegate.test")


def objects(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_elsewhere_than_on_a_terminal_a_line_is_json() -> None:
    stream = io.StringIO()
    configured(stream).info("topic %s is made", "orders", extra={"partitions": 3})
    (line,) = objects(stream)
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "topic orders is made", "level": "info", "logger": "tidegate.test", "partitions": 3}


def test_on_a_terminal_it_is_for_people() -> None:
    stream = Terminal()
    configured(stream).info("topic %s is made", "orders", extra={"partitions": 3})
    text = stream.getvalue()
    assert "topic orders is made" in text
    assert "\x1b[" in text, "in colour"
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)


@pytest.mark.parametrize(("chosen", "is_json"), [("json", True), ("text", False)])
def test_the_form_can_be_chosen(chosen: str, is_json: bool) -> None:
    stream = io.StringIO()
    configured(stream, format=chosen).info("hello")
    assert stream.getvalue().startswith("{") is is_json
    assert "\x1b[" not in stream.getvalue()


def test_what_is_below_the_level_is_not_written() -> None:
    stream = io.StringIO()
    logger = configured(stream, level="warning")
    logger.info("no")
    logger.warning("yes")
    assert [line["event"] for line in objects(stream)] == ["yes"]


@pytest.mark.parametrize("chosen", ["json", "text"])
def test_a_clients_text_cannot_make_a_line_of_its_own(chosen: str) -> None:
    stream = io.StringIO()
    logger = configured(stream, format=chosen)
    logger.warning("closed: %s", "x\nforged line\x1b[31m", extra={"client": "y\r\nforged too"})
    assert len(stream.getvalue().splitlines()) == 1
    assert "\x1b" not in stream.getvalue()


@pytest.mark.parametrize("chosen", ["json", "text"])
def test_a_bug_is_written_with_where_it_happened(chosen: str) -> None:
    stream = io.StringIO()
    logger = configured(stream, format=chosen)
    try:
        raise ZeroDivisionError("a bug")
    except ZeroDivisionError:
        logger.exception("it failed")
    assert "it failed" in stream.getvalue()
    assert "ZeroDivisionError: a bug" in stream.getvalue()
    assert "test_logs.py" in stream.getvalue()


def test_a_flood_of_one_kind_is_cut_and_the_next_line_tells_how_many() -> None:
    times = [0.0]
    limit = logs.RateLimit(2, lambda: times[0])

    def let_through(line: int, message: str) -> logging.LogRecord | None:
        record = logging.LogRecord("n", logging.WARNING, "file.py", line, message, (), None)
        return record if limit.filter(record) else None

    assert [let_through(1, f"refused {number}") is not None for number in range(5)] == [True, True, False, False, False]
    assert let_through(2, "another kind") is not None
    times[0] = 1.5
    record = let_through(1, "refused again")
    assert record is not None
    assert record.__dict__["suppressed"] == 3
    assert limit.suppressed == 3
    assert limit.written == {"warning": 4}


def test_the_suppressed_lines_are_told_in_the_log() -> None:
    stream = io.StringIO()
    logger = configured(stream, **{"rate.limit": 1})
    for number in range(3):
        logger.warning("refused %d", number)
    assert [line["event"] for line in objects(stream)] == ["refused 0"]
    written, suppressed = logs.line_counts()
    assert (written["warning"], suppressed) == (1, 2)


def test_no_limit_is_no_limit() -> None:
    stream = io.StringIO()
    logger = configured(stream, **{"rate.limit": 0})
    for _ in range(100):
        logger.info("again")
    assert len(objects(stream)) == 100


def test_structlog_brings_nothing_along_and_hides_nothing() -> None:
    program = (
        "import sys; from tidegate import logs; from tidegate.config import BrokerConfig; "
        "logs.configure(BrokerConfig.load().settings); import logging; logging.getLogger().warning('x'); "
        "print([m for m in sys.modules if m.startswith('rich')]); import rich"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "[]"


def test_until_the_broker_is_ready_only_a_warning_is_written_at_once() -> None:
    stream = io.StringIO()
    logs.configure(BrokerConfig.load().settings, stream)
    logger = logging.getLogger("tidegate.test")
    logger.info("first")
    assert stream.getvalue() == ""
    logger.warning("second")
    logger.info("third")
    assert [line["event"] for line in objects(stream)] == ["first", "second", "third"], "and in their order"


def test_what_waits_is_written_when_the_broker_is_ready() -> None:
    stream = io.StringIO()
    logs.configure(BrokerConfig.load().settings, stream)
    logging.getLogger("tidegate.test").info("first")
    logged_s = time.time()
    logs.release()
    (line,) = objects(stream)
    assert line["event"] == "first"
    assert datetime.fromisoformat(line["timestamp"]).timestamp() <= logged_s + 0.001, "the time when it happened"


def test_starting_the_broker_loads_no_structlog() -> None:
    program = (
        "import sys; from tidegate import logs, serve; from tidegate.config import BrokerConfig; "
        "logs.configure(BrokerConfig.load().settings); import logging; logging.getLogger().info('x'); "
        "print('structlog' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "False"


def test_a_server_tells_its_start_and_its_end(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        ended = server.end()
    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    events = [line["event"] for line in lines]
    durable = next(event for event in events if event.startswith("records are made durable by "))
    start = [durable, "the limit of open files is shared out", "the logs are open", "the broker is ready"]
    assert events == [*start, "the broker stops"]
    lines.pop(0)
    assert lines[0]["open_files"] >= lines[0]["logs"] + lines[0]["connections"]
    assert lines[1]["partitions"] == 0
    assert lines[1]["seconds"] >= 0
    assert lines[2]["kafka"] == server.address
    assert lines[3]["signal"] == "SIGTERM"


def facts(caplog: pytest.LogCaptureFixture, event: str) -> dict[str, Any]:
    """What goes with the last line that begins so."""
    return next(record.__dict__ for record in reversed(caplog.records) if record.getMessage().startswith(event))


@trio_test
async def test_topics_are_told_as_they_come_and_go(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t", 3)
        assert (facts(caplog, "topic created")["topic"], facts(caplog, "topic created")["partitions"]) == ("t", 3)
        await door.ask("DELETE", "/topics/t", {"x-tidegate": "1"})
        assert facts(caplog, "topic deleted")["topic"] == "t"


@trio_test
async def test_groups_are_told_with_their_generations(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with group_door(tmp_path) as door:
        await (await door.member()).settle()
        new = facts(caplog, "group has a new generation")
        assert (new["group"], new["generation"], new["members"]) == ("g", 1, 1)
        join = ConsumerGroupHeartbeatRequest(
            "new", "a", 0, rebalance_timeout_ms=30_000, subscribed_topic_names=["t"], topic_partitions=[]
        )
        await door.client.ask(join, 1)
        assert (facts(caplog, "group rebalances")["group"], facts(caplog, "group rebalances")["epoch"]) == ("new", 1)


@trio_test
async def test_a_fenced_producer_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with transacting(tmp_path) as (_, producer):
        newer = Producer(producer.client)
        await newer.init()
        await producer.end()
        assert facts(caplog, "a producer is fenced")["error"] in ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")


@trio_test
async def test_refused_and_malformed_connections_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with open_http_door(tmp_path, {"max.connections": 1}) as door:
        client = await door.connect()
        await create_topic(client, "t")
        await (await door.connect()).wait_closed()
        assert facts(caplog, "connection refused: max.connections=1")["address"] == "127.0.0.1"
        await client.send_bytes(b"GET / HTTP/1.1\r\n\r\n")
        with trio.fail_after(10):
            await until(lambda: not door.broker.server.connections)
        assert facts(caplog, "connection closed: ")["port"] > 0

"""The listener: loads late, bounds connections, survives what callers do."""

import contextlib
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from tests.tidegate.processes import run
from tests.wire.http.door import Answer, Caller, open_http_door
from tests.wire.kafka.door import until
from wire.http.application import Application
from wire.http.messages import Request, Response


def test_starting_the_broker_loads_none_of_what_the_door_needs() -> None:
    program = (
        "import sys; from tidegate import _path; _path.activate(); import tidegate.serve; "
        "print([m for m in ('h11', 'prometheus_client') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nHo"], ids=["idle", "half-sent"])
@trio_test
async def test_callers_that_say_nothing_do_not_keep_a_probe_out(tmp_path: Path, sent: bytes) -> None:
    async with open_http_door(tmp_path, {"http.max.connections": 2}) as door:
        server = door.broker.operations.server
        assert server is not None
        assert (await door.ask("GET", "/health/live")).status == 200
        first, second = await door.caller(), await door.caller()
        for caller in (first, second):
            await caller.stream.send_all(sent)
            await trio.sleep(0.01)  # so that one of them is silent for longer
        await until(lambda: server.statistics()["connections"] == 2)
        assert (await door.ask("GET", "/health/live")).status == 200
        assert server.statistics()["displaced"] == 1
        with contextlib.suppress(trio.BrokenResourceError):
            assert await first.rest() == b""
        if not sent:
            assert (await second.ask("GET", "/health/live")).status == 200
        for caller in (first, second):
            await caller.stream.aclose()


@trio_test
async def test_one_caller_too_many_is_closed_and_counted_if_all_others_are_being_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, answer = trio.Event(), Application.respond

    async def slow(application: Application, request: Request, visitor: object) -> Response:
        await go_on.wait()
        return await answer(application, request)

    async with open_http_door(tmp_path, {"http.max.connections": 2}) as door:
        server = door.broker.operations.server
        assert server is not None
        monkeypatch.setattr(Application, "respond", slow)
        statuses: list[int] = []

        async def call() -> None:
            statuses.append((await door.ask("GET", "/health")).status)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            nursery.start_soon(call)
            await until(lambda: sum(place.waiting_since is None for place in server._callers.values()) == 2)
            await until(lambda: all(place.connection is not None for place in server._callers.values()))
            async with (await door.caller()).stream as third:
                with contextlib.suppress(trio.BrokenResourceError):
                    assert await Caller(third).rest() == b""
            counted = server.statistics()
            assert {name: counted[name] for name in ("connections", "accepted", "refused", "displaced")} == {
                "connections": 2,
                "accepted": 2,
                "refused": 1,
                "displaced": 0,
            }
            go_on.set()
        assert statuses == [200, 200]
        await until(lambda: server.statistics()["connections"] == 0)
        assert (await door.ask("GET", "/health/live")).status == 200


@trio_test
async def test_callers_at_once_are_all_answered(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        statuses: list[int] = []

        async def call() -> None:
            statuses.append((await door.ask("GET", "/health")).status)

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(call)
        assert statuses == [200] * 20
        server = door.broker.operations.server
        assert server is not None
        assert server.answered()["GET", "/health", 200] == 20


@trio_test
async def test_more_callers_at_once_than_there_are_places_are_answered_in_turn(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"http.max.connections": 2}) as door:
        statuses: list[int] = []

        async def call() -> None:
            statuses.append((await door.ask("GET", "/health/live")).status)

        assert (await door.ask("GET", "/health/live")).status == 200
        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(call)
        assert statuses == [200] * 10


@trio_test
async def test_the_broker_stops_while_callers_are_connected(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        caller = await door.caller()
        await caller.stream.send_all(b"GET /health HTTP/1.1\r\nHo")
    async with caller.stream:
        with contextlib.suppress(trio.BrokenResourceError):
            assert await caller.rest() == b""


def test_a_port_in_use_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = run("serve", "--data-dir", str(tmp_path), "--kafka-port", "0", "--http-port", str(port))
    (line,) = ended.stderr.splitlines()
    assert ended.code == 1
    assert f"127.0.0.1:{port}" in line
    assert "--http-port" in line


@trio_test
async def test_a_request_that_is_carried_out_is_answered_when_the_broker_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, answer = trio.Event(), Application.respond
    answers: list[Answer] = []

    async def slow(application: Application, request: Request, visitor: object) -> Response:
        await go_on.wait()
        return await answer(application, request)

    async def call() -> None:
        answers.append(await caller.ask("GET", "/health/live", {"connection": "keep-alive"}))

    monkeypatch.setattr(Application, "respond", slow)
    async with trio.open_nursery() as nursery:
        async with open_http_door(tmp_path) as door:
            server = door.broker.operations.server
            assert server is not None
            caller, idle = await door.caller(), await door.caller()
            nursery.start_soon(call)
            await until(lambda: any(each.is_answering for each in server._callers.values()))

            async def release() -> None:
                await until(lambda: server._is_leaving)
                go_on.set()

            nursery.start_soon(release)
        async with idle.stream:
            assert await idle.rest() == b""
    assert [(each.status, each.headers["connection"]) for each in answers] == [(200, "close")]
    await caller.stream.aclose()

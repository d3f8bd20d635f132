"""The operations door as commands see it."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tidegate import testing
from tidegate.admin import AdminError, NoSuchRecord, NoSuchTopic, TooLate
from tidegate.testing import RunningBroker
from tools.cli.door import Door, opened, spoken
from tools.cli.errors import CannotReach, CliError, Exit, Refused
from tools.cli.profiles import Profile


def test_routes_are_read_by_their_parts(broker: RunningBroker) -> None:
    with opened(Profile(bootstrap=broker.bootstrap)) as door:
        assert door.read("cluster")["node_id"] == 1
        assert [each["name"] for each in door.read_all("config") if each["name"] == "num.partitions"]
        assert door.health()["status"] == "healthy"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NoSuchTopic("x"), Exit.NOT_FOUND),
        (NoSuchRecord("x"), Exit.NOT_FOUND),
        (TooLate("x"), Exit.REFUSED),
        (AdminError("no trace 1 is kept"), Exit.NOT_FOUND),
        (AdminError("refused"), Exit.REFUSED),
    ],
)
def test_its_errors_have_a_status(error: AdminError, status: Exit) -> None:
    with pytest.raises(CliError, match=str(error)) as raised, spoken(Door("http://127.0.0.1:1")):
        raise error
    assert raised.value.status is status


def test_who_did_not_say_who_it_is_is_told_how() -> None:
    denied = AdminError("not authorized to DESCRIBE the cluster", "ClusterAuthorizationFailed")
    for token, says_how in ((None, True), ("sesame", False)):
        with pytest.raises(Refused) as raised, spoken(Door("http://127.0.0.1:1", token)):
            raise denied
        assert ("TIDEGATE_CLI_TOKEN" in raised.value.hint) is says_how


def test_nobody_there_is_told() -> None:
    for ask in ("health", "read"):
        with pytest.raises(CannotReach, match="does not answer"), spoken(Door("http://127.0.0.1:1")) as door:
            getattr(door, ask)()


@pytest.fixture
def degraded() -> Iterator[str]:
    """A door that is not well: it answers 503 and says why."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(503)
            self.end_headers()
            body = {
                "/health": b'{"status":"degraded","uptime_seconds":1,"partitions":2,"offline_partitions":1}',
                "/other/health": b'{"detail":"who are you?","status":401}',
            }
            self.wfile.write(body[self.path])

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_broker_that_is_not_well_still_tells_how_it_is(degraded: str) -> None:
    with spoken(Door(degraded)) as door:
        assert door.health()["offline_partitions"] == 1
    with pytest.raises(Refused, match="who are you"), spoken(Door(degraded + "/other")) as door:
        door.health()


def test_a_wrong_token_is_told_in_the_callers_words() -> None:
    with testing.broker({"http.token": "secret"}, timeout_s=60) as broker:
        where = {"bootstrap": broker.bootstrap, "http": broker.http_url}
        with pytest.raises(Refused, match="wants to know who calls") as none, opened(Profile(**where)):
            pass
        with pytest.raises(Refused, match="does not take this token"), opened(Profile(**where, token="guess")):
            pass
        with pytest.raises(Refused, match="does not take this token"), spoken(Door(broker.http_url, "guess")) as door:
            door.health()
        with opened(Profile(**where, token="secret")) as door:
            assert door.health()["status"] == "healthy"
    assert "TIDEGATE_CLI_TOKEN" in none.value.line()
    assert "Authorization" not in none.value.line()

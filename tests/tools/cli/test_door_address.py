"""The door of the broker that is meant, and no other's."""

from collections.abc import Iterator

import pytest

from tests.tools.cli.conftest import Tidegate, run
from tidegate import testing
from tidegate.testing import RunningBroker
from tools.cli.door import opened
from tools.cli.door_address import Broker, door_of, meant, reachable
from tools.cli.errors import CannotReach, CliError, NotFound, UsageMistake
from tools.cli.profiles import DEFAULT_BOOTSTRAP, Profile


@pytest.fixture(scope="module")
def other() -> Iterator[RunningBroker]:
    with testing.broker(timeout_s=60) as running:
        yield running


@pytest.mark.parametrize("what", ["release", "cancel", "show", "fate"])
def test_no_command_acts_on_another_broker(
    tidegate: Tidegate, topic: str, other: RunningBroker, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    late = ("produce", topic, "x", "--key", "k", "--delay", "1h", "--schedule-id", "s")
    assert tidegate(*late).code == 0
    monkeypatch.delenv("TIDEGATE_CLI_BOOTSTRAP")
    assert run("-b", other.bootstrap, "--timeout", "60", *late).code == 0
    # The variable still names the first broker's door; the option names the other broker.
    ended = run("-b", other.bootstrap, "pending", what, topic, "s")
    assert ended.code == 2
    assert "are two brokers" in ended.err
    monkeypatch.delenv("TIDEGATE_CLI_HTTP")
    assert run("-b", other.bootstrap, "pending", what, topic, "s").code == 0, "its own door is found"
    assert run("-b", other.bootstrap, "topic", "delete", topic, "--yes").code == 0


def test_the_broker_tells_where_its_door_is(broker: RunningBroker, other: RunningBroker) -> None:
    for each in (broker, other):
        found = meant(Profile(bootstrap=each.bootstrap))
        assert found is not None
        assert found.door == each.http_url, "also where it took a free port"


def test_a_door_elsewhere_is_told_by_a_setting() -> None:
    with testing.broker({"http.advertised.url": "https://broker.example.org/door"}, timeout_s=60) as broker:
        found = meant(Profile(bootstrap=broker.bootstrap))
    assert found is not None
    assert found.door == "https://broker.example.org/door"


def test_a_broker_without_a_door_is_told() -> None:
    with testing.broker({"http.port": "0"}, timeout_s=60) as broker:
        profile = Profile(bootstrap=broker.bootstrap)
        with pytest.raises(NotFound, match="has no operations door"), opened(profile):
            pass


def test_who_names_a_door_alone_means_that_broker(broker: RunningBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(_: Profile) -> Broker:
        raise CannotReach("no Kafka broker answers")

    monkeypatch.setattr("tools.cli.door_address.ask", nobody)
    with opened(Profile(http=broker.http_url)) as door:
        assert door.health()["status"] == "healthy"
    named = Profile(http=broker.http_url, bootstrap=DEFAULT_BOOTSTRAP, names_bootstrap=True)
    with pytest.raises(CannotReach, match="no Kafka broker") as raised, opened(named):
        pass
    assert "the same broker's" in raised.value.hint


def test_a_door_that_is_bound_to_every_address_is_where_its_broker_is() -> None:
    assert reachable("http://0.0.0.0:8080", "kafka-1") == "http://kafka-1:8080"
    assert reachable("http://[::]:8080", "::1") == "http://[::1]:8080"
    assert reachable("https://broker.example.org/door", "kafka-1") == "https://broker.example.org/door"


@pytest.mark.parametrize(
    ("url", "is_taken"),
    [("http://kafka-1:8080", True), ("http://127.0.0.1:8080", True), ("http://elsewhere.example.org", False)],
)
def test_no_stranger_collects_tokens_by_telling_of_a_door(url: str, is_taken: bool) -> None:
    broker, profile = Broker("id", url), Profile(bootstrap="kafka-1:9092", token="secret")
    if is_taken:
        assert door_of(profile, broker) == url
    else:
        with pytest.raises(UsageMistake, match="another host"):
            door_of(profile, broker)
    assert door_of(Profile(bootstrap="kafka-1:9092"), broker) == url, "without a token there is nothing to collect"


def test_who_may_not_read_settings_can_still_name_the_door(broker: RunningBroker) -> None:
    found = meant(Profile(bootstrap=broker.bootstrap))
    assert found is not None
    hidden = Broker(found.cluster_id, None)
    with pytest.raises(CliError, match="no operations door"):
        door_of(Profile(), hidden)
    assert door_of(Profile(http=broker.http_url), hidden) == broker.http_url

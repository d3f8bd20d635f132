"""Where the broker's configuration comes from, what wins, and how a mistake is answered."""

from pathlib import Path

import pytest

from engine.errors import InvalidConfig
from tidegate.config import BrokerConfig, environment_name
from tidegate.config_keys import BROKER_KEYS
from wire.kafka.listeners import Listener


def written(directory: Path, text: str) -> Path:
    path = directory / "tidegate.toml"
    path.write_text(text)
    return path


def test_without_any_setting_the_defaults_hold() -> None:
    config = BrokerConfig.load()
    assert config.given == {}
    assert config["num.partitions"] == 1
    assert config.node_id == 1
    assert config.listeners == (Listener("PLAINTEXT", "127.0.0.1", 9092),)
    assert config.advertised_listeners == ()
    assert config.data_directory == Path("data")


@pytest.mark.parametrize(
    "text",
    [
        '"log.segment.bytes" = 2000000',
        "log.segment.bytes = 2000000",
        "[log]\nsegment.bytes = 2000000",
        "[log.segment]\nbytes = '2000000'",
    ],
)
def test_toml_may_be_flat_or_nested(tmp_path: Path, text: str) -> None:
    assert BrokerConfig.load(file=written(tmp_path, text))["log.segment.bytes"] == 2_000_000


def test_toml_values_have_their_own_types(tmp_path: Path) -> None:
    text = 'auto.create.topics.enable = false\nlog.cleanup.policy = ["compact", "delete"]'
    config = BrokerConfig.load(file=written(tmp_path, text))
    assert config["auto.create.topics.enable"] is False
    assert config["log.cleanup.policy"] == ("compact", "delete")


def test_environment_variables_name_keys_in_upper_case_with_underscores() -> None:
    config = BrokerConfig.load(environment={"TIDEGATE_LOG_SEGMENT_BYTES": "2000000", "PATH": "/bin"})
    assert config["log.segment.bytes"] == 2_000_000


def test_no_two_keys_share_an_environment_variable() -> None:
    assert len({environment_name(name) for name in BROKER_KEYS}) == len(BROKER_KEYS)


def test_what_is_nearer_to_the_command_wins(tmp_path: Path) -> None:
    file = written(tmp_path, "num.partitions = 2")
    environment = {"TIDEGATE_NUM_PARTITIONS": "3"}
    assert BrokerConfig.load(file=file)["num.partitions"] == 2
    assert BrokerConfig.load(file=file, environment=environment)["num.partitions"] == 3
    chosen = BrokerConfig.load(file=file, environment=environment, assignments=["num.partitions=4"])
    assert chosen["num.partitions"] == 4
    assert chosen.origins["num.partitions"] == "--set"
    program = BrokerConfig.load(assignments=["num.partitions=4"], values={"num.partitions": 5})
    assert program["num.partitions"] == 5


def test_a_topic_inherits_from_the_brokers_configuration() -> None:
    config = BrokerConfig.load(assignments=["log.retention.hours=1"])
    assert config.settings.topic_defaults["retention.ms"] == 3_600_000


def refusal(**arguments: object) -> str:
    with pytest.raises(InvalidConfig) as error:
        BrokerConfig.load(**arguments)  # type: ignore[arg-type]
    return str(error.value)


def test_an_unknown_key_is_refused_with_the_nearest_one() -> None:
    message = refusal(assignments=["log.segment.byte=1"])
    assert message == "Unknown configuration log.segment.byte (--set): did you mean log.segment.bytes?"


def test_a_key_like_no_other_is_pointed_to_the_documentation() -> None:
    assert "docs/configuration.md" in refusal(assignments=["zzz=1"])


def test_a_topics_key_is_refused_with_the_brokers_key_for_it() -> None:
    assert refusal(values={"retention.ms": 5}) == (
        "Unknown configuration retention.ms (program): this is a topic's key; the broker's default for it is "
        "log.retention.ms"
    )
    assert "on topics alone" in refusal(values={"leader.replication.throttled.replicas": ""})


def test_a_bad_value_is_refused_with_where_it_was_given_and_what_would_be_right(tmp_path: Path) -> None:
    file = written(tmp_path, "num.partitions = 0")
    assert refusal(file=file) == (
        "Invalid value '0' for configuration num.partitions: must be a whole number of 32 bits, at least 1 "
        f"(file {file})"
    )


def test_an_unknown_environment_variable_of_ours_is_refused() -> None:
    message = refusal(environment={"TIDEGATE_LOG_SEGMENT_BYTE": "1"})
    assert "environment variable TIDEGATE_LOG_SEGMENT_BYTE" in message
    assert "did you mean log.segment.bytes?" in message


def test_the_variables_of_a_kubernetes_service_are_passed_over() -> None:
    environment = {
        "TIDEGATE_SERVICE_HOST": "10.0.0.1",
        "TIDEGATE_SERVICE_PORT": "9092",
        "TIDEGATE_PORT": "tcp://10.0.0.1:9092",
        "TIDEGATE_PORT_9092_TCP_ADDR": "10.0.0.1",
        "TIDEGATE_CLI_BOOTSTRAP": "10.0.0.1:9092",
    }
    assert BrokerConfig.load(environment=environment).given == {}


def test_an_assignment_without_value_is_refused() -> None:
    assert refusal(assignments=["num.partitions"]) == "Cannot read 'num.partitions' (--set): must be key=value"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert str(tmp_path / "none.toml") in refusal(file=tmp_path / "none.toml")
    assert "is not TOML" in refusal(file=written(tmp_path, "= ="))


def test_the_older_name_of_the_node_id_is_taken() -> None:
    config = BrokerConfig.load(assignments=["broker.id=7"])
    assert (config.node_id, config["broker.id"]) == (7, 7)


def test_two_different_node_ids_are_refused() -> None:
    assert "must be that of node.id" in refusal(assignments=["broker.id=7", "node.id=8"])


def test_an_empty_token_is_refused_and_not_taken_for_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match=r"http\.token.*not empty"):
        BrokerConfig.load(environment={"TIDEGATE_HTTP_TOKEN": ""})
    file = tmp_path / "broker.toml"
    file.write_text('http.token = ""\n')
    with pytest.raises(InvalidConfig, match=r"http\.token.*not empty"):
        BrokerConfig.load(file=str(file))


def test_listeners_have_names_and_the_map_their_protocols() -> None:
    config = BrokerConfig.load(
        values={
            "listeners": "IN://127.0.0.1:1,OUT://127.0.0.1:2,IN://127.0.0.1:3",
            "advertised.listeners": "OUT://broker:9,IN://a:1,IN://b:3",
            "listener.security.protocol.map": "IN:PLAINTEXT,OUT:SASL_SSL",
        }
    )
    assert [config.protocol(each).value for each in config.listeners] == ["PLAINTEXT", "SASL_SSL", "PLAINTEXT"]
    assert [str(config.advertised(number)) for number in range(3)] == ["IN://a:1", "OUT://broker:9", "IN://b:3"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"listeners": "OUT://127.0.0.1:1"}, "OUT has no protocol: add OUT:SASL_SSL"),
        ({"advertised.listeners": "SSL://broker:1"}, "advertised.listeners names SSL"),
        ({"listener.security.protocol.map": "A:TLS"}, "a list of NAME:PROTOCOL"),
        ({"inter.broker.listener.name": "nodes"}, "inter.broker.listener.name is NODES, and listeners has none"),
        ({"security.inter.broker.protocol": "SSL"}, "none of the listeners has that protocol"),
        (
            {"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"},
            "are both set: leave out the second",
        ),
        ({"listener.name.plaintext.num.partitions": "3"}, "Unknown configuration listener.name.plaintext.num"),
    ],
)
def test_names_that_do_not_fit_together_are_refused(values: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidConfig, match=said):
        BrokerConfig.load(values=values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"group.share.record.lock.duration.ms": 5_000},
            r"group\.share\.record\.lock\.duration\.ms \(5000\).*min\.record\.lock.* \(15000\).*max.* \(60000\)",
        ),
        ({"group.share.max.heartbeat.interval.ms": 100}, r"min\.heartbeat.* must be at most .*max\.heartbeat"),
        (
            {"group.share.min.session.timeout.ms": 100, "group.share.session.timeout.ms": 5_000},
            r"group\.share\.session\.timeout\.ms \(5000\) must be greater than group\.share\.heartbeat",
        ),
    ],
)
def test_bounds_of_share_groups_that_contradict_each_other_are_named(values: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidConfig, match=message):
        BrokerConfig.load(values=values)

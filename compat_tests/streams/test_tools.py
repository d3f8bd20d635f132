"""`kafka-streams-groups` and `kafka-configs` with a real application: while it runs, and when it has stopped."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from compat_tests.java.tool import tool
from compat_tests.streams.application import instance, lines, write_lines
from compat_tests.streams.test_word_count import counting
from tools.reference.java import java_tool

GROUPS = "org.apache.kafka.tools.streams.StreamsGroupCommand"
PATIENCE_S = 120


def rows(shown: str) -> list[list[str]]:
    """The table of a tool without its heading."""
    found = [line.split() for line in shown.splitlines() if line.strip()]
    heading = next(number for number, line in enumerate(found) if line[0] == "GROUP")
    return found[heading + 1 :]


def test_an_application_is_listed_described_reset_and_deleted(
    bootstrap: str, make_topic: Callable[..., str], topic_name: str
) -> None:
    source, target = make_topic(2), make_topic(2)
    expected = write_lines(bootstrap, source, lines(50))
    settings = {"bootstrap_servers": bootstrap, "group_protocol": "streams", "application_server": "here:80"}

    def ask(*arguments: str) -> str:
        done = java_tool(GROUPS, "--bootstrap-server", bootstrap, *arguments, timeout=PATIENCE_S)
        return done.stdout + done.stderr

    group = ("--group", topic_name)
    chosen = ("--entity-type", "groups", "--entity-name", topic_name)
    with counting(bootstrap, target, 2) as counts, instance(topic_name, source, target, **settings) as running:
        counts.wait_for(expected, running)
        running.wait_until("RUNNING")
        with ThreadPoolExecutor(2) as pool:
            listed = pool.submit(ask, "--list", "--state")
            offsets = pool.submit(ask, "--describe", *group)
            members = pool.submit(ask, "--describe", *group, "--members", "--verbose")
            state = pool.submit(ask, "--describe", *group, "--state")
            refused = pool.submit(ask, "--delete", *group)
            altered = pool.submit(
                *(tool, "ConfigCommand", bootstrap, "--alter", *chosen),
                *("--add-config", "streams.num.standby.replicas=1,streams.initial.rebalance.delay.ms=0"),
            )
        assert [topic_name, "Stable"] in rows(listed.result())
        repartition = f"{topic_name}-words-repartition"
        assert sorted(row[1:3] for row in rows(offsets.result())) == sorted(
            [name, partition] for name in (source, repartition) for partition in "01"
        )
        (member,) = rows(members.result())
        assert "streams" in member
        assert "ACTIVE: 0:[0,1]; 1:[0,1]" in members.result()
        (row,) = rows(state.result())
        assert row[-2:] == ["Stable", "1"]
        assert "is not EMPTY" in refused.result()
        assert "Completed updating" in altered.result()
        running.stop()
    shown = tool("ConfigCommand", bootstrap, "--describe", *chosen)
    assert "streams.num.standby.replicas=1" in shown, shown
    reset = ask("--reset-offsets", *group, "--input-topic", source, "--to-offset", "3", "--execute")
    assert sorted(row[1:] for row in rows(reset)) == [[source, "0", "3"], [source, "1", "3"]]
    deleted = ask("--delete-offsets", *group, "--input-topic", source)
    assert "Successful" in deleted, deleted
    assert "was successful" in ask("--delete", *group)
    assert topic_name not in ask("--list")

"""The stage of share groups (KIP-932): members behave, they remember their epoch and what they were given.

`topic t 4`, `delete-topic t`, `join as=A topics=t,u rack=r id=x`, `beat as=A epoch=3 topics=u`, `leave as=A`,
`configure share.session.timeout.ms=9000` (without any: nothing is chosen), `consumer as=C` (somebody of the new
consumer protocol joins), `classic` (of the classic one), `commit`, `describe`, `advance 1000`, `crash`.

Administrators: `positions t-0 u-3` (without any: all), `begin t-0=5 u-0=-1`, `forget t u`, `delete`. `end t-0 20` is
where a partition ends, `acknowledged t-0 start=5 complete=2` what its leader has written down since, and `refuse 1`
lets the states of partitions of that number refuse (without any: none).
"""

from collections.abc import Iterable, Sequence
from typing import Any

import trio
from attrs import evolve

from coordinators.group.consumer.requests import HeartbeatRequest
from coordinators.group.descriptions import describe_share_group
from coordinators.group.requests import OffsetToCommit
from coordinators.share.ports import SharePlace, ShareState
from engine.errors import BrokerError
from tests.coordinators.group.consumer_shard import topic_id
from tests.coordinators.group.share_office import Office
from tests.coordinators.group.share_shard import ShareConsumer
from tests.scenarios.shard_commands import ShardCommands


class Stage(ShardCommands):
    """Commands over one shard and its group g."""

    def __init__(self) -> None:
        super().__init__()
        self.office = Office()
        self.shard = self.office.shard
        self.members: dict[str, ShareConsumer] = {}

    def told(self, answer: Any) -> str:
        return self.assigned(answer, "reads")

    # -- configs

    def do_configure(self, _words: list[str], options: dict[str, str]) -> str:
        self.shard.configs.take({"g": (options, 1 if options else 0)})
        return "ok"

    # -- members

    def do_join(self, _words: list[str], options: dict[str, str]) -> str:
        name = options.get("as", "")
        given: dict[str, Any] = {"rack_id": options["rack"]} if "rack" in options else {}
        topics = tuple(filter(None, options.get("topics", "t").split(",")))
        member = ShareConsumer(self.shard, options.get("id", name), topics)
        answer = member.take(self.shard.share_beat(member.member_id, 0, topics=topics, **given))
        if not isinstance(answer, BrokerError):
            self.members[name] = member
        return self.told(answer)

    def do_beat(self, _words: list[str], options: dict[str, str]) -> str:
        member = self.members.get(options["as"]) or ShareConsumer(self.shard, options["as"])
        epoch = int(options.get("epoch", member.epoch))
        given: dict[str, Any] = {"topics": tuple(options["topics"].split(","))} if "topics" in options else {}
        return self.told(member.take(self.shard.share_beat(member.member_id, epoch, **given)))

    def do_leave(self, _words: list[str], options: dict[str, str]) -> str:
        return self.told(self.shard.share_beat(options["as"], -1))

    # -- others

    def do_consumer(self, _words: list[str], options: dict[str, str]) -> str:
        request = HeartbeatRequest("g", options["as"], 0, rebalance_timeout_ms=1, topics=("t",), owned={})
        return self.told(self.shard.ask(lambda machine: machine.consumer_heartbeat(request)).message)

    def do_classic(self, _words: list[str], _options: dict[str, str]) -> str:
        answer = self.shard.join().message
        return type(answer).__name__

    def do_commit(self, _words: list[str], _options: dict[str, str]) -> str:
        answer = self.shard.commit(OffsetToCommit("t", 0, 1)).message
        return type(answer).__name__ if isinstance(answer, BrokerError) else "ok"

    # -- administrators

    def do_positions(self, words: list[str], _options: dict[str, str]) -> str:
        found = trio.run(self.office.desk.positions, "g", _by_topic(words) if words else None)
        return _lines(
            f"{topic.name}-{each.index} start {each.start_offset} lag {each.lag}{_error(each.error)}"
            for topic in found
            for each in topic.partitions
        )

    def do_begin(self, _words: list[str], options: dict[str, str]) -> str:
        wanted = [(name, [(index, int(options[f"{name}-{index}"]))]) for name, (index,) in _by_topic(list(options))]
        found = trio.run(self.office.desk.begin_elsewhere, "g", wanted)
        return _lines(f"{each.name}-{each.index}{_error(each.error) or ' ok'}" for each in found)

    def do_forget(self, words: list[str], _options: dict[str, str]) -> str:
        found = trio.run(self.office.desk.forget_topics, "g", words)
        return _lines(f"{each.name}{_error(each.error) or ' ok'}" for each in found)

    def do_delete(self, _words: list[str], _options: dict[str, str]) -> str:
        (refusal,) = trio.run(self.office.desk.delete_groups, ["g"])
        return "ok" if refusal is None else type(refusal).__name__

    def do_end(self, words: list[str], _options: dict[str, str]) -> str:
        ((_name, (index,)),) = _by_topic(words[:1])
        self.office.ends.ends[index] = int(words[1])
        return "ok"

    def do_acknowledged(self, words: list[str], options: dict[str, str]) -> str:
        ((name, (index,)),) = _by_topic(words)
        place = SharePlace("g", topic_id(name), index)
        known = self.office.states.kept.get(place, ShareState())
        start, complete = int(options["start"]), int(options["complete"])
        self.office.states.kept[place] = evolve(known, start_offset=start, complete_count=complete)
        return "ok"

    def do_refuse(self, words: list[str], _options: dict[str, str]) -> str:
        self.office.states.refusing = set(map(int, words))
        return "ok"

    # -- looking

    def do_describe(self, _words: list[str], _options: dict[str, str]) -> str:
        group = self.shard.machine.shares.groups.get("g")
        if group is None:
            return "none"
        found = describe_share_group(group, self.shard.topics)
        initialized = {topic: each.partitions for topic, each in group.states.initialized.items()}
        lines = [f"{found.state}, epoch {found.epoch}, assigned {found.assignment_epoch}, {found.assignor}"]
        lines.append(f"has states of {self.places(initialized)}")
        for member in sorted(found.members, key=lambda each: each.member_id):
            places = " ".join(f"{each.topic}-{index}" for each in member.assignment for index in each.partitions)
            lines.append(f"{member.member_id} epoch {member.epoch} wants {','.join(member.topics)} reads {places}")
        return "\n".join(lines)


def _by_topic(places: Sequence[str]) -> list[tuple[str, list[int]]]:
    """`t-0 t-1` as topics and partitions, each for itself."""
    return [(place.rpartition("-")[0], [int(place.rpartition("-")[2])]) for place in places]


def _error(error: BrokerError | None) -> str:
    return "" if error is None else f" {type(error).__name__}"


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines) or "nothing"

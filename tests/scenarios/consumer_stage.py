"""The stage of groups of the new consumer protocol (KIP-848). Members behave: what they are asked back they give back
at once, and say so by their next heartbeat.

`topic t 4`, `delete-topic t`, `join as=A topics=t,u regex=x.* instance=i assignor=range`, `beat as=A epoch=3`,
`leave as=A`, `away as=A` (a static member that will be back), `classic as=C instance=i` (a member of the classic
protocol joins and asks for its assignment), `classic-beat as=C`, `classic-leave as=C`, `commit as=A t-0=5`,
`fetch t-0`, `describe`, `delete`, `advance 1000`, `crash`.
"""

from typing import Any

from coordinators.group.consumer.group import ConsumerGroup
from engine.errors import BrokerError
from tests.coordinators.group.classic_consumer import ClassicConsumer
from tests.coordinators.group.consumer_shard import Consumer, ConsumerShard
from tests.scenarios.shard_commands import ShardCommands


class Stage(ShardCommands):
    """Commands over one shard and its group g."""

    def __init__(self) -> None:
        super().__init__()
        self.shard = ConsumerShard()
        self.members: dict[str, Consumer] = {}
        self.classic: dict[str, ClassicConsumer] = {}

    def told(self, answer: Any) -> str:
        return self.assigned(answer, "has")

    # -- members of the new protocol

    def do_join(self, _words: list[str], options: dict[str, str]) -> str:
        name = options["as"]
        given: dict[str, Any] = {"rebalance_timeout_ms": int(options.get("rebalance", "60000"))}
        given |= {"regex": options["regex"]} if "regex" in options else {}
        given |= {"instance_id": options["instance"]} if "instance" in options else {}
        given |= {"assignor": options["assignor"]} if "assignor" in options else {}
        topics = tuple(options.get("topics", "" if "regex" in options else "t").split(","))
        member = Consumer(self.shard, options.get("id", name), tuple(filter(None, topics)), given)
        answer = member.join()
        if not isinstance(answer, BrokerError):
            self.members[name] = member
        return self.told(answer)

    def do_beat(self, words: list[str], options: dict[str, str]) -> str:
        member = self.members[options["as"]]
        if "epoch" in options:
            return self.told(self.shard.beat(member.member_id, int(options["epoch"])))
        if "silently" in words:
            return self.told(self.shard.beat(member.member_id, member.epoch))
        return self.told(member.beat())

    def do_leave(self, _words: list[str], options: dict[str, str]) -> str:
        return self.told(self.members[options["as"]].leave())

    def do_away(self, _words: list[str], options: dict[str, str]) -> str:
        return self.told(self.members[options["as"]].leave(-2))

    # -- members of the classic protocol

    def do_classic(self, _words: list[str], options: dict[str, str]) -> str:
        member = self.classic.setdefault(options["as"], ClassicConsumer(self.shard, options.get("instance")))
        joined = member.join().message
        if isinstance(joined, BrokerError) or joined == "pending":
            return joined if isinstance(joined, str) else type(joined).__name__
        assignments = {each.member_id: b"" for each in joined.members}
        synced = member.sync(assignments).message
        if isinstance(synced, BrokerError):
            return type(synced).__name__
        kind = "leads" if joined.leader == member.member_id else "follows"
        has = " ".join(f"t-{index}" for index in sorted(member.owned)) or "nothing"
        return f"generation {member.generation}, {kind}, has {has}"

    def do_classic_beat(self, _words: list[str], options: dict[str, str]) -> str:
        self.classic[options["as"]].beat()
        return "ok"

    def do_classic_leave(self, _words: list[str], options: dict[str, str]) -> str:
        (error,) = self.classic[options["as"]].leave()
        return "ok" if error is None else type(error).__name__

    # -- offsets

    def do_commit(self, _words: list[str], options: dict[str, str]) -> str:
        member = self.members.get(options.pop("as", ""))
        epoch = int(options.pop("epoch", -1 if member is None else member.epoch))
        ((place, offset),) = options.items()
        error = self.committed(place, offset, member, epoch)
        return "ok" if error is None else type(error).__name__

    # -- looking

    def do_describe(self, _words: list[str], _options: dict[str, str]) -> str:
        consumers = self.shard.machine.consumers.groups.get("g")
        if consumers is None:
            return self.classic_group() or "none"
        head = f"{consumers.state.value}, epoch {consumers.epoch}, assigned {consumers.assignment_epoch}"
        return "\n".join([head, *(self._member(consumers, member_id) for member_id in consumers.members)])

    def _member(self, group: ConsumerGroup, member_id: str) -> str:
        member = group.members[member_id]
        names = {each.member_id: name for name, each in self.classic.items()}
        line = f"{names.get(member_id, member_id)}: epoch {member.epoch} {member.state.name}, has"
        line += f" {self.places(member.assigned)}"
        if member.revoking:
            line += f", gives back {self.places(member.revoking)}"
        return line

"""The stage of streams groups (KIP-1071). Members are threads that behave: what they are asked back they give back at
once, and say so by their next heartbeat. Their application counts words: subtopology 0 reads `in` and writes `words`,
subtopology 1 reads `words` and keeps its counts in the changelog `counts`.

`topic in 4`, `delete-topic in`, `make` (topics that were missing), `configure num.standby.replicas=1`,
`join as=a1 process=a epoch=2 copies=yes` (an application that only copies), `beat as=a1 epoch=3 stop=yes`,
`leave as=a1`, `commit as=a1 in-0=5`, `fetch in-0`, `classic` (a member of the classic protocol joins), `describe`,
`delete`, `advance 1000`, `crash`.
"""

from typing import Any

from attrs import evolve

from coordinators.group.streams.requests import StreamsHeartbeatAnswer
from coordinators.group.streams.tasks import Tasks, each_task
from coordinators.topic_creation import TopicSpec
from engine.errors import BrokerError
from tests.coordinators.group.streams_shard import COPYING, COUNTING, StreamsShard, StreamThread
from tests.scenarios.shard_commands import ShardCommands


class Stage(ShardCommands):
    """Commands over one shard and its group g."""

    def __init__(self) -> None:
        super().__init__()
        self.shard = StreamsShard()
        self.threads: dict[str, StreamThread] = {}
        self.missing: tuple[TopicSpec, ...] = ()

    def told(self, answer: Any) -> str:
        if isinstance(answer, BrokerError):
            return f"{type(answer).__name__}: {answer}"
        assert isinstance(answer, StreamsHeartbeatAnswer)
        self.missing = answer.missing or self.missing
        line = f"epoch {answer.epoch}"
        if answer.tasks is not None:
            line += f", has {_tasks(answer.tasks)}"
        return "\n".join([line, *(f"{each.code.name}: {each.detail}" for each in answer.status)])

    # -- topics and configs

    def do_make(self, _words: list[str], _options: dict[str, str]) -> str:
        self.shard.make(self.missing)
        return " ".join(f"{spec.name}:{spec.partition_count}" for spec in self.missing)

    def do_configure(self, _words: list[str], options: dict[str, str]) -> str:
        self.shard.configure(**{name.replace(".", "_"): int(value) for name, value in options.items()})
        return "ok"

    # -- members

    def do_join(self, _words: list[str], options: dict[str, str]) -> str:
        name = options["as"]
        topology = evolve(COPYING if "copies" in options else COUNTING, epoch=int(options.get("epoch", "0")))
        given: dict[str, Any] = {
            "topology": topology,
            "process_id": options.get("process", name[0]),
            "rebalance_timeout_ms": int(options.get("rebalance", "60000")),
        }
        thread = StreamThread(self.shard, name, given, makes_topics=False)
        answer = thread.join()
        if not isinstance(answer, BrokerError):
            self.threads[name] = thread
        return self.told(answer)

    def do_beat(self, words: list[str], options: dict[str, str]) -> str:
        thread = self.threads[options["as"]]
        if "epoch" in options:
            return self.told(self.shard.beat(thread.member_id, int(options["epoch"])))
        if "silently" in words:
            return self.told(self.shard.beat(thread.member_id, thread.epoch))
        return self.told(thread.beat(**({"shuts_down": True} if "stop" in options else {})))

    def do_leave(self, _words: list[str], options: dict[str, str]) -> str:
        return self.told(self.threads[options["as"]].leave())

    def do_classic(self, _words: list[str], _options: dict[str, str]) -> str:
        message = self.shard.join().message
        return type(message).__name__

    # -- offsets

    def do_commit(self, _words: list[str], options: dict[str, str]) -> str:
        thread = self.threads.get(options.pop("as", ""))
        epoch = int(options.pop("epoch", -1 if thread is None else thread.epoch))
        ((place, offset),) = options.items()
        error = self.committed(place, offset, thread, epoch)
        return "ok" if error is None else f"{type(error).__name__}: {error}"

    # -- looking

    def do_describe(self, _words: list[str], _options: dict[str, str]) -> str:
        streams = self.shard.machine.streams.groups.get("g")
        if streams is None:
            return self.classic_group() or "none"
        lines = [f"{streams.state.value}, epoch {streams.epoch}, assigned {streams.assignment_epoch}"]
        for member_id, member in streams.members.items():
            line = f"{member_id}: epoch {member.epoch} {member.state.name}, has {_tasks(member.assigned.tasks)}"
            if not member.revoking.is_empty:
                line += f", gives back {_tasks(member.revoking.tasks)}"
            lines.append(line)
        return "\n".join(lines)


def _tasks(tasks: Tasks) -> str:
    found = [f"{name}_{index}" for name, index in sorted(each_task(tasks.active))]
    found += [f"({name}_{index})" for name, index in sorted(each_task(tasks.standby))]
    return " ".join(found) or "nothing"

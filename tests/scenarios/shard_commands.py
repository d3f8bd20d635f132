"""What the stages of consumer groups, share groups and streams groups have in common: a shard with the group g."""

from typing import Any

from coordinators.group.requests import OffsetToCommit
from engine.errors import BrokerError
from engine.ids import TopicId
from tests.coordinators.group.consumer_shard import topic_id


class ShardCommands:
    """Commands over one shard: `topic t 4`, `delete-topic t`, `fetch t-0`, `delete`, `advance 1000`, `crash`."""

    shard: Any

    def __init__(self) -> None:
        self.names: dict[TopicId, str] = {}

    def run(self, command: str, words: list[str], options: dict[str, str]) -> str:
        try:
            return str(getattr(self, "do_" + command.replace("-", "_"))(words, options))
        except BrokerError as error:
            return type(error).__name__

    def places(self, partitions: Any) -> str:
        """Partitions by topic, as one writes them."""
        found = [f"{self.names[topic]}-{index}" for topic, indexes in partitions.items() for index in indexes]
        return " ".join(sorted(found)) or "nothing"

    def assigned(self, answer: Any, has: str) -> str:
        """What a member is told by its heartbeat."""
        if isinstance(answer, BrokerError):
            return type(answer).__name__
        if answer.assignment is None:
            return f"epoch {answer.epoch}"
        return f"epoch {answer.epoch}, {has} {self.places(answer.assignment)}"

    def committed(self, place: str, offset: str, member: Any, epoch: int) -> BrokerError | None:
        """Why a commit is refused; `member` is None where nobody is named."""
        topic, partition = place.rsplit("-", 1)
        wanted = OffsetToCommit(topic, int(partition), int(offset), topic_id=topic_id(topic))
        member_id = "" if member is None else member.member_id
        answer = self.shard.commit(wanted, member_id=member_id, generation=epoch).message
        error: BrokerError | None = answer if isinstance(answer, BrokerError) else answer[0]
        return error

    def classic_group(self) -> str | None:
        """The group, where it is of the classic protocol."""
        group = self.shard.machine.groups.get("g")
        if group is None:
            return None
        return f"classic {group.state.value}, generation {group.generation}, {len(group.members)} members"

    # -- topics

    def do_topic(self, words: list[str], _options: dict[str, str]) -> str:
        self.names[topic_id(words[0])] = words[0]
        self.shard.topic(words[0], int(words[1]))
        return "ok"

    def do_delete_topic(self, words: list[str], _options: dict[str, str]) -> str:
        self.shard.delete_topic(words[0])
        return "ok"

    # -- offsets, life, time

    def do_fetch(self, words: list[str], _options: dict[str, str]) -> str:
        topic, partition = words[0].rsplit("-", 1)
        return str(self.shard.fetch(topic, int(partition)).offset)

    def do_delete(self, _words: list[str], _options: dict[str, str]) -> str:
        answer = self.shard.ask(lambda machine: machine.commits.delete_group("g")).message
        return "ok" if answer is None else type(answer).__name__

    def do_advance(self, words: list[str], _options: dict[str, str]) -> str:
        self.shard.advance(int(words[0]))
        return "ok"

    def do_crash(self, _words: list[str], _options: dict[str, str]) -> str:
        self.shard.crash()
        return "ok"

"""The stage of classic groups: members are told by name, and everybody who is answered is reported.

`join as=A`, `sync as=A A=p0 B=p1`, `heartbeat as=A`, `leave as=A`, `commit as=A t-0=5`, `fetch t-0`, `describe`,
`advance 1000`, `crash`, `delete`. A member remembers its id and its generation; `generation=` says another one.
"""

from typing import Any

from coordinators.group.config import GroupSettings
from coordinators.group.descriptions import describe
from coordinators.group.machine import GroupMachine
from coordinators.group.requests import CommitRequest, JoinAnswer, LeavingMember, OffsetToCommit, SyncAnswer
from coordinators.state_machine import Producer, Verdict
from engine.errors import BrokerError, MemberIdRequired
from tests.coordinators.group.shard import PENDING, Heard, Shard


class Stage:
    """Commands over one shard and its group g."""

    def __init__(self) -> None:
        self.shard = Shard()
        self.ids: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.generations: dict[str, int] = {}
        self.waiting: list[tuple[str, Heard]] = []

    def run(self, command: str, words: list[str], options: dict[str, str]) -> str:
        try:
            said = getattr(self, f"do_{command}")(words, options)
        except BrokerError as error:
            said = type(error).__name__
        lines = [said] if said else []
        lines += [f"{name}: {self.told(name, heard.message)}" for name, heard in self.waiting if heard.messages]
        self.waiting = [(name, heard) for name, heard in self.waiting if not heard.messages]
        return "\n".join(lines) or "-"

    def told(self, name: str, message: Any) -> str:
        if isinstance(message, MemberIdRequired):
            self.note(name, message.member_id)
        if isinstance(message, BrokerError):
            return type(message).__name__
        if isinstance(message, JoinAnswer):
            self.note(name, message.member_id)
            self.generations[name] = message.generation
            members = " ".join(self.names.get(each.member_id, "?") for each in message.members)
            leader = f", leads {members}" if members else f", led by {self.names.get(message.leader, 'another')}"
            skips = ", shall not assign" if message.skip_assignment else ""
            return f"generation {message.generation} by {message.protocol}{leader}{skips}"
        if isinstance(message, SyncAnswer):
            return f"assigned {message.assignment.decode() or 'nothing'}"
        if isinstance(message, list):
            return " ".join("ok" if each is None else type(each).__name__ for each in message)
        return "ok" if message is None else str(message)

    def note(self, name: str, member_id: str) -> None:
        self.ids[name], self.names[member_id] = member_id, name

    def ask(self, name: str, heard: Heard) -> str:
        if heard.message == PENDING:
            self.waiting.append((name, heard))
            return f"{name} waits"
        # Others whom this answered too are reported before.
        self.waiting.append((name, heard))
        return ""

    # -- members

    def do_join(self, _words: list[str], options: dict[str, str]) -> str:
        name = options["as"]
        protocols = options.get("protocols", "range").split(",")
        member_id = "" if options.get("id") == "none" else self.ids.get(name, "")
        heard = self.shard.join(
            member_id,
            options.get("instance"),
            session_timeout_ms=int(options.get("session", "10000")),
            rebalance_timeout_ms=int(options.get("rebalance", "60000")),
            protocols=tuple((each, f"{name} wants {options.get('topic', 't')}".encode()) for each in protocols),
            takes_id_first=int(options.get("version", "9")) >= 4,
            can_skip_assignment=int(options.get("version", "9")) >= 9,
        )
        if heard.messages and isinstance(heard.message, MemberIdRequired) and "only-id" not in _words:
            self.told(name, heard.message)
            return self.do_join(_words, options)
        return self.ask(name, heard)

    def do_sync(self, _words: list[str], options: dict[str, str]) -> str:
        name = options.pop("as")
        instance = options.pop("instance", None)
        generation = int(options.pop("generation", self.generations[name]))
        assignments = {self.ids[each]: content.encode() for each, content in options.items()}
        return self.ask(name, self.shard.sync(self.ids[name], generation, assignments, instance))

    def do_heartbeat(self, _words: list[str], options: dict[str, str]) -> str:
        name = options["as"]
        generation = int(options.get("generation", self.generations.get(name, 0)))
        self.shard.heartbeat(options.get("id", self.ids.get(name, "?")), generation, options.get("instance"))
        return "ok"

    def do_leave(self, _words: list[str], options: dict[str, str]) -> str:
        member_id = self.ids[options["as"]] if "as" in options else ""
        heard = self.shard.leave(LeavingMember(member_id, options.get("instance")))
        return self.ask(options.get("as", "administrator"), heard)

    # -- offsets

    def do_commit(self, _words: list[str], options: dict[str, str]) -> str:
        name = options.pop("as", "")
        producer = options.pop("producer", None)
        member_id = self.ids.get(name, "")
        generation = int(options.pop("generation", self.generations.get(name, -1)))
        offsets = tuple(OffsetToCommit(*_place(place), int(offset)) for place, offset in options.items())
        if producer is None:
            return self.ask(name or "somebody", self.shard.commit(*offsets, member_id=member_id, generation=generation))
        return self._commit_transactional(int(producer), offsets)

    def _commit_transactional(self, producer_id: int, offsets: tuple[OffsetToCommit, ...]) -> str:
        request = CommitRequest("g", "", -1, offsets)
        return self.ask(
            "producer",
            self.shard.ask(lambda machine: machine.commits.commit_transactional(request, Producer(producer_id, 0))),
        )

    def do_end(self, words: list[str], options: dict[str, str]) -> str:
        self.shard.machine.replay_marker(int(options["producer"]), words[0] == "commit")
        return "ok"

    def do_fetch(self, words: list[str], _options: dict[str, str]) -> str:
        found = self.shard.fetch(*_place(words[0]), require_stable="stable" in words)
        return type(found.error).__name__ if found.error is not None else str(found.offset)

    # -- administration and life

    def do_describe(self, _words: list[str], _options: dict[str, str]) -> str:
        def operation(machine: GroupMachine) -> Verdict:
            return Verdict(response=describe(machine, "g"))

        found = self.shard.ask(operation).message
        if isinstance(found, BrokerError):
            return type(found).__name__
        members = [f"{self.names.get(each.member_id, '?')}:{each.assignment.decode() or '-'}" for each in found.members]
        return " ".join([found.state, *members])

    def do_delete(self, _words: list[str], _options: dict[str, str]) -> str:
        return self.ask("administrator", self.shard.ask(lambda machine: machine.commits.delete_group("g")))

    def do_advance(self, words: list[str], _options: dict[str, str]) -> str:
        self.shard.advance(int(words[0]))
        return ""

    def do_crash(self, _words: list[str], _options: dict[str, str]) -> str:
        self.shard.crash()
        self.waiting.clear()
        return "ok"

    def do_configure(self, _words: list[str], options: dict[str, str]) -> str:
        """Begin anew with other settings."""
        self.__init__()  # type: ignore[misc]
        self.shard.settings = GroupSettings(
            initial_rebalance_delay_ms=int(options.get("delay", "0")), max_size=int(options.get("size", "100"))
        )
        self.shard.start()
        return "ok"


def _place(text: str) -> tuple[str, int]:
    topic, partition = text.rsplit("-", 1)
    return topic, int(partition)

"""The assignor of streams groups, by Kafka's name `sticky`: who shall do which task, and who keeps whose state ready.

Active tasks first: whoever did a task keeps it, else one who kept its state takes it over, as long as nobody gets more
than its share; the rest goes where least is done. A process with more members (threads) takes more. Then standbys, for
tasks that have state: on another process than the task itself, with those who have the state already before others.
"""

from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush

from attrs import define, field, frozen

from coordinators.group.streams.tasks import Task, Tasks, by_subtopology, each_task

STICKY = "sticky"


@frozen
class TaskCandidate:
    """A member as the assignor sees it: the process that it is a thread of, and what it was meant to have before."""

    process_id: str
    target: Tasks


@frozen
class TaskSource:
    """A subtopology: how many tasks it has, and whether they keep state."""

    task_count: int
    has_state: bool


def assign_sticky(
    members: Mapping[str, TaskCandidate], sources: Mapping[str, TaskSource], standby_count: int
) -> dict[str, Tasks]:
    """Balanced and sticky."""
    if not members:
        return {}
    return _Assignment(members, sources, standby_count).assign()


@define(eq=False)
class _Share:
    """What a member gets. It never has a task twice, so counting is enough."""

    member_id: str
    process: "_Process"
    active: list[Task] = field(factory=list)
    standby: list[Task] = field(factory=list)

    @property
    def count(self) -> int:
        return len(self.active) + len(self.standby)


@define(eq=False)
class _Process:
    """Members that share a machine's memory and disk, or fall with it."""

    process_id: str
    shares: list[_Share] = field(factory=list)
    tasks: set[Task] = field(factory=set)

    @property
    def load(self) -> float:
        """Tasks per member."""
        return len(self.tasks) / len(self.shares)

    def least(self) -> _Share:
        return min(self.shares, key=lambda share: (share.count, share.member_id))


@define(eq=False)
class _Quota:
    """The most tasks that a member gets. Whoever has as many leaves the rest to be shared among the others."""

    tasks_left: int
    members_left: int

    @property
    def most(self) -> int:
        return -(-self.tasks_left // self.members_left) if self.members_left else 0

    def note(self, count: int) -> None:
        """A member has so many now."""
        if self.members_left and count == self.most:
            self.tasks_left -= count
            self.members_left -= 1


class _Assignment:
    """An assignment in the making."""

    def __init__(
        self, members: Mapping[str, TaskCandidate], sources: Mapping[str, TaskSource], standby_count: int
    ) -> None:
        self.standby_count = standby_count
        self.processes: dict[str, _Process] = {}
        self.shares: dict[str, _Share] = {}
        self.did: dict[Task, _Share] = {}
        self.kept: dict[Task, list[_Share]] = {}
        for member_id in sorted(members):
            self._add(member_id, members[member_id])
        self.tasks = [(name, index) for name in sorted(sources) for index in range(sources[name].task_count)]
        self.with_state = [task for task in self.tasks if sources[task[0]].has_state]
        self.active_quota = _Quota(len(self.tasks), len(members))
        self.quota = _Quota(len(self.tasks) + len(self.with_state) * standby_count, len(members))

    def _add(self, member_id: str, member: TaskCandidate) -> None:
        process = self.processes.setdefault(member.process_id, _Process(member.process_id))
        share = self.shares[member_id] = _Share(member_id, process)
        process.shares.append(share)
        for task in each_task(member.target.active):
            self.did[task] = share
        for tasks in (member.target.standby, member.target.warmup):
            for task in each_task(tasks):
                self.kept.setdefault(task, []).append(share)

    def assign(self) -> dict[str, Tasks]:
        self._assign_active()
        self._assign_standbys()
        return {
            member_id: Tasks(by_subtopology(iter(share.active)), by_subtopology(iter(share.standby)))
            for member_id, share in self.shares.items()
        }

    # -- active tasks

    def _assign_active(self) -> None:
        # Partition by partition, so that a quota cuts off the ends of subtopologies and not the last of them.
        left = sorted(self.tasks, key=lambda task: (task[1], task[0]))
        left = [task for task in left if not self._do(task, self.did.get(task))]
        left = [task for task in left if not self._do(task, self._least_keeper(task))]
        queue = self._by_load()
        for task in sorted(left):
            _load, _name, process = heappop(queue)
            self._give(task, process.least())
            heappush(queue, (process.load, process.process_id, process))

    def _do(self, task: Task, share: _Share | None) -> bool:
        """Give a task to who has a reason to do it, if that does not have its share yet."""
        if share is None or len(share.active) >= self.active_quota.most:
            return False
        self._give(task, share)
        return True

    def _give(self, task: Task, share: _Share) -> None:
        share.active.append(task)
        share.process.tasks.add(task)
        self.active_quota.note(len(share.active))
        self.quota.note(share.count)

    def _least_keeper(self, task: Task) -> _Share | None:
        """Of those who kept its state, and whose process has not got it, the one with least to do."""
        keepers = [share for share in self.kept.get(task, ()) if task not in share.process.tasks]
        return min(keepers, key=lambda share: (share.process.load, share.count, share.member_id), default=None)

    def _by_load(self) -> list[tuple[float, str, _Process]]:
        queue = [(process.load, process.process_id, process) for process in self.processes.values()]
        heapify(queue)
        return queue

    # -- standbys

    def _assign_standbys(self) -> None:
        if not self.standby_count or len(self.processes) < 2:
            return
        left = []
        for task in sorted(self.with_state, key=lambda task: (task[1], task[0]), reverse=True):
            missing = self.standby_count
            while missing and self._keep(task, (self.did.get(task), self._least_keeper(task))):
                missing -= 1
            left += [task] * missing
        queue = self._by_load()
        for task in sorted(left, reverse=True):
            self._keep_anywhere(task, queue)

    def _keep(self, task: Task, candidates: Iterable[_Share | None]) -> bool:
        for share in candidates:
            if share is not None and task not in share.process.tasks and share.count < self.quota.most:
                self._stand_by(task, share)
                return True
        return False

    def _keep_anywhere(self, task: Task, queue: list[tuple[float, str, _Process]]) -> None:
        """The process with least to do that has not got it; with too few processes there are fewer standbys."""
        passed = []
        while queue:
            entry = heappop(queue)
            process = entry[2]
            if task not in process.tasks:
                self._stand_by(task, process.least())
                heappush(queue, (process.load, process.process_id, process))
                break
            passed.append(entry)
        for entry in passed:
            heappush(queue, entry)

    def _stand_by(self, task: Task, share: _Share) -> None:
        share.standby.append(task)
        share.process.tasks.add(task)
        self.quota.note(share.count)

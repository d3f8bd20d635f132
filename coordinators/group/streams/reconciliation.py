"""How a member of a streams group goes from the tasks it has to those it shall have, one heartbeat at a time.

As in consumer groups it first gives back what is not in its target, then gets what is free. A task is free to be done
if nobody does it, and if no other member of the same process keeps its state: a process has the state of a task once.
"""

from collections.abc import Callable, Mapping

from attrs import evolve, frozen

from coordinators.group.streams.group import StreamsMember, StreamsMemberState
from coordinators.group.streams.tasks import HeldTasks, Task, TaskIds, Tasks
from engine.errors import FencedMemberEpoch


@frozen
class StreamsGoal:
    """Where a member shall go."""

    epoch: int
    target: Tasks
    # The process whose member does a task, or still has to give it back; and those whose members keep its state. What
    # the member has itself does not count: what is not in its target it has given back when it goes on.
    doing_process: Callable[[Task], str | None]
    keeping_processes: Callable[[Task], frozenset[str]]


def reconcile_tasks(member: StreamsMember, goal: StreamsGoal, owned: Tasks | None) -> StreamsMember:
    """The member as it is after this heartbeat; `owned` is what it reports to have, None if it reports nothing."""
    if member.state is StreamsMemberState.STABLE:
        return member if member.epoch == goal.epoch else _next(member, goal, owned, member.epoch)
    if member.state is StreamsMemberState.UNREVOKED_TASKS:
        if owned is None or owned.overlaps(member.revoking.tasks):
            return member
        return _next(member, goal, owned, member.epoch + 1)
    if member.state is StreamsMemberState.UNKNOWN and (owned is None or not owned.is_empty):
        raise FencedMemberEpoch(
            "The streams group member is in a unknown state. The member must abandon all its tasks and rejoin."
        )
    return _next(member, goal, owned, member.epoch)


@frozen
class _Difference:
    """Of one role: what stays, what is to be given back, what is free, and whether something is not."""

    stays: dict[str, frozenset[int]]
    given_back: dict[str, frozenset[int]]
    free: dict[str, frozenset[int]]
    has_unreleased: bool


def _difference(has: Mapping[str, frozenset[int]], target: TaskIds, is_held: Callable[[Task], bool]) -> _Difference:
    stays: dict[str, frozenset[int]] = {}
    given_back: dict[str, frozenset[int]] = {}
    free: dict[str, frozenset[int]] = {}
    has_unreleased = False
    for subtopology_id in sorted(has.keys() | target.keys()):
        had, wanted = has.get(subtopology_id, frozenset()), target.get(subtopology_id, frozenset())
        missing = wanted - had
        available = frozenset(each for each in missing if not is_held((subtopology_id, each)))
        has_unreleased = has_unreleased or len(available) < len(missing)
        for found, partitions in ((stays, had & wanted), (given_back, had - wanted), (free, available)):
            if partitions:
                found[subtopology_id] = partitions
    return _Difference(stays, given_back, free, has_unreleased)


def _next(member: StreamsMember, goal: StreamsGoal, owned: Tasks | None, waiting_epoch: int) -> StreamsMember:
    process_id, has = member.process_id, member.assigned.tasks

    def is_done(task: Task) -> bool:
        return goal.doing_process(task) is not None or process_id in goal.keeping_processes(task)

    def is_in_process(task: Task) -> bool:
        return goal.doing_process(task) == process_id or process_id in goal.keeping_processes(task)

    active = _difference(has.active, goal.target.active, is_done)
    standby = _difference(has.standby, goal.target.standby, is_in_process)
    warmup = _difference(has.warmup, goal.target.warmup, is_in_process)
    epochs = member.assigned.active
    stays = HeldTasks(_epochs(active.stays, epochs), standby.stays, warmup.stays)
    revoking = HeldTasks(_epochs(active.given_back, epochs), standby.given_back, warmup.given_back)
    if not revoking.is_empty and (owned is None or owned.overlaps(revoking.tasks)):
        return evolve(
            member,
            state=StreamsMemberState.UNREVOKED_TASKS,
            epoch=waiting_epoch,
            previous_epoch=member.epoch,
            assigned=stays,
            revoking=revoking,
        )
    new = {name: dict.fromkeys(partitions, goal.epoch) for name, partitions in active.free.items()}
    assigned = HeldTasks(
        {name: {**stays.active.get(name, {}), **new.get(name, {})} for name in sorted({*stays.active, *new})},
        _joined(standby.stays, standby.free),
        _joined(warmup.stays, warmup.free),
    )
    waits = active.has_unreleased or standby.has_unreleased or warmup.has_unreleased
    return evolve(
        member,
        state=StreamsMemberState.UNRELEASED_TASKS if waits else StreamsMemberState.STABLE,
        epoch=goal.epoch,
        previous_epoch=member.epoch,
        assigned=assigned,
        revoking=HeldTasks(),
    )


def _epochs(tasks: TaskIds, epochs: Mapping[str, Mapping[int, int]]) -> dict[str, dict[int, int]]:
    return {name: {each: epochs[name][each] for each in sorted(partitions)} for name, partitions in tasks.items()}


def _joined(first: TaskIds, second: TaskIds) -> dict[str, frozenset[int]]:
    return {name: first.get(name, frozenset()) | second.get(name, frozenset()) for name in sorted({*first, *second})}

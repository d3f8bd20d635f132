"""The sticky assignor of tasks: balanced, sticky, standbys on other processes."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from coordinators.group.streams.assignor import TaskCandidate, TaskSource, assign_sticky
from coordinators.group.streams.tasks import Task, Tasks, each_task

SOURCES = {"0": TaskSource(4, False), "1": TaskSource(4, True)}


def candidates(*names: str, process: str | None = None, **targets: Tasks) -> dict[str, TaskCandidate]:
    return {name: TaskCandidate(process or f"p-{name}", targets.get(name, Tasks())) for name in names}


def again(members: dict[str, TaskCandidate], shares: dict[str, Tasks]) -> dict[str, TaskCandidate]:
    return {name: TaskCandidate(each.process_id, shares.get(name, Tasks())) for name, each in members.items()}


def active(tasks: Tasks) -> set[Task]:
    return set(each_task(tasks.active))


def standby(tasks: Tasks) -> set[Task]:
    return set(each_task(tasks.standby))


def test_one_member_does_everything() -> None:
    shares = assign_sticky(candidates("a"), SOURCES, 0)
    assert shares == {"a": Tasks({"0": frozenset(range(4)), "1": frozenset(range(4))})}


def test_without_members_there_is_nothing_to_assign() -> None:
    assert assign_sticky({}, SOURCES, 1) == {}


def test_a_member_that_comes_gets_half_and_the_other_keeps_half() -> None:
    before = assign_sticky(candidates("a"), SOURCES, 0)
    after = assign_sticky(again(candidates("a", "b"), before), SOURCES, 0)
    assert len(active(after["a"])) == len(active(after["b"])) == 4
    assert active(after["a"]) < active(before["a"])


def test_what_is_balanced_stays() -> None:
    members = candidates("a", "b", "c")
    shares = assign_sticky(members, SOURCES, 1)
    for _ in range(3):
        assert assign_sticky(again(members, shares), SOURCES, 1) == shares


def test_a_standby_takes_over_what_a_member_that_is_gone_did() -> None:
    members = candidates("a", "b", "c")
    before = assign_sticky(members, SOURCES, 1)
    left = {name: each for name, each in again(members, before).items() if name != "a"}
    after = assign_sticky(left, SOURCES, 1)
    with_state = {task for task in active(before["a"]) if task[0] == "1"}
    assert with_state
    for task in with_state:
        (keeper,) = (name for name in ("b", "c") if task in standby(before[name]))
        assert task in active(after[keeper])


def test_a_process_never_has_a_task_twice() -> None:
    members = candidates("a1", "a2", process="a") | candidates("b1", "b2", process="b")
    shares = assign_sticky(members, SOURCES, 1)
    for name in ("a", "b"):
        had = Counter(
            task for thread in (f"{name}1", f"{name}2") for task in active(shares[thread]) | standby(shares[thread])
        )
        assert set(had.values()) == {1}
    kept = Counter(task for share in shares.values() for task in standby(share))
    assert kept == Counter({("1", index): 1 for index in range(4)})


def test_where_there_is_one_process_there_are_no_standbys() -> None:
    shares = assign_sticky(candidates("a1", "a2", process="a"), SOURCES, 1)
    assert not any(standby(share) for share in shares.values())


def test_a_process_with_more_threads_does_more() -> None:
    members = candidates("a1", "a2", "a3", process="a") | candidates("b1", process="b")
    shares = assign_sticky(members, {"0": TaskSource(8, False)}, 0)
    assert {name: len(active(share)) for name, share in shares.items()} == {"a1": 2, "a2": 2, "a3": 2, "b1": 2}


names = st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1)
sources = st.dictionaries(
    st.sampled_from("012"), st.builds(TaskSource, st.integers(1, 7), st.booleans()), min_size=1, max_size=3
)


@given(st.lists(names, min_size=1, max_size=5), sources, st.integers(0, 2), st.integers(1, 3))
def test_whoever_comes_and_goes_it_is_balanced(
    rounds: list[list[str]], sources: dict[str, TaskSource], standbys: int, per_process: int
) -> None:
    shares: dict[str, Tasks] = {}
    everything = {(name, index) for name, source in sources.items() for index in range(source.task_count)}
    for present in rounds:
        members = {name: TaskCandidate(f"p{ord(name) // per_process}", shares.get(name, Tasks())) for name in present}
        shares = assign_sticky(members, sources, standbys)
        done = [task for share in shares.values() for task in active(share)]
        assert len(done) == len(set(done))
        assert set(done) == everything
        processes: dict[str, list[Task]] = {}
        for name, share in shares.items():
            processes.setdefault(members[name].process_id, []).extend(active(share) | standby(share))
        for had in processes.values():
            assert len(had) == len(set(had)), "a process has a task twice"
        wanted = min(standbys, len(processes) - 1)
        kept = Counter(task for share in shares.values() for task in standby(share))
        assert kept == {task: wanted for task in everything if wanted and sources[task[0]].has_state}
        if per_process == 1:
            counts = [len(active(share)) for share in shares.values()]
            assert max(counts) - min(counts) <= 1

"""The verdict of a chaos run names what clients lost, saw twice or saw in part."""

from tools.chaos.verdict import judge_chaos
from tools.chaos.workloads import COPIES, SOURCE, GroupHistory, Plain
from tools.soak.staged_history import History, Read

MARKS = [b"0", b"1", b"2"]


def plain() -> Plain:
    """Has sent three records, of which all were acknowledged."""
    writer = Plain("nowhere:1", 1)
    writer.sent[0] = list(MARKS)
    writer.acknowledged = [(0, mark) for mark in MARKS]
    return writer


def group(*marks: bytes) -> GroupHistory:
    history = GroupHistory()
    history.read[0] = list(marks or MARKS)
    return history


def log(**found: list[bytes]) -> History:
    """The source and both copies as they were read: by default all of it."""
    names = {"source": SOURCE, "copied": COPIES[0], "twin": COPIES[1]}
    history = History()
    for name, topic in names.items():
        history.read += [Read((topic, 0), offset, mark, 0.0) for offset, mark in enumerate(found.get(name, MARKS))]
    return history


def test_all_of_it_once_and_in_order_is_clean() -> None:
    verdict = judge_chaos(plain(), group(), log(), (), copies=True)
    assert (verdict.clean, verdict.summary()) == (True, "clean")


def test_an_acknowledged_record_that_is_gone() -> None:
    verdict = judge_chaos(
        plain(), group(), log(source=[b"0", b"2"], copied=[b"0", b"2"], twin=[b"0", b"2"]), (), copies=True
    )
    assert verdict.plain.lost == ((0, b"1"),)


def test_a_transaction_of_which_only_a_part_is_there() -> None:
    verdict = judge_chaos(plain(), group(), log(twin=[b"0", b"1"]), (), copies=True)
    assert verdict.torn == ((0, b"2"),)
    assert "1 torn" in verdict.summary()


def test_a_record_that_is_copied_twice() -> None:
    verdict = judge_chaos(plain(), group(), log(copied=[*MARKS, b"1"]), (), copies=True)
    assert verdict.copies.duplicated == ((0, b"1"),)


def test_a_record_that_no_member_of_the_group_got() -> None:
    assert judge_chaos(plain(), group(b"0", b"2"), log(), (), copies=True).unread == ((0, b"1"),)


def test_a_committed_offset_that_was_forgotten() -> None:
    history = group()
    history.committed(0, 2)
    history.committed(0, 1)
    assert history.ends == {0: 2}
    history.repeated.append((0, 1, 2))
    assert not judge_chaos(plain(), history, log(), (), copies=True).clean


def test_what_clients_were_told_counts() -> None:
    assert not judge_chaos(plain(), group(), log(), ("Plain: it is all over",), copies=True).clean

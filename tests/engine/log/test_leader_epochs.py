"""Leader epochs: where each began, and what OffsetForLeaderEpoch answers."""

import pytest

from engine.files.memory import MemoryFiles
from engine.log.leader_epochs import LeaderEpochs


def _epochs() -> LeaderEpochs:
    epochs = LeaderEpochs()
    for epoch, start in ((2, 10), (4, 20), (5, 30)):
        assert epochs.assign(epoch, start)
    return epochs


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(-1, (-1, -1)), (0, (0, 10)), (1, (1, 10)), (2, (2, 20)), (3, (2, 20)), (4, (4, 30)), (5, (5, 99)), (6, (-1, -1))],
)
def test_the_end_of_an_epoch_is_the_start_of_the_next(asked: int, answer: tuple[int, int]) -> None:
    assert _epochs().end_offset_for(asked, 99) == answer


def test_without_epochs_nothing_is_known() -> None:
    assert LeaderEpochs().end_offset_for(0, 99) == (-1, -1)


def test_an_epoch_is_news_once() -> None:
    epochs = _epochs()
    assert not epochs.assign(5, 40)
    assert not epochs.assign(-1, 40)
    assert epochs.entries[-1] == (5, 30)


def test_an_epoch_that_wrote_nothing_gives_way_to_the_next() -> None:
    epochs = _epochs()
    epochs.assign(6, 30)
    assert epochs.entries == [(2, 10), (4, 20), (6, 30)]


def test_a_cut_end_forgets_later_epochs() -> None:
    epochs = _epochs()
    epochs.truncate_end(20)
    assert epochs.entries == [(2, 10)]


def test_a_raised_start_forgets_earlier_epochs_but_not_the_one_it_lies_in() -> None:
    epochs = _epochs()
    epochs.truncate_start(25)
    assert epochs.entries == [(4, 25), (5, 30)]
    epochs.truncate_start(25)
    assert epochs.entries == [(4, 25), (5, 30)]


def test_the_checkpoint_is_read_back_and_damage_is_noticed() -> None:
    files = MemoryFiles()
    files.make_directories("/d")
    assert LeaderEpochs.read(files, "/d") is None
    _epochs().write(files, "/d")
    assert LeaderEpochs.read(files, "/d") == _epochs()
    for position in range(files.list("/d")["leader-epochs"]):
        files.flip_bit("/d/leader-epochs", position)
        assert LeaderEpochs.read(files, "/d") is None
        files.flip_bit("/d/leader-epochs", position)

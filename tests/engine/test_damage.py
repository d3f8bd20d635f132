"""Damaged places are kept by file and position, and forgotten with their file."""

from engine.damage import KEPT_MOST, Damage, DamagedFile, Damages


def test_a_damaged_file_says_where_and_what() -> None:
    error = DamagedFile("a/0.log", 61, 7, "the checksum of this batch does not hold")
    assert str(error) == "a/0.log is damaged at byte 61 (offset 7): the checksum of this batch does not hold"


def test_a_place_is_known_once() -> None:
    damages = Damages()
    assert damages.add(Damage("a", 1, "torn"))
    assert not damages.add(Damage("a", 1, "torn"))
    assert damages.add(Damage("a", 2, "torn"))
    assert len(damages) == 2


def test_a_file_that_is_sound_again_is_forgotten() -> None:
    damages = Damages()
    for file in ("a", "b"):
        damages.add(Damage(file, 1, "torn"))
    damages.forget("a")
    assert [damage.file for damage in damages] == ["b"]


def test_not_more_are_kept_than_anybody_reads() -> None:
    damages = Damages()
    for position in range(KEPT_MOST + 10):
        damages.add(Damage("a", position, "torn"))
    assert len(damages) == KEPT_MOST

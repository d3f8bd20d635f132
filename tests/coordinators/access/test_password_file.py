"""Users in a file: hashed, read again, and never shown."""

import logging
import os
from pathlib import Path

import pytest

from coordinators.access.password_file import PasswordFile, PasswordHash, format_users, parse_users
from engine.errors import InvalidConfig

KEY = b"k" * 32
SESAME = PasswordHash.of("sesame", os.urandom)


def file(path: Path, users: dict[str, PasswordHash]) -> PasswordFile:
    path.write_text(format_users(users))
    made = PasswordFile(str(path), KEY)
    made.load()
    return made


def test_a_password_is_known_by_its_hash(tmp_path: Path) -> None:
    users = file(tmp_path / "users", {"alice": SESAME})
    assert users.has_password("alice", "sesame")
    assert users.has_password("alice", "sesame"), "by the shorter way"
    assert not users.has_password("alice", "Sesame")
    assert not users.has_password("bob", "sesame")
    assert "sesame" not in (tmp_path / "users").read_text()


def test_the_file_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    users = file(tmp_path / "users", {"alice": SESAME})
    assert users.has_password("alice", "sesame")
    (tmp_path / "users").write_text(format_users({"bob": SESAME}))
    users.reload()
    assert users.has_password("bob", "sesame")
    assert not users.has_password("alice", "sesame"), "who is gone is not known by the shorter way either"


def test_what_is_no_file_of_users_leaves_the_last_in_force(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    users = file(tmp_path / "users", {"alice": SESAME})
    (tmp_path / "users").write_text("alice:sesame\n")
    with caplog.at_level(logging.DEBUG):
        users.reload()
    assert users.has_password("alice", "sesame")
    assert "line 1" in caplog.text
    assert "sesame" not in caplog.text, "somebody may have written the password itself"
    os.remove(tmp_path / "users")
    users.reload()
    assert users.has_password("alice", "sesame")


@pytest.mark.parametrize(
    "line",
    [
        "alice",
        ":" + str(SESAME),
        "alice:$scrypt$ln=14,r=8,p=1$c2Fs$c2hvcnQ=",
        "alice:$scrypt$ln=30,r=8,p=1$c2Fs$" + str(SESAME).rpartition("$")[2],
        "alice:$scrypt$ln=14,r=8,p=1$c2F$" + str(SESAME).rpartition("$")[2],
        f"alice:{SESAME}\nalice:{SESAME}",
    ],
)
def test_what_is_no_line_is_refused_by_its_number(line: str) -> None:
    with pytest.raises(ValueError, match=r"line \d: "):
        parse_users(line + "\n")


def test_comments_and_empty_lines_are_passed_over_and_what_is_written_is_read() -> None:
    assert parse_users("# a comment\n\n" + format_users({"alice": SESAME})) == {"alice": SESAME}


def test_a_file_that_is_not_there_is_told_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="tidegate user add NAME --users-file"):
        PasswordFile(str(tmp_path / "none"), KEY).load()

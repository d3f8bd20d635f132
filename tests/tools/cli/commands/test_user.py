"""Users from the command line: on a stopped broker, over the wire as one of them, and in a file."""

from pathlib import Path

import pytest

from tests.tools.cli.conftest import run
from tidegate import testing

SASL = {"listeners": "SASL_PLAINTEXT://127.0.0.1:0"}


def test_the_first_user_is_made_on_a_stopped_broker_and_makes_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = str(tmp_path / "data")
    (tmp_path / "password").write_text("open sesame\n")
    made = run("user", "add", "admin", "--password-file", str(tmp_path / "password"), "--data-dir", data)
    assert (made.code, made.out) == (0, "user admin made\n")
    assert run("user", "add", "admin", "--password", "x", "--data-dir", data).code == 1, "it is there"
    for name, value in (
        ("SECURITY_PROTOCOL", "SASL_PLAINTEXT"),
        ("SASL_MECHANISM", "SCRAM-SHA-512"),
        ("SASL_USERNAME", "admin"),
        ("SASL_PASSWORD", "open sesame"),
    ):
        monkeypatch.setenv(f"TIDEGATE_CLI_{name}", value)
    with testing.broker(SASL, data_dir=data, timeout_s=60) as broker:
        where = ("-b", broker.bootstrap, "--timeout", "60")
        assert run("user", "add", "orders", "--password", "one", "--mechanism", "scram-sha-256", *where).code == 0
        listed = {each["user"]: each["mechanisms"] for each in run("user", "list", "-o", "json", *where).data}
        assert listed == {"admin": ["SCRAM-SHA-256", "SCRAM-SHA-512"], "orders": ["SCRAM-SHA-256"]}
        assert run("user", "password", "orders", "--password", "two", *where).code == 0
        assert run("user", "password", "nobody", "--password", "two", *where).code == 4
        refused = run("user", "list", "--data-dir", data)
        assert refused.code == 1
        assert "ask the running broker" in refused.err
        monkeypatch.setenv("TIDEGATE_CLI_SASL_USERNAME", "orders")
        monkeypatch.setenv("TIDEGATE_CLI_SASL_PASSWORD", "one")
        assert run("user", "list", *where).code != 0, "with the old password"
        monkeypatch.setenv("TIDEGATE_CLI_SASL_PASSWORD", "two")
        assert run("user", "delete", "admin", "--yes", *where).code == 0
        shown = broker.log_file.read_text()
    assert [each["user"] for each in run("user", "list", "--data-dir", data, "-o", "json").data] == ["orders"]
    assert "sesame" not in shown
    assert "sesame" not in "".join(path.read_bytes().decode("latin-1") for path in _files(Path(data)))


def _files(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


def test_a_file_of_users_is_written_without_passwords(tmp_path: Path) -> None:
    file = tmp_path / "users.txt"
    where = ("--users-file", str(file))
    assert run("user", "add", "alice", "--password", "sesame", *where).code == 0
    assert run("user", "add", "bob", "--password", "sesame", *where).code == 0
    assert run("user", "password", "bob", "--password", "other", *where).code == 0
    assert [each["user"] for each in run("user", "list", *where, "-o", "json").data] == ["alice", "bob"]
    assert "sesame" not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    assert run("user", "delete", "alice", "--yes", *where).code == 0
    assert run("user", "delete", "alice", "--yes", *where).code == 4
    assert run("user", "add", "a:b", "--password", "x", *where).code == 2
    for option, place in (("--users-file", file), ("--data-dir", tmp_path / "data")):
        nobody = run("user", "add", "ANONYMOUS", "--password", "x", option, str(place))
        assert nobody.code != 0
        assert "choose another name" in nobody.err


@pytest.mark.parametrize(
    "options",
    [
        ("--password", "x", "--password-file", "y"),
        ("--password", ""),
        ("--password", "x", "--mechanism", "MD5"),
        ("--password", "x", "--data-dir", "d", "--users-file", "f"),
        (),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, options: tuple[str, ...]) -> None:
    where = () if "--data-dir" in options else ("--users-file", str(tmp_path / "users"))
    assert run("user", "add", "a", *options, *where).code == 2


def test_a_password_file_that_is_not_there_is_named_and_nothing_else(tmp_path: Path) -> None:
    ended = run(
        "user", "add", "ann", "--users-file", str(tmp_path / "users"), "--password-file", str(tmp_path / "none")
    )
    assert ended.err == f"tidegate: {tmp_path / 'none'}: No such file or directory\n"

"""The command: options become settings, and what cannot be is said in a line."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tidegate.processes import ROOT, run
from tidegate import __main__ as command

EXIT_FAILED, EXIT_USAGE = 1, 2


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What `serve` was called with."""
    from tidegate import serve

    calls: dict[str, object] = {}
    monkeypatch.setattr(serve, "serve", lambda **options: calls.update(options))
    return calls


@pytest.mark.parametrize(
    ("options", "assignments"),
    [
        ([], []),
        (["--data-dir", "d"], ["log.dirs=d"]),
        (["--kafka-port", "0"], ["listeners=PLAINTEXT://127.0.0.1:0"]),
        (["--host", "0.0.0.0"], ["listeners=PLAINTEXT://0.0.0.0:9092"]),
        (["--host", "::1", "--kafka-port", "7"], ["listeners=PLAINTEXT://[::1]:7"]),
        (["--http-port", "0"], ["http.port=0"]),
        (["--allow-anonymous"], ["listener.allow.anonymous=true"]),
        (["--node-id", "2", "--rack", "r2"], ["node.id=2", "broker.rack=r2"]),
        (["--etcd", "http://a:2379,http://b:2379"], ["etcd.endpoints=http://a:2379,http://b:2379"]),
        (["--set", "a=1", "--set", "b=2"], ["a=1", "b=2"]),
    ],
)
def test_options_are_short_for_settings(given: dict[str, object], options: list[str], assignments: list[str]) -> None:
    assert command.main(["serve", *options]) == 0
    assert given["assignments"] == assignments


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--port", "there is no --port; perhaps --kafka-port, --http-port, --grpc-port, --text-port, --registry-port?"),
        ("--data-dirs=d", "there is no --data-dirs=d; perhaps --data-dir?"),
        ("--frobnicate", "there is no --frobnicate; --help lists the options"),
    ],
)
def test_an_option_that_there_is_not_is_refused_with_those_that_are_like_it(
    capsys: pytest.CaptureFixture[str], option: str, said: str
) -> None:
    with pytest.raises(SystemExit) as refused:
        command.main(["serve", option])
    assert refused.value.code == EXIT_USAGE
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "key"),
    [
        (["--kafka-port", "9777"], "listeners"),
        (["--host", "0.0.0.0"], "listeners"),
        (["--http-port", "0"], "http.port"),
        (["--data-dir", "d"], "log.dirs"),
        (["--node-id", "2"], "node.id"),
        (["--etcd", "http://a"], "etcd.endpoints"),
        (["--rack", "r"], "broker.rack"),
    ],
)
def test_two_answers_to_one_question_are_refused(
    given: dict[str, object], capsys: pytest.CaptureFixture[str], option: list[str], key: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["serve", *option, "--set", f"{key}=x"])
    assert (ended.value.code, given) == (EXIT_USAGE, {})
    assert f"{option[0]} and --set {key}=... say the same in two ways" in capsys.readouterr().err


def test_the_file_and_the_environment_are_passed_on(given: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGATE_NODE_ID", "5")
    command.main(["serve", "--config", "c.toml"])
    assert given["config_file"] == "c.toml"
    assert given["environment"]["TIDEGATE_NODE_ID"] == "5"  # type: ignore[index]


def test_a_reason_not_to_start_is_one_line_and_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tidegate import serve

    def refuse(**_: object) -> None:
        raise serve.CannotStart("no room")

    monkeypatch.setattr(serve, "serve", refuse)
    assert command.main(["serve"]) == EXIT_FAILED
    assert capsys.readouterr().err == "tidegate: no room\n"


def test_a_wrong_option_of_serve_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["serve", "--kafka-port", "x"])
    assert ended.value.code == EXIT_USAGE
    assert "usage: tidegate" in capsys.readouterr().err


def test_a_command_that_does_not_exist_is_told_in_one_line() -> None:
    ended = run("dance")
    assert ended.code == EXIT_USAGE
    (line,) = ended.stderr.splitlines()
    assert line.startswith("tidegate: ")
    assert "dance" in line


def test_the_server_does_not_load_the_command_line(tmp_path: Path) -> None:
    program = (
        "import sys, tidegate.serve, tidegate.__main__ as command\n"
        "tidegate.serve.serve = lambda **_: print(sorted({'typer', 'rich', 'tools.cli'} & set(sys.modules)))\n"
        "command.main(['serve'])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        pytest.param(["--set", "num.partitons=3"], ["num.partitons", "--set", "num.partitions"], id="unknown-key"),
        pytest.param(["--set", "num.partitions=0"], ["num.partitions", "0", "at least 1"], id="bad-value"),
        pytest.param(["--set", "num.partitions"], ["key=value"], id="no-value"),
        pytest.param(["--config", "missing.toml"], ["missing.toml"], id="no-file"),
        pytest.param(["--kafka-port", "99999"], ["listeners", "99999"], id="impossible-port"),
    ],
)
def test_what_is_wrong_with_a_setting_is_said_in_one_line(tmp_path: Path, settings: list[str], said: list[str]) -> None:
    ended = run("serve", "--data-dir", str(tmp_path / "data"), *settings)
    assert (ended.code, ended.stdout) == (EXIT_USAGE, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith("tidegate: ")
    for words in said:
        assert words in line
    assert not (tmp_path / "data").exists(), "nothing was made"


def test_a_port_in_use_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = run("serve", "--data-dir", str(tmp_path), "--kafka-port", str(port))
    assert ended.code == EXIT_FAILED
    (line,) = ended.stderr.splitlines()
    assert f"127.0.0.1:{port}" in line
    assert "in use" in line
    assert "--kafka-port" in line


def test_a_data_directory_that_cannot_be_made_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    ended = run("serve", "--data-dir", str(tmp_path / "file"), "--kafka-port", "0")
    assert ended.code == EXIT_FAILED
    (line,) = ended.stderr.splitlines()
    assert str(tmp_path / "file") in line


def test_the_module_is_the_command() -> None:
    ended = run("--help")
    assert ended.code == 0
    assert "serve" in ended.stdout
    assert sys.executable not in ended.stdout

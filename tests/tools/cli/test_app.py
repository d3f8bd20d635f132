"""The whole program."""

import os
import pty
import re
import select
import socket
import subprocess
import sys
import time

import pytest

from tests.tidegate.processes import ROOT
from tests.tools.cli.conftest import run
from tidegate.testing import RunningBroker
from tools.cli.app import run as run_program

PATIENCE_S = 60.0


def test_the_version_is_told() -> None:
    ended = run("--version")
    assert ended.code == 0
    assert re.fullmatch(r"tidegate \d+\.\d+\.\d+\n", ended.out)


def test_the_result_is_the_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["--version"]) == 0
    assert run_program(["dance"]) == 2
    assert capsys.readouterr().err.startswith("tidegate: ")


def test_commands_are_listed_as_a_newcomer_needs_them() -> None:
    said = run("--help").out
    places = [said.index(f"│ {name} ") for name in ("serve", "topic", "produce", "consume", "group", "pending", "log")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("shell", "said"), [("bash", "complete -o"), ("zsh", "#compdef tidegate"), ("fish", "complete --command")]
)
def test_completion_is_offered(shell: str, said: str) -> None:
    environment = {**os.environ, "_TIDEGATE_COMPLETE": f"source_{shell}"}
    done = subprocess.run(
        [sys.executable, "-m", "tidegate"], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert said in done.stdout


def test_completion_knows_commands() -> None:
    words = {"COMP_WORDS": "tidegate pending re", "COMP_CWORD": "2", "_TIDEGATE_COMPLETE": "complete_bash"}
    done = subprocess.run(
        [sys.executable, "-m", "tidegate"],
        env={**os.environ, **words},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert sorted(done.stdout.split()) == ["release", "reschedule"]


def in_terminal(*arguments: str, answer: bytes = b"", environment: dict[str, str]) -> tuple[int, str]:
    """The program in a pseudo-terminal: its exit status and all that it drew."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(ROOT)
        os.execve(sys.executable, [sys.executable, "-m", "tidegate", *arguments], {**os.environ, **environment})
    drawn, deadline, answered = b"", time.monotonic() + PATIENCE_S, not answer
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                chunk = os.read(terminal, 4096)
            except OSError:
                break
            drawn += chunk
            if not chunk:
                break
        if not answered and b"[y/N]" in drawn:
            os.write(terminal, answer)
            answered = True
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), drawn.decode(errors="replace")


@pytest.fixture
def environment(broker: RunningBroker) -> dict[str, str]:
    return {"TIDEGATE_CLI_BOOTSTRAP": broker.bootstrap, "TIDEGATE_CLI_HTTP": broker.http_url, "TERM": "xterm-256color"}


def test_a_table_is_drawn_on_a_terminal(environment: dict[str, str]) -> None:
    code, drawn = in_terminal("cluster", "info", environment=environment)
    assert code == 0
    assert "127.0.0.1" in drawn
    assert "\x1b[" in drawn, "it is drawn, not only printed"


def test_a_person_is_asked_before_something_is_lost(environment: dict[str, str]) -> None:
    assert in_terminal("topic", "create", "asked-before", environment=environment)[0] == 0
    code, drawn = in_terminal("topic", "delete", "asked-before", answer=b"n\n", environment=environment)
    assert code == 1
    assert "nothing was done" in drawn
    code, drawn = in_terminal("topic", "delete", "asked-before", answer=b"y\n", environment=environment)
    assert code == 0
    assert "deleted asked-before" in drawn


def test_records_do_not_steer_the_terminal(environment: dict[str, str]) -> None:
    assert in_terminal("produce", "steering", "a\x1b[31mb", environment=environment)[0] == 0
    _, drawn = in_terminal("consume", "steering", "-e", environment=environment)
    assert "a\\x1b[31mb" in drawn


def test_a_bar_is_drawn_on_what_takes_long(environment: dict[str, str]) -> None:
    code, drawn = in_terminal("bench", "-n", "300000", "--pings", "500", environment=environment)
    assert code == 0
    assert "one at a time" in drawn
    assert "━" in drawn


def test_a_reader_that_has_enough_is_no_error(environment: dict[str, str]) -> None:
    program = (
        f"seq 50000 | {sys.executable} -m tidegate produce enough >/dev/null 2>&1; "
        f"{sys.executable} -m tidegate consume enough -e | head -1; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(
        ["bash", "-c", program], cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("1\n0\n", "")


@pytest.mark.parametrize(
    ("streams", "said"),
    [
        ("<&-", ("0\n", "")),
        (">&-", ("0\n", "")),
        (">/dev/full", ("1\n", "tidegate: No space left on device; is there room where the output goes to?\n")),
        ("| PYTHONUTF8=0 LC_ALL=POSIX cat", ("0\n", "")),
    ],
)
def test_streams_may_be_closed_or_full(environment: dict[str, str], streams: str, said: tuple[str, str]) -> None:
    program = f"{sys.executable} -m tidegate cluster info {streams} | cat >/dev/null; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", program], cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == said


def test_a_terminal_without_these_letters_gets_escapes(environment: dict[str, str]) -> None:
    plain = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "POSIX"}
    command = [sys.executable, "-m", "tidegate", "produce", "letters", "--cancel", "\u2603", "--key", "k"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment, **plain}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_ctrl_c_leaves_the_prompt_on_a_line_of_its_own(environment: dict[str, str]) -> None:
    name = f"kept-by-ctrl-c-{os.getpid()}-{time.monotonic_ns()}"
    assert in_terminal("topic", "create", name, environment=environment)[0] == 0
    code, drawn = in_terminal("topic", "delete", name, answer=b"\x03", environment=environment)
    assert code == 130
    assert "\r\ntidegate: given up; nothing was done" in drawn


def test_a_narrow_terminal_gets_blocks(environment: dict[str, str]) -> None:
    _, drawn = in_terminal("cluster", "info", environment={**environment, "COLUMNS": "30"})
    assert re.search(r"host +127[.]0[.]0[.]1\r\n", drawn)


def test_who_waits_sees_that_it_goes_on(environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silently = {**environment, "TIDEGATE_CLI_BOOTSTRAP": f"127.0.0.1:{silent.getsockname()[1]}"}
        code, drawn = in_terminal("topic", "list", "--timeout", "2", environment=silently)
    assert code == 3
    assert "waiting for the broker" in drawn

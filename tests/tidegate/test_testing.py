"""`tidegate.testing.broker()`: start, stop, kill, restart and what is said when a server does not come up.

A stand-in for the server keeps these quick; `test_pytest_plugin.py` runs the real one.
"""

import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tidegate import testing

SERVER = """
    import signal, socket, sys
    arguments = sys.argv[1:]
    port = int(arguments[arguments.index("--kafka-port") + 1])
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print("started with", *arguments, file=sys.stderr, flush=True)
    print(f"tidegate ready kafka=127.0.0.1:{listener.getsockname()[1]} http=127.0.0.1:7777", flush=True)
    while True:
        signal.pause()
"""


def _use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str) -> None:
    script = tmp_path / "stand_in.py"
    script.write_text(textwrap.dedent(program))
    real = testing.RunningBroker._command

    def command(self: testing.RunningBroker) -> list[str]:
        words = real(self)
        return [sys.executable, "-I", str(script), *words[words.index("serve") :]]

    monkeypatch.setattr(testing.RunningBroker, "_command", command)


@pytest.fixture
def _stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _use(monkeypatch, tmp_path, SERVER)


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.usefixtures("_stand_in")
class TestRunning:
    def test_it_listens_where_it_says(self) -> None:
        with testing.broker() as broker:
            assert broker.bootstrap == f"127.0.0.1:{broker.port}"
            assert _answers(broker.port)

    def test_it_is_gone_after_the_block(self) -> None:
        with testing.broker() as broker:
            pid = broker.pid
        assert not _answers(broker.port)
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    def test_it_is_gone_when_the_block_fails(self) -> None:
        with pytest.raises(ValueError, match="the test's own"), testing.broker() as broker:
            raise ValueError("the test's own")
        assert not _answers(broker.port)

    def test_config_becomes_settings_of_the_command(self) -> None:
        with testing.broker({"num.partitions": "6"}) as broker:
            assert "--set num.partitions=6" in broker.log()

    def test_it_tells_where_its_operations_door_is(self) -> None:
        with testing.broker() as broker:
            assert broker.http_url == "http://127.0.0.1:7777"
            assert "--http-port -1" in broker.log()
            broker.restart()
            assert "--http-port 7777" in broker.log()

    def test_a_temporary_directory_is_removed(self) -> None:
        with testing.broker() as broker:
            scratch = broker.data_dir.parent
            assert scratch.is_dir()
        assert not scratch.exists()

    def test_a_given_directory_is_used_and_kept(self, tmp_path: Path) -> None:
        (tmp_path / "data").mkdir()
        with testing.broker(data_dir=tmp_path / "data") as broker:
            assert f"--data-dir {tmp_path / 'data'}" in broker.log()
        assert (tmp_path / "data").is_dir()

    def test_restart_keeps_port_and_data(self) -> None:
        with testing.broker() as broker:
            before = broker.pid, broker.port, broker.data_dir
            broker.restart()
            assert broker.pid != before[0]
            assert (broker.port, broker.data_dir) == before[1:]
            assert _answers(broker.port)

    def test_kill_then_start_keeps_the_port(self) -> None:
        with testing.broker() as broker:
            port = broker.port
            broker.kill()
            assert not _answers(port)
            broker.start()
            assert broker.port == port
            assert _answers(port)

    def test_stopping_twice_is_harmless(self) -> None:
        with testing.broker() as broker:
            broker.stop()
            broker.stop()

    def test_starting_twice_is_refused(self) -> None:
        with testing.broker() as broker, pytest.raises(RuntimeError, match="running already"):
            broker.start()

    def test_a_server_that_ended_by_itself_is_reported(self) -> None:
        with testing.broker() as broker:
            os.kill(broker.pid, signal.SIGKILL)
            os.waitid(os.P_PID, broker.pid, os.WEXITED | os.WNOWAIT)
            with pytest.raises(testing.BrokerEnded, match="exit code -9"):
                broker.stop()


class TestFailing:
    def test_what_the_server_logged_is_in_the_error(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        _use(monkeypatch, tmp_path, "import sys; sys.exit('unknown key: num.partition')")
        with (
            pytest.raises(testing.BrokerDidNotStart, match=r"exit code 1; it logged:\nunknown key: num.part"),
            testing.broker(),
        ):
            pass

    def test_a_silent_server_is_given_up(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        _use(monkeypatch, tmp_path, "import signal; signal.pause()")
        with (
            pytest.raises(testing.BrokerDidNotStart, match=r"not ready within 0\.2 s"),
            testing.broker(timeout_s=0.2),
        ):
            pass

    def test_a_server_that_ignores_sigterm_is_killed(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        _use(monkeypatch, tmp_path, SERVER.replace("lambda *_: sys.exit(0)", "signal.SIG_IGN"))
        with testing.broker() as broker:
            broker._timeout_s = 0.2
            with pytest.raises(testing.BrokerDidNotStop, match=r"no end 0\.2 s after SIGTERM"):
                broker.stop()
        assert not _answers(broker.port)


def test_importing_it_does_not_load_the_broker() -> None:
    program = "import sys, tidegate.testing; print(sorted({'trio', 'attrs', 'kio', 'engine'} & set(sys.modules)))"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"

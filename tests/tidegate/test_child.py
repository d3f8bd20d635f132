"""A server that is a test program's child ends with it, whatever ends the parent."""

import subprocess
import sys

STAND_IN = """
import signal, sys, types
def serve():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
    print("ready", sys.argv, flush=True)
    while True:
        signal.pause()
sys.modules["tidegate.__main__"] = types.SimpleNamespace(main=serve)
from tidegate import _child
_child.main()
"""


def _start() -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", STAND_IN, "serve", "--host", "::1"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_it_stops_cleanly_when_the_parent_is_gone() -> None:
    with _start() as child:
        assert child.stdout is not None
        assert child.stdin is not None
        child.stdout.readline()
        child.stdin.close()
        assert child.wait(10) == 7


def test_it_passes_the_command_line_on() -> None:
    with _start() as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        child.kill()
    assert line == "ready ['tidegate', 'serve', '--host', '::1']\n"

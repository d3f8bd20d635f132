"""Runs the tests in processes beside each other, for machines have cores enough: `python -m tools.run_tests unit`.

They take the files between them (tests/taking.py): one from the front, where what lives in real time is, with processes
and sockets; the other from the back, where what computes is, or has machinery of its own. The first shows its progress;
what the other has to say follows when it is done. With arguments (`-k name`) there is one process for all.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

WHOLE = {"unit": ("tests", "--ignore=tests/test_tidy.py"), "compat": ("compat_tests",)}
PYTEST = (sys.executable, "-m", "pytest", "-q")


def main(arguments: Sequence[str]) -> int:
    name, *options = arguments
    if options:
        return subprocess.run([*PYTEST, *WHOLE[name], *options], check=False).returncode
    with tempfile.TemporaryDirectory() as directory:
        return run_beside(WHOLE[name], Path(directory))


def run_beside(tests: Sequence[str], directory: Path) -> int:
    """Each test once, in one process or the other; what they share lies in a directory."""
    command = [*PYTEST, "-p", "tests.taking", "--taken", str(directory / "taken"), *tests]
    environment = {**os.environ, "TESTS_RUN_BESIDE": "1"}
    with (directory / "output").open("w+b") as output:
        back = [*command, "--end", "back"]
        beside = subprocess.Popen(back, stdout=output, stderr=subprocess.STDOUT, env=environment)
        try:
            shown = subprocess.run([*command, "--end", "front"], check=False, env=environment).returncode
            hidden = beside.wait()
        finally:
            if beside.poll() is None:
                beside.terminate()
                beside.wait()
        output.seek(0)
        sys.stdout.write(output.read().decode(errors="replace"))
        sys.stdout.flush()
    return shown or hidden


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Runs the tests in two processes beside each other, for machines have cores enough: `python -m tools.run_tests unit`.

What lives in real time, with processes and sockets, goes into one; what computes (models, simulations) into the other.
The first shows its progress; what the second has to say follows when it is done. With arguments (`-k name`) there is
one process for all.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

WHOLE = {"unit": ("tests", "--ignore=tests/test_tidy.py"), "compat": ("compat_tests",)}
UNIT = (
    (*WHOLE["unit"], *(f"--ignore=tests/{room}" for room in ("simulation", "engine", "coordinators", "wire"))),
    ("tests/simulation", "tests/engine", "tests/coordinators", "tests/wire"),
)
COMPAT = (
    (*WHOLE["compat"], *(f"--ignore=compat_tests/{room}" for room in ("spark", "cluster", "streams", "share"))),
    ("compat_tests/spark", "compat_tests/cluster", "compat_tests/streams", "compat_tests/share"),
)
GROUPS = {"unit": UNIT, "compat": COMPAT}
PYTEST = (sys.executable, "-m", "pytest", "-q")


def main(arguments: Sequence[str]) -> int:
    name, *options = arguments
    first, second = GROUPS[name]
    if options:
        return subprocess.run([*PYTEST, *WHOLE[name], *options], check=False).returncode
    environment = {**os.environ, "TESTS_RUN_BESIDE": "1"}
    with tempfile.TemporaryFile() as output:
        beside = subprocess.Popen([*PYTEST, *second], stdout=output, stderr=subprocess.STDOUT, env=environment)
        try:
            shown = subprocess.run([*PYTEST, *first], check=False, env=environment).returncode
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

"""Types made from the broker's own description, compiled, and tried in Node against a broker of their own."""

import os
import shutil
import subprocess
import sys

import pytest

from compat_tests.brokers import PROJECT_ROOT, target

PACKAGE = PROJECT_ROOT / "clients" / "typescript"

pytestmark = [
    pytest.mark.skipif(target() != "tidegate", reason="Kafka has no HTTP door"),
    pytest.mark.skipif(shutil.which("npm") is None, reason="there is no Node here (make setup installs it)"),
    pytest.mark.skipif(not (PACKAGE / "node_modules").is_dir(), reason="make setup fetches what builds the client"),
]


def test_the_client_passes_its_own_tests() -> None:
    environment = {**os.environ, "PYTHON": sys.executable}
    for script in ("generate", "test"):
        done = subprocess.run(
            ["npm", "run", "--silent", script],
            cwd=PACKAGE,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

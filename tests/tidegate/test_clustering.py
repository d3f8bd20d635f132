"""What a node loads and does where there are no others."""

import subprocess
import sys

from tests.tidegate.processes import ROOT

SHOW = """
import sys
import tidegate.serve
print([name for name in sys.modules if name.startswith(("coordinators.replication.f", "tidegate.replication"))])
"""


def test_a_node_by_itself_does_not_wait_for_replication_to_be_loaded() -> None:
    shown = subprocess.run([sys.executable, "-c", SHOW], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"

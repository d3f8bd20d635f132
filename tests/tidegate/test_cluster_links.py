"""The links of a node to others, which a node by itself does without."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
import tidegate.composition, tidegate.runtime
from wire.kafka.apis import registered
registered()
print(sorted(each for each in sys.modules if each in ("tidegate.cluster_links", "wire.kafka.nodes.links")))
"""


def test_a_node_by_itself_does_not_even_import_them() -> None:
    found = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"

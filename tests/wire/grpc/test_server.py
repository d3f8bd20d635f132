"""The listener: loads late, speaks TLS with ALPN, and says goodbye when the broker stops."""

import subprocess
import sys


def test_a_broker_whose_grpc_door_nobody_has_called_has_loaded_nothing_for_it() -> None:
    program = (
        "import sys; from tidegate import _path; _path.activate(); import tidegate.serve, tidegate.grpc_door; "
        "print([m for m in ('h2', 'hpack', 'google.protobuf') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"

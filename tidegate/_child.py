"""The server as a child of a test program: `python -m tidegate._child serve ...`.

It ends when its parent does, however that happens: the parent holds the other end of our standard input, and
the kernel closes it. (Linux's PR_SET_PDEATHSIG would follow the parent's *thread*, which may end earlier.)
"""

import os
import signal
import sys
import threading
import time

GRACE_S = 5.0
_STDIN = 0


def main() -> None:
    threading.Thread(target=_end_with_parent, name="tidegate-parent", daemon=True).start()
    from tidegate.__main__ import main as serve

    sys.argv[0] = "tidegate"
    sys.exit(serve())


def _end_with_parent() -> None:
    while os.read(_STDIN, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os._exit(1)


if __name__ == "__main__":
    main()

"""Ends a process when whoever started it has ended, however that happened: `python _guard.py PID`.

It is for programs that do not look after that themselves, such as etcd. Whoever started both holds the other end of our
standard input, and the kernel closes it. The process is held by a descriptor, so that no other one that got its number
later is meant. (Linux's PR_SET_PDEATHSIG would follow the parent's *thread*, which may end earlier.)
"""

import contextlib
import os
import signal
import sys

_STDIN = 0


def main() -> None:
    if not hasattr(os, "pidfd_open"):
        return
    with contextlib.suppress(ProcessLookupError):
        guarded = os.pidfd_open(int(sys.argv[1]))
        while os.read(_STDIN, 4096):
            pass
        for number in (signal.SIGTERM, signal.SIGCONT):
            signal.pidfd_send_signal(guarded, number)


if __name__ == "__main__":
    main()

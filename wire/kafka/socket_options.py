"""What is asked of the kernel for a client's connection.

A connection that does not leave the machine meets no congestion, but a congestion control that paces what is sent (BBR,
which many machines have as their default) sets a timer for every 64 KiB all the same: measured on one, a consumer
got half the records per second for twice the broker's CPU. Reno paces nothing, and every Linux has it.
"""

import contextlib
import socket

LOCAL_CONGESTION_CONTROL = b"reno"
# Only Linux has the option.
_TCP_CONGESTION: int | None = getattr(socket, "TCP_CONGESTION", None)


def tune(sock: socket.socket) -> None:
    """Set up a connection that was just accepted."""
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if _TCP_CONGESTION is not None and _is_local(sock):
        with contextlib.suppress(OSError):  # forbidden: it is slower, that is all
            sock.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, LOCAL_CONGESTION_CONTROL)


def _is_local(sock: socket.socket) -> bool:
    """Whether both ends have the same address, as is so for whatever address of the machine the client has chosen."""
    try:
        return bool(sock.getsockname()[0] == sock.getpeername()[0])
    except OSError:
        return False  # the client is gone already

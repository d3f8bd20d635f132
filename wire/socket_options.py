"""What is asked of the kernel for a client's connection.

A connection that does not leave the machine meets no congestion, but a congestion control that paces what is sent (BBR,
which many machines have as their default) sets a timer for every 64 KiB or so all the same: measured on one, a consumer
got half the records per second for three times the broker's CPU. Reno paces nothing, and every Linux has it. The
listener is told, not the connection: what has once been paced stays so, but connections inherit from the listener, and
those from elsewhere get back what the machine's owner chose.
"""

import contextlib
import socket

LOCAL_CONGESTION_CONTROL = b"reno"
PACING = b"bbr"
"""How the names of those begin that pace."""
_NAME_BYTES = 16
# Only Linux has the option.
_TCP_CONGESTION: int | None = getattr(socket, "TCP_CONGESTION", None)


def begin_unpaced(listener: socket.socket) -> None:
    """Have its connections begin without pacing; called before it listens, for who connects at once."""
    if _TCP_CONGESTION is None:
        return
    with contextlib.suppress(OSError):  # forbidden: it is slower, that is all
        default = _congestion_control(listener)
        if default.startswith(PACING):
            # What may not be given back later is not taken away.
            for name in (default, LOCAL_CONGESTION_CONTROL):
                listener.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, name)


def tune(sock: socket.socket) -> None:
    """Set up a connection that was just accepted."""
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if _TCP_CONGESTION is not None and not _is_local(sock):
        with contextlib.suppress(OSError):  # the client has gone
            _give_back(sock, _TCP_CONGESTION)


def _give_back(sock: socket.socket, option: int) -> None:
    """Have the machine's own congestion control, unless the connection's route has one."""
    if _congestion_control(sock) == LOCAL_CONGESTION_CONTROL:
        with socket.socket(sock.family) as fresh:
            sock.setsockopt(socket.IPPROTO_TCP, option, _congestion_control(fresh))


def _congestion_control(sock: socket.socket) -> bytes:
    assert _TCP_CONGESTION is not None
    return sock.getsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, _NAME_BYTES).rstrip(b"\0")


def _is_local(sock: socket.socket) -> bool:
    """Whether both ends have the same address, as is so for whatever address of the machine the client has chosen."""
    try:
        return bool(sock.getsockname()[0] == sock.getpeername()[0])
    except OSError:
        return True  # the client is gone already

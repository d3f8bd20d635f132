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


def begin_unpaced(listener: socket.socket) -> bytes | None:
    """Have its connections begin without pacing; the congestion control to give back to those from elsewhere, None if
    nothing was changed."""
    if _TCP_CONGESTION is None:
        return None
    try:
        chosen = _congestion_control(listener)
        if not chosen.startswith(PACING):
            return None
        # What may not be given back later is not taken away.
        for name in (chosen, LOCAL_CONGESTION_CONTROL):
            listener.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, name)
    except OSError:
        return None
    return chosen


def tune(sock: socket.socket, congestion_control: bytes | None) -> None:
    """Set up a connection that was just accepted; `congestion_control` is what `begin_unpaced` said."""
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if congestion_control is None or _TCP_CONGESTION is None or _is_local(sock):
        return
    # A route may have one of its own. An error is that of a client that has gone, and met again by who reads.
    with contextlib.suppress(OSError):
        if _congestion_control(sock) == LOCAL_CONGESTION_CONTROL:
            sock.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, congestion_control)


def _congestion_control(sock: socket.socket) -> bytes:
    assert _TCP_CONGESTION is not None
    return sock.getsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, _NAME_BYTES).rstrip(b"\0")


def _is_local(sock: socket.socket) -> bool:
    """Whether both ends have the same address, as is so for whatever address of the machine the client has chosen."""
    try:
        return bool(sock.getsockname()[0] == sock.getpeername()[0])
    except OSError:
        return True  # the client is gone already

"""The listener: loads late, speaks TLS with ALPN, and says goodbye when the broker stops."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import h2.config
import h2.connection
import h2.events
import trio
from trio.testing import trio_test

from tests.wire.grpc.checking import check_health
from tests.wire.grpc.peer import CALL
from tests.wire.kafka.door import open_door
from wire.grpc.framing import framed

PATIENCE_S = 30.0


def test_a_broker_whose_grpc_door_nobody_has_called_has_loaded_nothing_for_it() -> None:
    program = (
        "import sys; from tidegate import _path; _path.activate(); import tidegate.serve, tidegate.grpc_door; "
        "print([m for m in ('h2', 'hpack', 'google.protobuf') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


@trio_test
async def test_strangers_keep_nobody_out_and_who_has_called_stays(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"grpc.port": -1, "grpc.max.connections": 2}) as door:
        address = door.broker.grpc_address
        assert address is not None
        assert (await check_health(address))["grpc-status"] == "0"
        async with await calling(address) as known:
            known_client = await called(known, "/no/Method")
            async with await calling(address) as stranger:
                await called(stranger, "/grpc.health.v1.Health/Check")
                # An open method tells nothing of who calls: its connection gives way.
                assert (await check_health(address))["grpc-status"] == "0"
                with trio.fail_after(PATIENCE_S), suppress(trio.BrokenResourceError):
                    while await stranger.receive_some():
                        pass
            await called(known, "/no/Method", known_client)


async def calling(address: str) -> trio.SocketStream:
    host, _, port = address.rpartition(":")
    return await trio.open_tcp_stream(host, int(port))


async def called(
    stream: trio.SocketStream, path: str, client: h2.connection.H2Connection | None = None
) -> h2.connection.H2Connection:
    """Make a call, and hear its end; the connection stays."""
    if client is None:
        client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        client.initiate_connection()
    number = client.get_next_available_stream_id()
    client.send_headers(number, [(name, path if name == ":path" else value) for name, value in CALL])
    client.send_data(number, framed(b""), end_stream=True)
    await stream.send_all(client.data_to_send())
    with trio.fail_after(PATIENCE_S):
        while True:
            data = await stream.receive_some()
            assert data, "the connection has ended"
            if any(isinstance(event, h2.events.StreamEnded) for event in client.receive_data(data)):
                return client

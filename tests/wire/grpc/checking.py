"""One call of a broker's gRPC door, by h2."""

import h2.config
import h2.connection
import h2.events
import trio

from tests.wire.grpc.peer import CALL
from wire.grpc.framing import framed


async def check_health(address: str) -> dict[str, str]:
    """Ask whether it is well; the trailers of the answer."""
    host, _, port = address.rpartition(":")
    client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
    client.initiate_connection()
    client.send_headers(
        1, [(name, "/grpc.health.v1.Health/Check" if name == ":path" else value) for name, value in CALL]
    )
    client.send_data(1, framed(b""), end_stream=True)
    with trio.fail_after(30):
        async with await trio.open_tcp_stream(host, int(port)) as stream:
            await stream.send_all(client.data_to_send())
            while data := await stream.receive_some():
                for event in client.receive_data(data):
                    if isinstance(event, h2.events.TrailersReceived):
                        return dict(event.headers)
    raise AssertionError("there was no answer")

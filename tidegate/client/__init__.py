"""A client of Tidegate over gRPC: with threads (`Client`), or for asyncio (`AsyncClient`).

    with Client("127.0.0.1:9095") as client:
        with client.producer() as producer:
            producer.send("orders", b"value", key=b"key")      # a future; batches go out by themselves
        for record in client.read("orders", until_end=True):
            print(record.partition, record.offset, record.value)

It needs `pip install tidegate[client]`, and a broker with a gRPC door. See docs/python-client.md.
"""

try:
    import grpc  # noqa: F401
except ImportError:
    raise ImportError("tidegate.client needs grpcio: pip install 'tidegate[client]'") from None

from tidegate.client.blocking import Client
from tidegate.client.channels import Login, Tls
from tidegate.client.on_asyncio import AsyncClient
from tidegate.client.retrying import ClientError
from tidegate.client.values import Consumed, Lease, RecordRefused, Written

__all__ = [
    "AsyncClient",
    "Client",
    "ClientError",
    "Consumed",
    "Lease",
    "Login",
    "RecordRefused",
    "Tls",
    "Written",
]

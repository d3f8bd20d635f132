"""One face for every client: produce a list of records, read a partition from an offset.

`CLIENTS` names all of them; each module says what its client cannot do.
"""

from compat_tests.clients.aio import AioKafka
from compat_tests.clients.base import Client, Consumed, Record
from compat_tests.clients.confluent import Confluent
from compat_tests.clients.java import Java
from compat_tests.clients.kafkapython import KafkaPython
from compat_tests.clients.kcat import Kcat

CLIENTS: dict[str, Client] = {
    client.name: client for client in (Confluent(), KafkaPython(), AioKafka(), Kcat(), Java())
}
PYTHON_CLIENTS = {name: CLIENTS[name] for name in ("confluent", "kafkapython", "aio")}

__all__ = ["CLIENTS", "PYTHON_CLIENTS", "Client", "Consumed", "Record"]

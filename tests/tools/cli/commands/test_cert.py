"""Certificates from the command line, used by a broker and a client."""

import socket
import ssl
from pathlib import Path

from tests.tools.cli.conftest import run
from tidegate import testing


def test_a_broker_serves_with_what_was_made_and_its_clients_trust_it(tmp_path: Path) -> None:
    out = tmp_path / "certs"
    made = run("cert", "dev", "--out", str(out), "--host", "kafka.example", "--client", "orders", "-o", "json")
    assert made.data["hosts"] == ["kafka.example", "localhost", "127.0.0.1", "::1"]
    assert run("cert", "dev", "--out", str(out)).code == 1, "nothing is overwritten by mistake"
    settings = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.location": str(out / "broker.pem"),
        "ssl.truststore.location": str(out / "ca.pem"),
        "ssl.client.auth": "required",
    }
    context = ssl.create_default_context(cafile=str(out / "ca.pem"))
    context.load_cert_chain(out / "client-orders.pem")
    with testing.broker(settings, timeout_s=60) as broker:
        for name in ("localhost", "kafka.example"):
            with (
                socket.create_connection(("127.0.0.1", broker.port), timeout=10) as plain,
                context.wrap_socket(plain, server_hostname=name) as encrypted,
            ):
                assert encrypted.version() == "TLSv1.3"
    assert (out / "ca-key.pem").stat().st_mode & 0o077 == 0

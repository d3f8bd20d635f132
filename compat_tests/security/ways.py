"""The ways in, and how each client is told of one."""

import ssl
from pathlib import Path
from typing import Any

from attrs import evolve, frozen


@frozen
class Way:
    """A listener, and what is shown there."""

    name: str
    address: str
    protocol: str
    authority: Path
    mechanism: str | None = None
    user: str = ""
    password: str = ""
    token: str = ""
    certificate: tuple[Path, Path] | None = None
    """Chain and key."""

    def with_password(self, password: str) -> "Way":
        return evolve(self, password=password)

    @property
    def has_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    # -- in each client's words

    def librdkafka(self) -> dict[str, Any]:
        """For confluent-kafka and kcat."""
        found: dict[str, Any] = {"bootstrap.servers": self.address, "security.protocol": self.protocol}
        if self.mechanism is not None:
            found["sasl.mechanism"] = self.mechanism
            if self.mechanism != "OAUTHBEARER":
                found |= {"sasl.username": self.user, "sasl.password": self.password}
        if self.has_tls:
            found["ssl.ca.location"] = str(self.authority)
        if self.certificate is not None:
            chain, key = self.certificate
            found |= {"ssl.certificate.location": str(chain), "ssl.key.location": str(key)}
        return found

    def context(self) -> ssl.SSLContext | None:
        """For clients that are Python through and through."""
        if not self.has_tls:
            return None
        context = ssl.create_default_context(cafile=str(self.authority))
        if self.certificate is not None:
            context.load_cert_chain(*map(str, self.certificate))
        return context

    def python(self, provider: Any) -> dict[str, Any]:
        """For kafka-python and aiokafka; `provider` makes of a token what the client takes for one."""
        found: dict[str, Any] = {"bootstrap_servers": self.address, "security_protocol": self.protocol}
        if self.has_tls:
            found["ssl_context"] = self.context()
        if self.mechanism == "OAUTHBEARER":
            found |= {"sasl_mechanism": self.mechanism, "sasl_oauth_token_provider": provider(self.token)}
        elif self.mechanism is not None:
            found |= {"sasl_mechanism": self.mechanism, "sasl_plain_username": self.user}
            found["sasl_plain_password"] = self.password
        return found

    def java(self) -> dict[str, str]:
        """For Kafka's own."""
        found = {"security.protocol": self.protocol}
        if self.has_tls:
            found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.authority)}
        if self.certificate is not None:
            store = self.certificate[1].with_suffix(".store.pem")
            store.write_bytes(self.certificate[1].read_bytes() + self.certificate[0].read_bytes())
            found |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(store)}
        if self.mechanism is not None:
            kind = "plain.Plain" if self.mechanism == "PLAIN" else "scram.Scram"
            login = f"org.apache.kafka.common.security.{kind}LoginModule required"
            found["sasl.mechanism"] = self.mechanism
            found["sasl.jaas.config"] = f'{login} username="{self.user}" password="{self.password}";'
        return found

    def java_file(self, folder: Path) -> Path:
        file = folder / f"{self.name}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in self.java().items()))
        return file

"""How a node shows another that both belong to the cluster: a SASL mechanism of the broker's own.

    client -> server   who I am, who I think you are, a nonce
    server -> client   a nonce, and HMAC-SHA-256(secret, "server" | all of that)
    client -> server   HMAC-SHA-256(secret, "client" | all of that)

The secret lies in the catalogue, which only nodes can read. Each side's proof covers both nonces and both names, so one
that was recorded proves nothing in another exchange, nor does one proof serve as the other.
The server proves itself first: a client never sends its proof to somebody who does not know the secret.
"""

import hmac
import struct

from attrs import define, field, frozen

from engine.errors import (
    BrokerError,
    ClusterAuthorizationFailed,
    IllegalSaslState,
    SaslAuthenticationFailed,
)
from engine.ids import RandomBytes

MECHANISM = "TIDEGATE-NODE"
FORMAT = 1
NONCE_BYTES = 32
PROOF_BYTES = 32
_hello = struct.Struct(f">Biqi{NONCE_BYTES}s")


def _proof(secret: bytes, side: bytes, hello: bytes, nonce: bytes) -> bytes:
    return hmac.digest(secret, side + hello + nonce, "sha256")


@frozen
class NodeName:
    """A node in one of its lives."""

    node_id: int
    epoch: int


@define(eq=False)
class Answering:
    """The side that was connected to, for one exchange. Where it fails, the connection needs a new one."""

    node_id: int
    secret: bytes
    nonce: bytes
    _expected: bytes | None = field(default=None, init=False)
    _claimed: NodeName | None = field(default=None, init=False)

    def take(self, message: bytes) -> tuple[bytes, NodeName | None]:
        """What to answer; and who it is, once that is shown. Raises `SaslAuthenticationFailed`."""
        if self._expected is None:
            return self._challenge(message), None
        expected, self._expected = self._expected, b""
        if not expected or len(message) != PROOF_BYTES or not hmac.compare_digest(message, expected):
            raise SaslAuthenticationFailed("the node does not know the cluster's secret")
        return b"", self._claimed

    def _challenge(self, hello: bytes) -> bytes:
        self._expected = b""
        if len(hello) != _hello.size:
            raise SaslAuthenticationFailed("a node introduces itself in another way")
        form, node_id, epoch, meant, _nonce = _hello.unpack(hello)
        if form != FORMAT or meant != self.node_id or node_id == self.node_id or node_id < 0:
            raise SaslAuthenticationFailed(f"node {node_id} means node {meant}, and this is {self.node_id}")
        self._claimed = NodeName(node_id, epoch)
        self._expected = _proof(self.secret, b"client", hello, self.nonce)
        return self.nonce + _proof(self.secret, b"server", hello, self.nonce)


@define(eq=False)
class Asking:
    """The side that connects."""

    secret: bytes
    hello: bytes

    def take(self, challenge: bytes) -> bytes:
        """The proof, for a server that has given its own; else `SaslAuthenticationFailed`."""
        if len(challenge) != NONCE_BYTES + PROOF_BYTES:
            raise SaslAuthenticationFailed("the other side answers in another way")
        nonce, proof = challenge[:NONCE_BYTES], challenge[NONCE_BYTES:]
        if not hmac.compare_digest(proof, _proof(self.secret, b"server", self.hello, nonce)):
            raise SaslAuthenticationFailed("the other side does not know the cluster's secret")
        return _proof(self.secret, b"client", self.hello, nonce)


@define(eq=False)
class NodeTrust:
    """Who counts as a node. A node by itself has no secret, and nobody does."""

    node_id: int
    random_bytes: RandomBytes
    secret: bytes | None = None

    @property
    def is_cluster(self) -> bool:
        """Whether there may be other nodes."""
        return self.secret is not None

    def answer(self) -> Answering:
        """Begin the exchange with somebody who has connected."""
        if self.secret is None:
            raise IllegalSaslState("this node is in no cluster")
        return Answering(self.node_id, self.secret, self.random_bytes(NONCE_BYTES))

    def ask(self, epoch: int, other: int) -> Asking:
        """Begin it with a node that this one has connected to, in its life of that epoch."""
        assert self.secret is not None, "a node by itself connects to nobody"
        hello = _hello.pack(FORMAT, self.node_id, epoch, other, self.random_bytes(NONCE_BYTES))
        return Asking(self.secret, hello)


def only_nodes() -> BrokerError:
    """The refusal for whoever is none."""
    return ClusterAuthorizationFailed("only a node of the cluster may ask this")

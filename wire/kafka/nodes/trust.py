"""How a node shows another that both belong to the cluster: a SASL mechanism of the broker's own.

    client -> server   who I am, who I think you are, which connection this is, a nonce
    server -> client   a nonce, and HMAC-SHA-256(secret, "server" | all of that)
    client -> server   HMAC-SHA-256(secret, "client" | all of that)

The secret lies in the catalogue, which only nodes can read. Each side's proof covers both nonces and both names, so one
that was recorded proves nothing in another exchange, nor does one proof serve as the other.
The server proves itself first: a client never sends its proof to somebody who does not know the secret.

Connections of which a node has one at a time are numbered: one with a higher number replaces those before, wherever
their last bytes still are.
"""

import hmac
import struct
from collections.abc import Callable
from enum import IntEnum

from attrs import define, field, frozen

from engine.errors import (
    BrokerError,
    ClusterAuthorizationFailed,
    IllegalSaslState,
    SaslAuthenticationFailed,
)
from engine.ids import RandomBytes

MECHANISM = "TIDEGATE-NODE"
FORMAT = 2
NONCE_BYTES = 32
PROOF_BYTES = 32
LINKS_REMEMBERED = 1_000
_hello = struct.Struct(f">BiqiBq{NONCE_BYTES}s")


def _proof(secret: bytes, side: bytes, hello: bytes, nonce: bytes) -> bytes:
    return hmac.digest(secret, side + hello + nonce, "sha256")


@frozen
class NodeName:
    """A node in one of its lives."""

    node_id: int
    epoch: int


class LinkKind(IntEnum):
    """What a connection between nodes is for. Of each kind but the first a node has one at a time with each other."""

    FOLLOWER = 0
    QUESTIONS = 1
    WRITES = 2
    LETTERS = 3
    STATES = 4
    CARRIED = 5


Made = tuple[int, int]


@frozen
class NodeLink:
    """A connection that a node has made. Of two of one kind the later replaces the other. A process whose session in
    etcd has ended goes on in another epoch, and what it asked before may still be on its way."""

    name: NodeName
    kind: int
    number: int

    @property
    def made(self) -> Made:
        """When, among all that the node has made: in which of its lives, and which of them it was."""
        return self.name.epoch, self.number

    @property
    def node_id(self) -> int:
        return self.name.node_id


@define(eq=False)
class Answering:
    """The side that was connected to, for one exchange. Where it fails, the connection needs a new one."""

    node_id: int
    secret: bytes
    nonce: bytes
    met: Callable[[NodeLink], object]
    """Told who has shown that it is a node."""
    _expected: bytes | None = field(default=None, init=False)
    _claimed: NodeLink | None = field(default=None, init=False)

    def take(self, message: bytes) -> tuple[bytes, NodeLink | None]:
        """What to answer; and who it is, once that is shown. Raises `SaslAuthenticationFailed`."""
        if self._expected is None:
            return self._challenge(message), None
        expected, self._expected = self._expected, b""
        if not expected or len(message) != PROOF_BYTES or not hmac.compare_digest(message, expected):
            raise SaslAuthenticationFailed("the node does not know the cluster's secret")
        assert self._claimed is not None, "it was challenged"
        self.met(self._claimed)
        return b"", self._claimed

    def _challenge(self, hello: bytes) -> bytes:
        self._expected = b""
        if len(hello) != _hello.size:
            raise SaslAuthenticationFailed("a node introduces itself in another way")
        form, node_id, epoch, meant, kind, number, _nonce = _hello.unpack(hello)
        if form != FORMAT or meant != self.node_id or node_id == self.node_id or node_id < 0:
            raise SaslAuthenticationFailed(f"node {node_id} means node {meant}, and this is {self.node_id}")
        self._claimed = NodeLink(NodeName(node_id, epoch), kind, number)
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
    _newest: dict[tuple[int, int], Made] = field(factory=dict, init=False)
    """By node and kind, the connection that was made last."""

    @property
    def is_cluster(self) -> bool:
        """Whether there may be other nodes."""
        return self.secret is not None

    def answer(self) -> Answering:
        """Begin the exchange with somebody who has connected."""
        if self.secret is None:
            raise IllegalSaslState("this node is in no cluster")
        return Answering(self.node_id, self.secret, self.random_bytes(NONCE_BYTES), self._met)

    def _met(self, link: NodeLink) -> None:
        if link.kind == LinkKind.FOLLOWER:
            return
        key = link.node_id, link.kind
        self._newest[key] = max(link.made, self._newest.pop(key, link.made))
        if len(self._newest) > LINKS_REMEMBERED:
            del self._newest[next(iter(self._newest))]

    def is_replaced(self, link: NodeLink) -> bool:
        """Whether the node has made another connection in the place of this one: it takes what it has asked here for
        failed, and has asked again."""
        return link.made < self._newest.get((link.node_id, link.kind), link.made)

    def ask(self, epoch: int, other: int, kind: LinkKind = LinkKind.FOLLOWER, number: int = 0) -> Asking:
        """Begin it with a node that this one has connected to, in its life of that epoch."""
        assert self.secret is not None, "a node by itself connects to nobody"
        hello = _hello.pack(FORMAT, self.node_id, epoch, other, kind, number, self.random_bytes(NONCE_BYTES))
        return Asking(self.secret, hello)


def only_nodes() -> BrokerError:
    """The refusal for whoever is none."""
    return ClusterAuthorizationFailed("only a node of the cluster may ask this")

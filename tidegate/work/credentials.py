"""How a worker shows who it is: SASL's PLAIN, SCRAM and OAUTHBEARER, without I/O.

    worker("jobs", group="mail", bootstrap="broker:9093", tls=context,
           credentials=Credentials("SCRAM-SHA-512", "mailer", password))

A dialogue is a generator: what it yields is sent, and it is sent what the broker answers.
"""

import base64
import hashlib
import hmac
import os
from collections.abc import Callable, Generator

from attrs import define, field

from tidegate.work.job import WorkError

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MECHANISMS = ("PLAIN", *HASHES, "OAUTHBEARER")
LEAST_ITERATIONS, MOST_ITERATIONS = 4_096, 1_000_000
Dialogue = Generator[bytes, bytes, None]


@define(eq=False)
class Credentials:
    """What a user is known by: name and password, or for OAUTHBEARER a token, or a function that gives one."""

    mechanism: str
    username: str = ""
    password: str = field(default="", repr=False)
    token: str | Callable[[], str] | None = field(default=None, repr=False)
    _salted: dict[tuple[bytes, int], bytes] = field(factory=dict, init=False, repr=False)
    """What SCRAM makes of the password, which takes milliseconds and is asked for by each broker."""

    def __attrs_post_init__(self) -> None:
        if self.mechanism not in MECHANISMS:
            raise ValueError(f"a worker does not know {self.mechanism!r}: it takes {', '.join(MECHANISMS)}")
        if self.mechanism == "OAUTHBEARER":
            if self.token is None:
                raise ValueError("OAUTHBEARER needs a token")
        elif not self.username or not self.password:
            raise ValueError(f"{self.mechanism} needs a username and a password")

    def dialogue(self) -> Dialogue:
        """A new one, to its end."""
        if self.mechanism == "PLAIN":
            return self._plain()
        return self._bearer() if self.mechanism == "OAUTHBEARER" else self._scram(HASHES[self.mechanism])

    def _plain(self) -> Dialogue:
        yield f"\0{self.username}\0{self.password}".encode()

    def _bearer(self) -> Dialogue:
        token = self.token() if callable(self.token) else self.token
        said = yield f"n,,\x01auth=Bearer {token}\x01\x01".encode()
        if said:  # why not; the broker fails it once it is told that this was read
            yield b"\x01"

    def _scram(self, hash_name: str) -> Dialogue:
        nonce = _nonce()
        name = self.username.replace("=", "=3D").replace(",", "=2C")
        bare = f"n={name},r={nonce}"
        first = (yield f"n,,{bare}".encode()).decode()
        told = _attributes(first)
        if not told.get("r", "").startswith(nonce) or told.get("r") == nonce:
            raise WorkError("the broker answers somebody else's login")
        salted = self._salted_password(hash_name, told)
        without_proof = f"c=biws,r={told['r']}"
        covered = f"{bare},{first},{without_proof}".encode()
        client_key = hmac.digest(salted, b"Client Key", hash_name)
        signature = hmac.digest(hashlib.new(hash_name, client_key).digest(), covered, hash_name)
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        last = (yield f"{without_proof},p={base64.b64encode(proof).decode()}".encode()).decode()
        expected = hmac.digest(hmac.digest(salted, b"Server Key", hash_name), covered, hash_name)
        if not hmac.compare_digest(_attributes(last).get("v", "").encode(), base64.b64encode(expected)):
            raise WorkError("the broker does not know the password that it lets us in with: it is another")

    def _salted_password(self, hash_name: str, told: dict[str, str]) -> bytes:
        try:
            salt, iterations = base64.b64decode(told["s"], validate=True), int(told["i"])
        except (KeyError, ValueError):
            raise WorkError("the broker's answer to a login is none") from None
        if not LEAST_ITERATIONS <= iterations <= MOST_ITERATIONS:
            raise WorkError(f"the broker wants a login of {iterations} iterations, which gives the password away")
        key = salt, iterations
        if key not in self._salted:
            self._salted[key] = hashlib.pbkdf2_hmac(hash_name, self.password.encode(), salt, iterations)
        return self._salted[key]


def _nonce() -> str:
    return base64.b64encode(os.urandom(18)).decode()


def _attributes(message: str) -> dict[str, str]:
    return {name: value for name, equals, value in (part.partition("=") for part in message.split(",")) if equals}

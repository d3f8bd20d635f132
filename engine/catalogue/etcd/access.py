"""By what right etcd is talked to: over TLS, with a certificate, under a name and a password; or none of it.

A password is exchanged for a token, which etcd forgets after some minutes without use, when it starts anew and when
its users change. Whoever is told so asks for another one and tries again. All connections of a node share the token.
[any thread]
"""

import ssl
import threading
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from engine.errors import InvalidConfig

AUTHENTICATE = "/v3/auth/authenticate"
UNAUTHENTICATED = 16
OUTDATED = ("invalid auth token", "user name is empty", "revision of auth store is old")
"""What etcd says to who has no token, or one of another time."""

Ask = Callable[[str, Mapping[str, Any]], dict[str, Any]]
"""Asks etcd, by path and message."""


def tls_context(ca_file: str | None, certificate_file: str | None, key_file: str | None) -> ssl.SSLContext:
    """Trusts who is vouched for by the authorities in `ca_file`, or by those of the system; shows a certificate if
    there is one. `InvalidConfig` for files that are none."""
    try:
        context = ssl.create_default_context(cafile=ca_file)
        if certificate_file is not None:
            context.load_cert_chain(certificate_file, key_file)
    except (OSError, ValueError) as error:
        named = ", ".join(name for name in (ca_file, certificate_file, key_file) if name is not None)
        raise InvalidConfig(f"etcd's certificates cannot be used ({named}): {error}") from error
    return context


@define(eq=False)
class EtcdAccess:
    """See the module."""

    tls: ssl.SSLContext | None = None
    """For endpoints that begin with https."""
    user: str | None = None
    password: str = ""
    _token: str | None = field(default=None, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def token(self, ask: Ask) -> str | None:
        """What to show with a request; None if nothing is to be shown."""
        if self.user is None:
            return None
        with self._lock:
            if self._token is None:
                answer = ask(AUTHENTICATE, {"name": self.user, "password": self.password})
                self._token = str(answer.get("token", ""))
            return self._token

    def is_outdated(self, token: str | None, code: int, message: str) -> bool:
        """Whether a refusal means that this token is of no use any more; then the next request gets another one."""
        if token is None or not (code == UNAUTHENTICATED or any(words in message for words in OUTDATED)):
            return False
        with self._lock:
            if self._token == token:
                self._token = None
        return True

"""Users in a file, for SASL/PLAIN: a name and what scrypt makes of a password on each line, never the password.

    # comment
    alice:$scrypt$ln=14,r=8,p=1$c2FsdA==$aGFzaA==

The file is read again when it has changed; one that cannot be read, or is none, leaves what was known in force.
"""

import base64
import binascii
import hashlib
import hmac
import logging
import os
import re

from attrs import define, field, frozen

from engine.errors import InvalidConfig
from engine.ids import RandomBytes

logger = logging.getLogger("tidegate.access")

LOG_COST, BLOCK, PARALLEL = 14, 8, 1
SALT_BYTES, HASH_BYTES = 16, 32
MOST_MEMORY_BYTES = 128 * 1024 * 1024
MOST_LOG_COST, MOST_BLOCK, MOST_PARALLEL = 17, 8, 4
_HASH = re.compile(r"\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)")

Stamp = tuple[int, int, int]


@frozen
class PasswordHash:
    """What is kept of a password."""

    log_cost: int
    block: int
    parallel: int
    salt: bytes = field(repr=False)
    digest: bytes = field(repr=False)

    @classmethod
    def of(cls, password: str, random_bytes: RandomBytes) -> "PasswordHash":
        """[thread] With a new salt."""
        salt = random_bytes(SALT_BYTES)
        return cls(LOG_COST, BLOCK, PARALLEL, salt, _scrypt(password, salt, LOG_COST, BLOCK, PARALLEL))

    @classmethod
    def parse(cls, text: str) -> "PasswordHash":
        """`ValueError` if it is none, or one that would take too long to check."""
        match = _HASH.fullmatch(text)
        if match is None:
            raise ValueError("no hash that this broker knows")
        log_cost, block, parallel = (int(each) for each in match.groups()[:3])
        if not (4 <= log_cost <= MOST_LOG_COST and 1 <= block <= MOST_BLOCK and 1 <= parallel <= MOST_PARALLEL):
            raise ValueError("scrypt's numbers are out of range")
        try:
            salt, digest = (base64.b64decode(each, validate=True) for each in match.groups()[3:])
        except binascii.Error:
            raise ValueError("no base64") from None
        if len(digest) != HASH_BYTES:
            raise ValueError(f"a hash has {HASH_BYTES} bytes")
        return cls(log_cost, block, parallel, salt, digest)

    def __str__(self) -> str:
        salt, digest = (base64.b64encode(each).decode() for each in (self.salt, self.digest))
        return f"$scrypt$ln={self.log_cost},r={self.block},p={self.parallel}${salt}${digest}"

    def is_of(self, password: str) -> bool:
        """[thread] Takes some 40 ms, whatever the answer."""
        tried = _scrypt(password, self.salt, self.log_cost, self.block, self.parallel)
        return hmac.compare_digest(tried, self.digest)


def _scrypt(password: str, salt: bytes, log_cost: int, block: int, parallel: int) -> bytes:
    return hashlib.scrypt(
        password.encode(),
        salt=salt,
        n=1 << log_cost,
        r=block,
        p=parallel,
        maxmem=2 * MOST_MEMORY_BYTES,
        dklen=HASH_BYTES,
    )


def parse_users(text: str) -> dict[str, PasswordHash]:
    """The users of a file; `ValueError` with the number of the line that is wrong, and nothing of what stands there."""
    users: dict[str, PasswordHash] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, colon, kept = line.strip().partition(":")
        try:
            if not colon or not name:
                raise ValueError("a line is NAME:HASH")
            if name in users:
                raise ValueError("a user stands there twice")
            users[name] = PasswordHash.parse(kept)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    return users


def format_users(users: dict[str, PasswordHash]) -> str:
    """The text of a file."""
    return "".join(f"{name}:{kept}\n" for name, kept in sorted(users.items()))


@define(eq=False)
class PasswordFile:
    """See the module. Whoever has logged in lately is known again without scrypt: by a keyed hash in memory."""

    path: str
    _key: bytes = field(repr=False)
    """Of the hashes in memory; the process's own."""
    _users: dict[str, PasswordHash] = field(factory=dict, init=False, repr=False)
    _known: dict[str, bytes] = field(factory=dict, init=False, repr=False)
    _stamp: Stamp | None = field(default=None, init=False)
    _unknown: PasswordHash = field(init=False, repr=False)
    """Checked for users that there are not, so that it takes as long."""

    def __attrs_post_init__(self) -> None:
        self._unknown = PasswordHash(LOG_COST, BLOCK, PARALLEL, self._key[:SALT_BYTES], bytes(HASH_BYTES))

    def load(self) -> None:
        """[thread] Raises `InvalidConfig` if it cannot be."""
        try:
            with open(self.path, encoding="utf-8") as file:
                self._stamp = _stamp(os.fstat(file.fileno()))
                users = parse_users(file.read())
        except OSError as error:
            raise InvalidConfig(
                f"Cannot read {self.path} (sasl.plain.users.location): {error.strerror}; "
                f"'tidegate user add NAME --users-file {self.path}' makes one"
            ) from error
        except ValueError as error:
            raise InvalidConfig(f"{self.path} (sasl.plain.users.location) is no file of users: {error}") from None
        self._users, self._known = users, {}

    def reload(self) -> None:
        """[thread] If it has changed. What is wrong is logged, and what was known stays in force."""
        try:
            if _stamp(os.stat(self.path)) != self._stamp:
                self.load()
                logger.info("users read again", extra={"file": self.path, "users": len(self._users)})
        except (OSError, InvalidConfig) as error:
            logger.error("the file of users stays as it was read last: %s", error)

    def is_known(self, name: str, password: str) -> bool:
        """Whether the user has logged in with this password lately; takes no time."""
        kept = self._known.get(name)
        return kept is not None and hmac.compare_digest(kept, self._keyed(name, password))

    def has_user(self, name: str) -> bool:
        """Whether there is such a user."""
        return name in self._users

    def has_password(self, name: str, password: str) -> bool:
        """[thread] Whether the user has this password."""
        users, known = self._users, self._known
        if self.is_known(name, password):
            return True
        if not users.get(name, self._unknown).is_of(password) or name not in users:
            return False
        known[name] = self._keyed(name, password)
        return True

    def _keyed(self, name: str, password: str) -> bytes:
        return hmac.digest(self._key, f"{name}\0{password}".encode(), "sha256")


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_mtime_ns, status.st_size, status.st_ino

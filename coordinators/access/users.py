"""The users that the catalogue has rows of (KIP-554): looked up by those who log in, described, altered.

Whoever names a user that there is not gets salt and iterations all the same, the same each time: they are derived from
a secret of the cluster and look as most users' do. So nobody finds out by trying which users there are.
"""

import hashlib
import hmac
import os
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from attrs import evolve, frozen

from coordinators.access.callers import ANONYMOUS
from coordinators.access.scram import (
    BY_NUMBER,
    DEFAULT_ITERATIONS,
    LEAST_ITERATIONS,
    MOST_ITERATIONS,
    SALT_BYTES,
    SCRAM_MECHANISMS,
    ScramMechanism,
    credential,
    has_password,
)
from coordinators.cluster.news import News, read_whole
from coordinators.topic_view import Plan, PlanBuilder
from engine.catalogue.catalogue import Catalogue, Commit, Compare, Delete, Put
from engine.catalogue.user_records import USERS, ScramCredential, UserRecord
from engine.errors import (
    BrokerError,
    DuplicateResource,
    ResourceNotFound,
    UnacceptableCredential,
    UnsupportedSaslMechanism,
)

NAME_BYTES_MAX = 256
KEY_BYTES = 32
_BASE_36 = (string.digits + string.ascii_lowercase).encode()
"""Kafka's own tools make salts of these."""


@frozen
class ScramUpsertion:
    """A password that a user is to have, as Kafka's request names it: salted already."""

    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


@frozen
class ScramDeletion:
    """A password that a user is to have no longer."""

    name: str
    mechanism: int


@frozen
class _Form:
    """How a salt looks to one who sees it."""

    size: int
    is_text: bool
    iterations: int


USUAL = _Form(SALT_BYTES, False, DEFAULT_ITERATIONS)


class Users:
    """Users by name. Only the event loop changes it."""

    def __init__(self) -> None:
        self.by_name: dict[str, UserRecord] = {}
        self.revisions: dict[str, int] = {}
        self._forms: dict[str, Counter[_Form]] = {each.name: Counter() for each in SCRAM_MECHANISMS}
        self._secret = b""
        self._losses: Counter[str] = Counter()
        """How often a user could log in no longer by what it had."""
        self._known: dict[str, tuple[int, bytes]] = {}
        """By user, the revision of its row and a keyed hash of the password that was found right last."""
        self._key = os.urandom(KEY_BYTES)
        self.on_lost: list[Callable[[str, frozenset[str]], object]] = []
        """Told of a user, and the mechanisms by which it can log in no longer."""

    @classmethod
    def load(cls, catalogue: Catalogue) -> "Users":
        """[thread] As they are now; later rows come with the news."""
        users = cls()
        revision, entries = catalogue.entries(USERS)
        users.take(read_whole(revision, entries))
        return users

    def take_secret(self, secret: bytes) -> None:
        """What the salts of users that there are not are derived from."""
        self._secret = secret

    def take(self, news: News) -> None:
        """What a revision of the catalogue changed."""
        for key, (value, revision) in news.others.items():
            if key.startswith(USERS):
                self._replace(key.removeprefix(USERS), None if value is None else UserRecord.decode(value), revision)

    def row_keys(self) -> Iterator[str]:
        """Of the rows that it holds."""
        return (record.key for record in self.by_name.values())

    def _replace(self, name: str, record: UserRecord | None, revision: int) -> None:
        before = self.by_name.pop(name, None)
        self.revisions.pop(name, None)
        if before is not None:
            self._count(before, -1)
        if record is not None:
            self.by_name[name], self.revisions[name] = record, revision
            self._count(record, 1)
        self._known.pop(name, None)
        lost = frozenset() if before is None else before.scram.keys() - (record.scram.keys() if record else ())
        self._losses[name] += bool(lost)
        for follow in self.on_lost if lost else ():
            follow(name, frozenset(lost))

    def _count(self, record: UserRecord, change: int) -> None:
        for mechanism, kept in record.scram.items():
            self._forms.setdefault(mechanism, Counter())[_form(kept)] += change

    # -- logging in

    def scram(self, name: str, mechanism: ScramMechanism) -> tuple[ScramCredential, bool]:
        """What is kept of the user's password, and True; or something that looks like it, and False."""
        record = self.by_name.get(name)
        kept = None if record is None else record.scram.get(mechanism.name)
        return (self._made_up(name, mechanism), False) if kept is None else (kept, True)

    def standing(self, name: str) -> Callable[[], bool]:
        """Tells whether what the user shows now counts still: nothing of it has been taken away since."""
        losses = self._losses[name]
        return lambda: self._losses[name] == losses

    def is_known(self, name: str, password: str) -> bool:
        """Whether the user has shown this password lately, and has it still; takes no time."""
        kept = self._known.get(name)
        is_current = kept is not None and kept[0] == self.revisions.get(name)
        return kept is not None and is_current and hmac.compare_digest(kept[1], self._keyed(name, password))

    def _keyed(self, name: str, password: str) -> bytes:
        return hmac.digest(self._key, f"{name}\0{password}".encode(), "sha256")

    def has_password(self, name: str, password: str) -> bool:
        """[thread] Whether the user has this password, for a door to which it is sent in clear. Whether there is such a
        user does not show in how long it takes."""
        revision, record = self.revisions.get(name), self.by_name.get(name)
        for mechanism in SCRAM_MECHANISMS:
            if record is not None and mechanism.name in record.scram:
                is_right = has_password(mechanism, record.scram[mechanism.name], password)
                if is_right and revision is not None:
                    self._known[name] = revision, self._keyed(name, password)
                return is_right
        has_password(SCRAM_MECHANISMS[0], self._made_up(name, SCRAM_MECHANISMS[0]), password)
        return False

    def _made_up(self, name: str, mechanism: ScramMechanism) -> ScramCredential:
        usual = self._forms[mechanism.name].most_common(1)
        form = usual[0][0] if usual and usual[0][1] > 0 else USUAL

        def derived(purpose: bytes, size: int) -> bytes:
            seed = hmac.digest(self._secret, b"\0".join((purpose, mechanism.name.encode(), name.encode())), "sha256")
            return hashlib.shake_256(seed).digest(size)

        salt = derived(b"salt", form.size)
        if form.is_text:
            salt = bytes(_BASE_36[byte % len(_BASE_36)] for byte in salt)
        keys = (derived(purpose, mechanism.key_bytes) for purpose in (b"stored", b"server"))
        return ScramCredential(salt, form.iterations, *keys)

    # -- KIP-554

    def described(self, names: Sequence[str] | None) -> list[tuple[str, UserRecord | BrokerError]]:
        """Those of these names, or all: each with its row, or why not."""
        if not names:
            return [(name, record) for name, record in sorted(self.by_name.items()) if record.scram]
        twice = {name for name, count in Counter(names).items() if count > 1}
        return [(name, self._described(name, twice)) for name in dict.fromkeys(names)]

    def _described(self, name: str, twice: set[str]) -> UserRecord | BrokerError:
        if name in twice:
            return DuplicateResource("The user is named more than once")
        record = self.by_name.get(name)
        return record if record is not None and record.scram else ResourceNotFound("There is no such user")

    def planning(
        self, deletions: Iterable[ScramDeletion], upsertions: Iterable[ScramUpsertion]
    ) -> tuple[list[str], Callable[[], Plan[str]]]:
        """The users concerned, in the order of the results, and what plans the change."""
        given: list[ScramDeletion | ScramUpsertion] = [*deletions, *upsertions]
        names = list(dict.fromkeys(each.name for each in given))
        counts = Counter((each.name, each.mechanism) for each in given)
        twice = {name for (name, _), count in counts.items() if count > 1}

        def plan() -> Plan[str]:
            """[thread] Against what is known; nothing is put in force meanwhile."""
            builder: PlanBuilder[str] = PlanBuilder()
            for name in names:
                try:
                    if name in twice:
                        raise DuplicateResource("A user's password is to be changed more than once")
                    builder.add(name, self._altered(name, [each for each in given if each.name == name]))
                except BrokerError as error:
                    builder.refuse(error)
            return builder.finish()

        return names, plan

    def _altered(self, name: str, given: Sequence[ScramDeletion | ScramUpsertion]) -> Commit:
        check_name(name)
        record = self.by_name.get(name, UserRecord(name))
        scram = dict(record.scram)
        for each in given:
            mechanism = BY_NUMBER.get(each.mechanism)
            if mechanism is None:
                raise UnsupportedSaslMechanism("Unknown SCRAM mechanism")
            if isinstance(each, ScramUpsertion):
                scram[mechanism.name] = _checked(mechanism, each)
            elif scram.pop(mechanism.name, None) is None:
                raise ResourceNotFound("The user has no password for this mechanism")
        return user_change(evolve(record, scram=scram), self.revisions.get(name, 0))


def user_change(record: UserRecord, revision: int) -> Commit:
    """The change that makes this the user's row, in the place of that of the revision; a user without any password is
    none."""
    change = Put(record.key, record.encode()) if record.scram else Delete(record.key)
    return Commit((Compare(record.key, revision),), (change,))


def check_name(name: str) -> None:
    """`UnacceptableCredential` if nobody can be called so."""
    if not name or len(name.encode()) > NAME_BYTES_MAX:
        raise UnacceptableCredential(f"A user's name has between 1 and {NAME_BYTES_MAX} bytes")


def check_new_name(name: str) -> None:
    """The same for one that is given a password; who has one by such a name can still lose it."""
    check_name(name)
    if name == ANONYMOUS.name:
        raise UnacceptableCredential(f"{name} stands for whoever was not asked who it is; choose another name")


def check_iterations(iterations: int) -> None:
    """`UnacceptableCredential` if they are too few to protect the password, or too many to be borne."""
    if not LEAST_ITERATIONS <= iterations <= MOST_ITERATIONS:
        raise UnacceptableCredential(f"Iterations must be between {LEAST_ITERATIONS} and {MOST_ITERATIONS}")


def _checked(mechanism: ScramMechanism, given: ScramUpsertion) -> ScramCredential:
    check_new_name(given.name)
    check_iterations(given.iterations)
    if not given.salt or len(given.salted_password) != mechanism.key_bytes:
        raise UnacceptableCredential("A salt and a salted password of the mechanism's length are needed")
    return credential(mechanism, given.salt, given.salted_password, given.iterations)


def _form(kept: ScramCredential) -> _Form:
    return _Form(len(kept.salt), all(byte in _BASE_36 for byte in kept.salt), kept.iterations)

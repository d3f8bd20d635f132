"""Passwords that are sent in clear to the doors beside Kafka's: those of users in the file, and in the catalogue.

To check one takes milliseconds of a processor, on purpose, and they are checked one at a time. What was found right
lately is known again without that: so whoever guesses keeps waiting those alone who have not been here yet, and these
for one of his guesses alone, for addresses take turns (the doors beside Kafka's bound them, and are one address here).
"""

from functools import partial

from attrs import define

from coordinators.access.callers import Principal, Proof, network_of
from coordinators.access.fair_lock import FairLock
from coordinators.access.password_file import PasswordFile
from coordinators.access.users import Users
from coordinators.waiting import in_worker
from engine.workers import Workers

OTHER_DOORS = ""


@define(eq=False)
class ClearPasswords:
    """See the module."""

    users: Users
    workers: Workers
    checking: FairLock
    file: PasswordFile | None = None

    def recall(self, name: str, password: str) -> Proof | None:
        """Who has shown this password lately; takes no time."""
        if self.file is not None and self.file.is_known(name, password):
            return self._of_file(self.file, name)
        standing = self.users.standing(name)
        return Proof(Principal(name), standing) if self.users.is_known(name, password) else None

    async def check(self, name: str, password: str) -> Proof | None:
        """Who has this password."""
        if self.file is not None and await self.is_in_file(self.file, name, password):
            return self._of_file(self.file, name)
        async with self.checking.held(OTHER_DOORS):
            # Asked before: who is deleted while it is checked has shown nothing.
            standing = self.users.standing(name)
            is_right = await in_worker(self.workers, self.users.has_password, name, password)
        return Proof(Principal(name), standing) if is_right else None

    async def is_in_file(self, file: PasswordFile, name: str, password: str, address: str = OTHER_DOORS) -> bool:
        """Whether a user of the file has the password."""
        if file.is_known(name, password):
            return True
        async with self.checking.held(network_of(address)):
            return await in_worker(self.workers, file.has_password, name, password)

    def _of_file(self, file: PasswordFile, name: str) -> Proof:
        return Proof(Principal(name), partial(file.has_user, name))

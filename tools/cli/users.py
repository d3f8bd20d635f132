"""Users and their passwords, wherever they are kept: in a broker's catalogue, reached over the wire or while the broker
is stopped, or in a file of SASL/PLAIN."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import typer
from attrs import evolve

from coordinators.access.password_file import PasswordHash, format_users, parse_users
from coordinators.access.scram import BY_NAME, BY_NUMBER, SALT_BYTES, ScramMechanism, credential_of, salted
from coordinators.access.users import Users, check_new_name, user_change
from engine.catalogue.catalogue import Catalogue
from engine.catalogue.user_records import UserRecord
from engine.clock import SystemClock
from engine.errors import BrokerError, UnacceptableCredential
from engine.files.files import OsFiles
from tidegate.data_directory import DataDirectory, DataDirectoryInUse, DataDirectoryUnusable
from tidegate.dev_certificates import write_secret
from tools.cli.errors import CliError, NotFound, UsageMistake, refusal
from tools.cli.kafka import connected, run
from tools.cli.profiles import Profile
from wire.kafka.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from wire.kafka.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest

NOT_FOUND = 91
Rows = list[dict[str, Any]]


def password_from(given: str | None, file: Path | None) -> str:
    """From the option, a file or the standard input (`-`), or asked for twice."""
    if given is not None and file is not None:
        raise UsageMistake("--password and --password-file say the same in two ways", "give one of them")
    if file is not None:
        text = sys.stdin.readline() if str(file) == "-" else file.read_text(encoding="utf-8")
        given = text.rstrip("\r\n")
    elif given is None:
        if not sys.stdin.isatty():
            raise UsageMistake("a password is needed", "--password-file FILE, or - for the standard input")
        given = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    if not given:
        raise UsageMistake("an empty password lets nobody in", "give another")
    return given


def chosen(names: Sequence[str] | None) -> list[ScramMechanism]:
    """Mechanisms by name; all if none is named."""
    unknown = [name for name in names or () if name.upper() not in BY_NAME]
    if unknown:
        raise UsageMistake(f"--mechanism {unknown[0]}: there is none", f"one of {', '.join(BY_NAME)}")
    return [BY_NAME[name.upper()] for name in names] if names else list(BY_NAME.values())


# -- over the wire


class WireUsers:
    """Those of a running broker."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def list(self) -> Rows:
        answer = self._ask(DescribeUserScramCredentialsRequest(None))
        if answer.error_code:
            raise refusal(answer.error_code, "the users", answer.error_message)
        return [
            _row(each.user, {BY_NUMBER[info.mechanism].name: info.iterations for info in each.credential_infos})
            for each in answer.results
        ]

    def put(self, name: str, password: str, mechanisms: Sequence[ScramMechanism], iterations: int) -> None:
        rows = []
        for mechanism in mechanisms:
            salt = os.urandom(SALT_BYTES)
            kept = salted(mechanism, password, salt, iterations)
            rows.append(ScramCredentialUpsertion(name, mechanism.number, iterations, salt, kept))
        self._alter(name, AlterUserScramCredentialsRequest(upsertions=rows))

    def delete(self, name: str) -> None:
        found = next((row for row in self.list() if row["user"] == name), None)
        if found is None:
            raise NotFound(f"there is no user {name!r}", "'tidegate user list' tells those that there are")
        numbers = [BY_NAME[mechanism].number for mechanism in found["mechanisms"]]
        gone = [ScramCredentialDeletion(name, number) for number in numbers]
        self._alter(name, AlterUserScramCredentialsRequest(deletions=gone))

    def _alter(self, name: str, request: AlterUserScramCredentialsRequest) -> None:
        for each in self._ask(request).results:
            if each.error_code:
                raise refusal(each.error_code, repr(name), each.error_message)

    def _ask(self, request: Any) -> Any:
        async def work() -> Any:
            async with connected(self._profile) as kafka:
                return await kafka.call(request)

        return run(work())


# -- in a catalogue


class CatalogueUsers:
    """Those in a catalogue that is opened for the length of each call."""

    def _open(self) -> AbstractContextManager[Catalogue]:
        raise NotImplementedError

    def list(self) -> Rows:
        with self._open() as catalogue:
            users = Users.load(catalogue).by_name.values()
            return [
                _row(user.name, {name: kept.iterations for name, kept in user.scram.items()})
                for user in sorted(users, key=lambda each: each.name)
            ]

    def put(self, name: str, password: str, mechanisms: Sequence[ScramMechanism], iterations: int) -> None:
        kept = {each.name: credential_of(each, password, os.urandom, iterations) for each in mechanisms}
        with self._open() as catalogue:
            check_new_name(name)
            users = Users.load(catalogue)
            record = users.by_name.get(name, UserRecord(name))
            changed = evolve(record, scram={**record.scram, **kept})
            catalogue.commit(user_change(changed, users.revisions.get(name, 0)))

    def delete(self, name: str) -> None:
        with self._open() as catalogue:
            users = Users.load(catalogue)
            if name not in users.by_name:
                raise NotFound(f"there is no user {name!r}", "'tidegate user list --data-dir DIR' tells those that are")
            catalogue.commit(user_change(UserRecord(name), users.revisions[name]))


class StoppedUsers(CatalogueUsers):
    """Those of a broker that is stopped, in its data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    @contextmanager
    def _open(self) -> Iterator[Catalogue]:
        from engine.catalogue import guarded
        from tidegate import belonging

        try:
            with DataDirectory(self._data_dir) as directory:
                belonging.refuse_alone(directory.path)
                catalogue = guarded.open_catalogue(str(directory.path), OsFiles())
                try:
                    yield catalogue
                finally:
                    catalogue.close()
        except DataDirectoryInUse as error:
            raise CliError(str(error), "stop it first, or leave --data-dir out and ask the running broker") from error
        except (DataDirectoryUnusable, BrokerError) as error:
            raise CliError(str(error)) from error


class EtcdUsers(CatalogueUsers):
    """Those in the catalogue of a cluster, whether its nodes run or not: for the first user."""

    def __init__(self, endpoints: str) -> None:
        self._endpoints = endpoints

    @contextmanager
    def _open(self) -> Iterator[Catalogue]:
        from tidegate.catalogues import etcd_catalogue
        from tidegate.config import BrokerConfig

        try:
            config = BrokerConfig.load(environment=os.environ, values={"etcd.endpoints": self._endpoints})
            catalogue = etcd_catalogue(config.settings, SystemClock(), lambda: True)
            try:
                yield catalogue
            finally:
                catalogue.close()
        except BrokerError as error:
            raise CliError(str(error), "where etcd asks who calls, TIDEGATE_ETCD_USER and so on say it") from error


# -- in a file


class FileUsers:
    """Those of a file for SASL/PLAIN; it is put in the place of the last one whole."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def list(self) -> Rows:
        return [{"user": name, "mechanisms": ["PLAIN"], "iterations": []} for name in sorted(self._read())]

    def put(self, name: str, password: str, _mechanisms: Sequence[ScramMechanism], _iterations: int) -> None:
        if ":" in name or name.startswith("#") or name != name.strip() or not name.isprintable():
            raise UsageMistake(f"{name!r} cannot stand in such a file", "no colon, no '#' and no space around it")
        try:
            check_new_name(name)
        except UnacceptableCredential as error:
            raise UsageMistake(str(error), "it is left as it is") from None
        self._write({**self._read(), name: PasswordHash.of(password, os.urandom)})

    def delete(self, name: str) -> None:
        users = self._read()
        if users.pop(name, None) is None:
            raise NotFound(f"there is no user {name!r} in {self._path}", "")
        self._write(users)

    def _read(self) -> dict[str, PasswordHash]:
        try:
            return parse_users(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise CliError(f"{self._path} is no file of users: {error}", "it is left as it is") from None

    def _write(self, users: dict[str, PasswordHash]) -> None:
        write_secret(self._path, format_users(users).encode())


def _row(name: str, iterations: Mapping[str, int]) -> dict[str, Any]:
    names = sorted(iterations)
    return {"user": name, "mechanisms": names, "iterations": [iterations[each] for each in names]}

"""`tidegate user`: who may log in with a password. On a running broker, on a stopped one, or in a file for PLAIN."""

from pathlib import Path
from typing import Annotated

import typer

from coordinators.access.scram import DEFAULT_ITERATIONS, LEAST_ITERATIONS, MOST_ITERATIONS
from tools.cli.errors import CliError, NotFound, UsageMistake
from tools.cli.framework import Session, command, confirm, group, session
from tools.cli.output import Column
from tools.cli.users import CatalogueUsers, EtcdUsers, FileUsers, StoppedUsers, WireUsers, chosen, password_from

app = group("Users: who may log in with a password.")
LIST = (Column("user"), Column("mechanisms", "mechanisms", ", ".join), Column("iterations"))

Name = Annotated[str, typer.Argument(metavar="USER", help="The user's name.")]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", metavar="DIR", help="Of a broker that is stopped: for the first user.")
]
Etcd = Annotated[
    str | None, typer.Option("--etcd", metavar="URL[,URL]", help="Of a cluster, by its etcd: for the first user.")
]
UsersFile = Annotated[
    Path | None, typer.Option("--users-file", metavar="FILE", help="A file for PLAIN (sasl.plain.users.location).")
]
Password = Annotated[
    str | None, typer.Option("--password", metavar="TEXT", help="Others may see it in the list of processes.")
]
PasswordFrom = Annotated[
    Path | None, typer.Option("--password-file", metavar="FILE", help="The password is its first line; - is the input.")
]
Mechanisms = Annotated[
    list[str] | None, typer.Option("--mechanism", metavar="NAME", help="SCRAM-SHA-256 or -512; both if not given.")
]
Iterations = Annotated[
    int, typer.Option("--iterations", min=LEAST_ITERATIONS, max=MOST_ITERATIONS, help="What guessing costs.")
]
Kept = WireUsers | CatalogueUsers | FileUsers


def _users(at: Session, data_dir: Path | None, users_file: Path | None, etcd: str | None) -> Kept:
    if sum(each is not None for each in (data_dir, users_file, etcd)) > 1:
        raise UsageMistake("--data-dir, --users-file and --etcd are places of their own", "give one of them")
    if users_file is not None:
        return FileUsers(users_file)
    if etcd is not None:
        return EtcdUsers(etcd)
    return WireUsers(at.profile) if data_dir is None else StoppedUsers(data_dir)


@command(
    app,
    "add",
    examples=(
        "tidegate user add orders",
        "tidegate user add admin --password-file admin.txt --data-dir data",
        "tidegate user add orders --mechanism SCRAM-SHA-512 --iterations 16384",
        "tidegate user add scripts --users-file users.txt",
        "tidegate user add admin --password-file admin.txt --etcd http://a:2379,http://b:2379",
    ),
)
def add(
    context: typer.Context,
    name: Name,
    password: Password = None,
    password_file: PasswordFrom = None,
    mechanism: Mechanisms = None,
    iterations: Iterations = DEFAULT_ITERATIONS,
    data_dir: DataDir = None,
    users_file: UsersFile = None,
    etcd: Etcd = None,
) -> None:
    """Make a user with a password.

    Without --data-dir, --etcd or --users-file the running broker is asked; whoever asks needs ALTER on the cluster.
    What is kept of the password is no password: salt and keys, by SCRAM."""
    at = session(context)
    users, mechanisms = _users(at, data_dir, users_file, etcd), chosen(mechanism)
    if any(each["user"] == name for each in users.list()):
        raise CliError(f"there is a user {name!r} already", f"'tidegate user password {name}' gives it another one")
    users.put(name, password_from(password, password_file), mechanisms, iterations)
    _done(at, name, "made")


@command(app, "password", examples=("tidegate user password orders", "tidegate user password orders --password-file p"))
def set_password(
    context: typer.Context,
    name: Name,
    password: Password = None,
    password_file: PasswordFrom = None,
    mechanism: Mechanisms = None,
    iterations: Iterations = DEFAULT_ITERATIONS,
    data_dir: DataDir = None,
    users_file: UsersFile = None,
    etcd: Etcd = None,
) -> None:
    """Give a user another password. Open connections go on."""
    at = session(context)
    users, mechanisms = _users(at, data_dir, users_file, etcd), chosen(mechanism)
    if all(each["user"] != name for each in users.list()):
        raise NotFound(f"there is no user {name!r}", f"'tidegate user add {name}' makes one")
    users.put(name, password_from(password, password_file), mechanisms, iterations)
    _done(at, name, "has another password")


@command(app, "list", examples=("tidegate user list", "tidegate user list --data-dir data -o json"))
def list_users(
    context: typer.Context, data_dir: DataDir = None, users_file: UsersFile = None, etcd: Etcd = None
) -> None:
    """The users, and by which mechanisms they can log in."""
    at = session(context)
    at.output.rows(_users(at, data_dir, users_file, etcd).list(), LIST)


@command(app, "delete", examples=("tidegate user delete orders", "tidegate user delete orders --yes"))
def delete(
    context: typer.Context,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    data_dir: DataDir = None,
    users_file: UsersFile = None,
    etcd: Etcd = None,
) -> None:
    """Delete a user. Its connections end."""
    at = session(context)
    users = _users(at, data_dir, users_file, etcd)
    confirm(f"Delete the user {name}?", yes=yes)
    users.delete(name)
    _done(at, name, "deleted")


def _done(at: Session, name: str, happened: str) -> None:
    if at.output.is_for_people:
        at.output.done(f"user {name} {happened}")
    else:
        at.output.value({"user": name, "result": happened})

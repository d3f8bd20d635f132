"""`tidegate cert`: certificates for trying TLS out."""

from pathlib import Path
from typing import Annotated

import typer

from tools.cli.errors import CliError
from tools.cli.framework import OfflineCommand, command, group, session

app = group("Certificates for trying TLS out.")
LOCAL = ("localhost", "127.0.0.1", "::1")
FILES = ("ca.pem", "ca-key.pem", "broker.pem")


@command(
    app,
    "dev",
    cls=OfflineCommand,
    examples=(
        "tidegate cert dev --out certs",
        "tidegate cert dev --out certs --host kafka-1.example --host 10.0.0.1 --client orders --client billing",
    ),
)
def dev(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the files go.")] = Path("certs"),
    hosts: Annotated[
        list[str] | None,
        typer.Option("--host", metavar="HOST", help="A name or address of the broker, besides those of this machine."),
    ] = None,
    clients: Annotated[
        list[str] | None, typer.Option("--client", metavar="NAME", help="A client that gets a certificate; repeatable.")
    ] = None,
    days: Annotated[int, typer.Option("--days", min=1, max=3650, help="How long they are valid.")] = 365,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="In the place of those that are there.")] = False,
) -> None:
    """Make an authority, a certificate for the broker, and some for clients.

    broker.pem goes to ssl.keystore.location, ca.pem to clients and to ssl.truststore.location. The authority's key lies
    beside them: whoever has it can make certificates that are trusted. Not for a company."""
    from tidegate.dev_certificates import Authority, write_secret

    at = session(context)
    wanted = [*FILES, *(f"client-{name}.pem" for name in clients or ())]
    there = [name for name in wanted if (out / name).exists()]
    if there and not overwrite:
        raise CliError(f"{out / there[0]} is there already", "--overwrite puts others in its place")
    unsafe = [name for name in clients or () if "/" in name or not name.isprintable()]
    if unsafe:
        raise CliError(f"{unsafe[0]!r} cannot be the name of a file", "choose another")
    out.mkdir(parents=True, exist_ok=True)
    authority = Authority.make(days=days)
    every = [*dict.fromkeys([*(hosts or ()), *LOCAL])]
    write_secret(out / "ca-key.pem", authority.identity.key_pem)
    (out / "ca.pem").write_bytes(authority.identity.certificate_pem)
    write_secret(out / "broker.pem", authority.broker(every, days).pem)
    for name in clients or ():
        write_secret(out / f"client-{name}.pem", authority.client(name, days).pem)
    if not at.output.is_for_people:
        at.output.value({"files": [str(out / name) for name in wanted], "hosts": every})
        return
    at.output.done(f"made {', '.join(wanted)} in {out}, for {', '.join(every)}")

"""`tidegate log`: what lies on disk, read without a broker; as text, and whether it is sound."""

from pathlib import Path
from typing import Annotated, Any

import typer
from attrs import asdict

from tools.cli import log_files
from tools.cli.errors import CliError, Exit, UsageMistake
from tools.cli.formats import Record, compile_format
from tools.cli.framework import OfflineCommand, command, group, session
from tools.cli.output import Column, Output, size_text
from tools.cli.progress import progress
from tools.cli.times import moment_text

app = group("Files on disk, without a broker: dump, verify.")

BATCHES = (
    Column("position", right=True),
    Column("base_offset", "first", right=True),
    Column("last_offset", "last", right=True),
    Column("records", right=True),
    Column("size_bytes", "bytes", right=True),
    Column("max_timestamp_ms", "latest (UTC)", moment_text),
    Column("codec"),
    Column("kind"),
    Column("producer_id", "producer", right=True),
    Column("base_sequence", "sequence", right=True),
    Column("sound"),
)
RECORDS = (
    Column("offset", right=True),
    Column("timestamp_ms", "time (UTC)", moment_text),
    Column("key"),
    Column("value"),
    Column("headers", "headers", lambda value: ",".join(f"{each['name']}={each.get('value')}" for each in value)),
)
INDEX = (
    Column("offset", right=True),
    Column("position", right=True),
    Column("max_timestamp_before_ms", "latest before (UTC)", moment_text),
)
SNAPSHOT = (
    Column("end_offset", "log end"),
    Column("segment"),
    Column("position"),
    Column("index_entries", "index entries"),
    Column("max_timestamp_ms", "latest (UTC)", moment_text),
)
PRODUCERS = (
    Column("producer_id", "producer", right=True),
    Column("epoch", right=True),
    Column("last_sequence", "last sequence", right=True),
    Column("last_timestamp_ms", "last time (UTC)", moment_text),
    Column("transaction_start_offset", "open since offset", right=True),
)


@command(
    app,
    "dump",
    cls=OfflineCommand,
    examples=(
        "tidegate log dump data/topics/*/0/00000000000000000000.log",
        "tidegate log dump data/topics/*/0/00000000000000000000.log --records",
        "tidegate log dump data/topics/*/0/00000000000000000042.snapshot --output json",
    ),
)
def dump(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Segments, indexes, snapshots.")],
    records: Annotated[bool, typer.Option("--records", "-r", help="Records, not batches.")] = False,
    form: Annotated[str | None, typer.Option("--format", "-f", help="How a record is written: %o %k %v.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="So many batches at most.")] = None,
) -> None:
    """The batches of a segment, its records, the entries of an index, what a snapshot remembers."""
    out = session(context).output
    for number, path in enumerate(files):
        if not path.is_file():
            raise CliError(f"there is no file {path}", "", Exit.NOT_FOUND)
        if len(files) > 1:
            out.heading(("\n" if number else "") + f"{path}\n")
        _dump_one(out, path, records or form is not None, form, limit)


def _dump_one(out: Output, path: Path, records: bool, form: str | None, limit: int | None) -> None:
    if path.suffix == ".log":
        _dump_segment(out, path, records, form, limit)
    elif path.suffix == ".index":
        out.rows(log_files.index_rows(path), INDEX, empty="an empty index")
    elif path.suffix == ".snapshot":
        _dump_snapshot(out, path)
    else:
        raise UsageMistake(f"{path} is none of .log, .index and .snapshot", "name one of these")


def _dump_segment(out: Output, path: Path, records: bool, form: str | None, limit: int | None) -> None:
    found = []
    for number, (position, header, sound) in enumerate(log_files.batches(path)):
        if limit is not None and number >= limit:
            break
        found.append((position, header, sound))
    if not records:
        out.rows((log_files.batch_row(*each) for each in found), BATCHES, empty="no batches")
        return
    rows = [row for position, header, _ in found for row in log_files.record_rows(path, position, header)]
    if form is None:
        out.rows(rows, RECORDS, empty="no records")
        return
    write = compile_format(form)
    for row in rows:
        typer.echo(write(_record(path, row)), nl=False)


def _record(path: Path, row: dict[str, Any]) -> Record:
    def data(fields: dict[str, Any], name: str) -> bytes | None:
        import base64

        if f"{name}_base64" in fields:
            return base64.b64decode(fields[f"{name}_base64"])
        return None if fields.get(name) is None else str(fields[name]).encode()

    headers = tuple((each["name"], data(each, "value")) for each in row["headers"])
    partition = int(path.parent.name) if path.parent.name.isdecimal() else -1
    place = path.parent.parent.name
    return Record(place, partition, row["offset"], row["timestamp_ms"], data(row, "key"), data(row, "value"), headers)


def _dump_snapshot(out: Output, path: Path) -> None:
    found = log_files.snapshot_data(path)
    if found is None:
        raise CliError(f"{path} is damaged", "the broker passes over it and takes an older one")
    if not out.is_for_people:
        out.value(found)
        return
    out.fields(found, SNAPSHOT)
    out.heading("")
    out.rows(found["leader_epochs"], (Column("epoch", right=True), Column("start_offset", "from offset", right=True)))
    if found["producers"]:
        out.heading("")
        out.rows(found["producers"], PRODUCERS)


@command(
    app,
    "verify",
    cls=OfflineCommand,
    examples=("tidegate log verify data", "tidegate log verify /var/lib/tidegate --output json"),
)
def verify(
    context: typer.Context,
    place: Annotated[Path, typer.Argument(metavar="DIR|FILE", help="A data directory, a folder or a file in it.")],
) -> None:
    """Check all files: checksums, offsets, indexes. Ends with status 1 if something is wrong.

    Best of a broker that is stopped: the last batch of one that runs may be half written."""
    out = session(context).output
    paths = log_files.files_under(place)
    with progress("files", len(paths)) as shown:
        seen = log_files.verify(paths, shown.advance)
    names = log_files.topic_names(place)
    if out.is_for_people:
        for each in seen.findings:
            where = log_files.place_name(Path(each.file), names)
            out.heading(f"{where} at byte {each.position}: {each.problem}")
        out.heading(
            f"{seen.segments} segments ({size_text(seen.size_bytes)}, {seen.batches} batches, {seen.records} records), "
            f"{seen.indexes} indexes, {seen.snapshots} snapshots: "
            + ("all sound" if not seen.findings else f"{len(seen.findings)} problems")
        )
    else:
        out.value(asdict(seen))
    if seen.findings:
        raise typer.Exit(Exit.FAILED)

"""`tidegate log`: what lies on disk, read without a broker; as text, and whether it is sound."""

import base64
import sys
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from attrs import asdict

from engine.log.leader_epochs import FILE_NAME as EPOCHS_FILE
from engine.log.recovery import START_FILE
from engine.stage.checkpoint import FILE as CHECKPOINT_FILE
from tools.cli import log_files, log_state, log_verify
from tools.cli.errors import CliError, Exit, UsageMistake
from tools.cli.formats import Record, compile_format
from tools.cli.framework import OfflineCommand, command, group, session
from tools.cli.log_places import place_of, segments
from tools.cli.output import Column, Output, size_text, text_of
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


CHECKPOINT = (
    Column("stage_offset", "as of offset"),
    Column("prioritised"),
    Column("pending", "records that wait"),
    Column("open_transactions", "open transactions of"),
)
ROWS = (
    Column("number", right=True),
    Column("records", right=True),
    Column("state"),
    Column("priority"),
    Column("due_ms", "due (UTC)", moment_text),
    Column("created_ms", "received (UTC)", moment_text),
    Column("size_bytes", "bytes", right=True),
)
EPOCHS = (Column("epoch", right=True), Column("start_offset", "from offset", right=True))


@command(
    app,
    "dump",
    cls=OfflineCommand,
    examples=(
        "tidegate log dump data --topic orders",
        "tidegate log dump data --topic orders --partition 0 --records",
        "tidegate log dump data --topic reminders --stage --records",
        "tidegate log dump data --topic __transaction_state --records",
        "tidegate log dump data --topic __consumer_offsets -f '%o %k{hex}\\n'",
        "tidegate log dump data/topics/*/0/00000000000000000000.log --limit 10",
        "tidegate log dump data/topics/*/0/*.snapshot --output json",
    ),
)
def dump(
    context: typer.Context,
    places: Annotated[
        list[Path], typer.Argument(metavar="DIR|FILE", help="A data directory, a partition's folder, or files.")
    ],
    topic: Annotated[str | None, typer.Option("--topic", "-t", help="Of this topic; for a data directory.")] = None,
    partitions: Annotated[
        list[int] | None, typer.Option("--partition", "-p", min=0, help="Of this partition; may be repeated.")
    ] = None,
    stage: Annotated[bool, typer.Option("--stage", help="What is held back, not the log itself.")] = False,
    records: Annotated[bool, typer.Option("--records", "-r", help="Records, not batches.")] = False,
    form: Annotated[str | None, typer.Option("--format", "-f", help="How a record is written: %o %k %v.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="So many batches per file at most.")] = None,
) -> None:
    """The batches of a segment, its records, the entries of an index, what a snapshot or a checkpoint remembers.

    Records of the broker itself are told in words: markers of transactions, states of transactional ids, committed
    offsets, and what happens in a stage."""
    out = session(context).output
    files = [file for place in places for file in segments(place, topic, partitions or (), stage=stage)]
    if (topic is not None or partitions) and not any(place.is_dir() for place in places):
        raise UsageMistake("--topic and --partition choose in a data directory", "name one, or leave them out")
    for number, path in enumerate(files):
        if len(files) > 1:
            place = place_of(path)
            name = f"{place.name}: {path}" if place is not None else str(path)
            out.heading(("\n" if number else "") + f"{name}\n")
        _dump_one(out, path, records or form is not None, form, limit)


def _dump_one(out: Output, path: Path, records: bool, form: str | None, limit: int | None) -> None:
    if path.suffix == ".log":
        _dump_segment(out, path, records, form, limit)
    elif path.suffix == ".index":
        out.rows(log_files.index_rows(path), INDEX, empty="an empty index")
    elif path.suffix == ".snapshot":
        _dump_snapshot(out, path)
    elif path.name == CHECKPOINT_FILE:
        _dump_checkpoint(out, path)
    elif path.name == START_FILE:
        out.fields(log_state.start_offset_data(path), (Column("start_offset", "begins at"),))
    elif path.name == EPOCHS_FILE:
        out.rows(log_state.epochs_data(path), EPOCHS, empty="no leader epochs")
    else:
        kinds = ", ".join((*log_files.SUFFIXES, *log_files.SMALL_FILES))
        raise UsageMistake(f"{path} is no file that can be dumped", f"these can: {kinds}")


def _dump_segment(out: Output, path: Path, records: bool, form: str | None, limit: int | None) -> None:
    found = islice(log_files.batches(path), limit)
    if not records:
        out.rows((log_files.batch_row(*each) for each in found), BATCHES, empty="no batches")
        return
    place = place_of(path)
    topic = place.topic if place is not None else ""
    rows = (row for position, header, _ in found for row in log_files.record_rows(path, position, header, topic))
    if form is not None:
        write = compile_format(form)
        for row in rows:
            sys.stdout.buffer.write(write(_record(path, row)))
        sys.stdout.flush()
        return
    out.rows(map(_shown, rows) if out.is_for_people else rows, RECORDS, empty="no records")


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """A record for people: what the broker's own say stands in place of their bytes."""
    if row["meaning"] is not None:
        return {**row, "key": "", "value": row["meaning"]}
    return {**row, "key": text_of(_data(row, "key")), "value": text_of(_data(row, "value"))}


def _data(fields: dict[str, Any], name: str) -> bytes | None:
    if f"{name}_base64" in fields:
        return base64.b64decode(fields[f"{name}_base64"])
    return None if fields.get(name) is None else str(fields[name]).encode()


def _record(path: Path, row: dict[str, Any]) -> Record:
    headers = tuple((each["name"], _data(each, "value")) for each in row["headers"])
    place = place_of(path)
    topic, partition = (place.topic, place.partition) if place is not None else ("", -1)
    return Record(topic, partition, row["offset"], row["timestamp_ms"], _data(row, "key"), _data(row, "value"), headers)


def _dump_snapshot(out: Output, path: Path) -> None:
    found = log_state.snapshot_data(path)
    if found is None:
        raise CliError(f"{path} is damaged", "the broker passes over it and takes an older one")
    if not out.is_for_people:
        out.value(found)
        return
    out.fields(found, SNAPSHOT)
    out.heading("")
    out.rows(found["leader_epochs"], EPOCHS)
    if found["producers"]:
        out.heading("")
        out.rows(found["producers"], PRODUCERS)


def _dump_checkpoint(out: Output, path: Path) -> None:
    found = log_state.checkpoint_data(path)
    if not out.is_for_people:
        out.value(found)
        return
    out.fields(found, CHECKPOINT)
    if found["rows"]:
        out.heading("")
        out.rows(found["rows"], ROWS)


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
    """Check all files: checksums, offsets, indexes, snapshots, stages. Ends with status 1 if something is wrong.

    Best of a broker that is stopped: the last batch of one that runs may be half written."""
    out = session(context).output
    paths = log_files.files_under(place)
    with progress("files", len(paths)) as shown:
        seen = log_verify.verify(paths, shown.advance)
    if out.is_for_people:
        for each in seen.findings:
            partition = place_of(Path(each.file))
            where = each.file if partition is None else f"{partition.name}: {each.file}"
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

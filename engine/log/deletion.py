"""Deleting a log's records up to an offset: what goes with them, and what must not."""

import contextlib

from engine.errors import StorageError
from engine.log.jobs import Job, SnapshotJob
from engine.log.log import Log


def deletion_jobs(log: Log, offset: int) -> list[Job]:
    """Jobs, the last of which raises the start of the log to `offset` and drops the segments below it.

    Before it comes a snapshot, if one is due: what the log knows of its producers must not go with the segments. Where
    nothing is left of the active segment another one is begun, so that its room is freed too.
    """
    if offset == log.end_offset and log.segments:
        with contextlib.suppress(StorageError):
            log.roll()
    jobs = log.maintenance()
    for job in jobs:
        if isinstance(job, SnapshotJob):
            job.frees_room = True
    return [*jobs, log.delete_records_job(offset)]

"""Jobs: what they do in a thread, what they tell the log afterwards."""

import errno

from engine.files.files import OsFiles
from engine.log.jobs import ReplaceJob, SealJob
from engine.log.log import LogConfig
from tests.engine.logs import batch, memory_files, open_log, sync


def test_an_error_that_run_raised_is_handed_to_finish() -> None:
    files = memory_files()
    log = open_log(files)
    log.append(batch(), 0)
    log.request_snapshot()
    (job,) = log.maintenance()
    job.finish(ValueError("a bug"))
    assert isinstance(job.error, ValueError)
    assert log.maintenance_due


def test_a_seal_syncs_the_segment_before_it_says_that_it_is_complete() -> None:
    files = memory_files()
    log = open_log(files, config=LogConfig(segment_bytes=300))
    for _ in range(8):
        log.append(batch(), 0)
    seal = next(job for job in log.maintenance() if isinstance(job, SealJob))
    files.fail_at(1, errno.EIO, only=frozenset({"sync"}))
    seal.run()
    seal.finish()
    assert seal.sync_failed
    assert log.offline is not None
    assert not [name for name in files.list(log.directory) if name.endswith(".index")]


def test_a_ticket_syncs_files_before_directories() -> None:
    files = memory_files()
    log = open_log(files)
    log.append(batch(), 0)
    ticket = log.capture_sync()
    assert len(ticket.files) == 1
    assert sorted(ticket.directories) == ["/data", "/data/topics", "/data/topics/0a", "/data/topics/0a/0"]
    sync(log)
    log.append(batch(), 0)
    assert log.capture_sync().directories == ()


def test_a_rolled_file_stays_in_the_ticket_until_it_is_synced() -> None:
    log = open_log(memory_files())
    log.append(batch(), 0)
    log.roll()
    log.append(batch(), 0)
    assert len(log.capture_sync().files) == 2
    sync(log)
    log.append(batch(), 0)
    assert len(log.capture_sync().files) == 1


def test_a_failed_replacement_takes_the_log_offline_until_recovery_has_looked() -> None:
    files = memory_files()
    log = open_log(files)
    log.append(batch(), 0)
    log.roll()
    sync(log)
    old = log.segments[:1]
    job = ReplaceJob(files, log.directory, old, old, [], log._replaced)
    files.fail_at(1, errno.EIO, times=100)
    job.run()
    job.finish()
    assert log.offline is not None
    files.stop_failing()
    log.reverify()
    assert log.end_offset == 1


def test_the_real_files_serve_as_well(tmp_path: object) -> None:
    log = open_log(OsFiles(), directory=f"{tmp_path}/topics/0a/0")
    log.append(batch(), 0)
    sync(log)
    log.close(clean=True)
    again = open_log(OsFiles(), directory=f"{tmp_path}/topics/0a/0", clean=True)
    assert again.recovery.scanned_bytes == 0
    assert again.end_offset == 1

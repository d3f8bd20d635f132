"""Streaming queries as the scenarios run them: until everything was read, or in the background until stopped."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE_S = 90


def into_parquet(data: Any, folder: str, checkpoint: str) -> Any:
    """A query, not yet started, whose rows end up in Parquet files, each exactly once."""
    return data.writeStream.format("parquet").option("path", folder).option("checkpointLocation", checkpoint)


def drain(writer: Any) -> list[dict[str, Any]]:
    """Runs until all that is there now was read; gives the progress of each micro-batch that had rows."""
    query = writer.trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(PATIENCE_S), f"still running: {query.lastProgress}"
        return [progress for progress in query.recentProgress if progress["numInputRows"]]
    finally:
        query.stop()


def drained(data: Any, checkpoint: str, each: Callable[[list[Any]], None]) -> None:
    """Runs until all that is there now was read, and hands over the rows of each micro-batch in offset order."""

    def hand_over(batch: Any, _number: int) -> None:
        each(sorted(batch.collect(), key=lambda row: (row.partition, row.offset)))

    drain(data.writeStream.foreachBatch(hand_over).option("checkpointLocation", checkpoint))


@contextmanager
def running(writer: Any, interval: str = "100 milliseconds") -> Iterator[Any]:
    """A query that runs in the background for as long as the block does."""
    query = writer.trigger(processingTime=interval).start()
    try:
        yield query
    finally:
        query.stop()

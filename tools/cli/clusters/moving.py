"""Reassignments: asked for, watched until they are done, cancelled."""

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from tools.cli.clusters.layout import Layout, TopicPartition, read_moving, read_sizes
from tools.cli.clusters.plans import Move
from tools.cli.errors import CannotReach, refusal
from tools.cli.kafka import Kafka, check
from tools.cli.progress import progress
from tools.cli.several import Several
from wire.kafka.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)

TOGETHER = 1_000
"""So many partitions are asked for at once."""
POLL_S = 0.5
MEBIBYTE = 1024 * 1024


async def ask_for(kafka: Kafka, wanted: Mapping[TopicPartition, Sequence[int] | None]) -> Several:
    """Have partitions lie on these nodes; None cancels what is under way."""
    outcome = Several()
    keys = list(wanted)
    for start in range(0, len(keys), TOGETHER):
        topics: dict[str, ReassignableTopic] = {}
        for name, partition in keys[start : start + TOGETHER]:
            replicas = wanted[name, partition]
            entry = topics.setdefault(name, ReassignableTopic(name, []))
            entry.partitions.append(ReassignablePartition(partition, None if replicas is None else list(replicas)))
        timeout_ms = round(kafka.profile.timeout_s * 1_000)
        request = AlterPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=list(topics.values()))
        answer = await kafka.call(request)
        check(answer.error_code, "the reassignment", answer.error_message)
        for topic in answer.responses:
            for each in topic.partitions:
                name = f"{topic.name}-{each.partition_index}"
                if each.error_code:
                    outcome.refused[name] = refusal(each.error_code, repr(name), each.error_message)
                else:
                    outcome.done.append(name)
    return outcome


async def watch(kafka: Kafka, moves: Collection[Move]) -> None:
    """Until none of them is under way, with a bar of what has been copied. It takes as long as it takes: only if
    nothing comes for `--timeout` it is given up."""
    keys = {move.key for move in moves}
    total = sum(move.copied_bytes for move in moves)
    targets = sorted({node for move in moves for node in move.adding})
    moved = last = 0
    changed_at = time.monotonic()
    with progress(f"moving {len(keys)} partitions, MiB", -(-total // MEBIBYTE)) as bar:
        left = keys
        while left:
            under_way = set(await read_moving(kafka)) & keys
            copied = _copied(moves, await read_sizes(kafka, targets))
            if copied != last or under_way != left:
                last, left, changed_at = copied, under_way, time.monotonic()
            bar.advance(copied // MEBIBYTE - moved)
            moved = copied // MEBIBYTE
            if left and time.monotonic() - changed_at > kafka.profile.timeout_s:
                raise CannotReach(
                    f"{len(left)} partitions have not moved on for {kafka.profile.timeout_s:g} s",
                    "they go on; 'tidegate cluster reassign status' shows them, 'reassign cancel' takes them back",
                )
            if left:
                await asyncio.sleep(POLL_S)


def _copied(moves: Iterable[Move], sizes: Mapping[tuple[TopicPartition, int], int]) -> int:
    return sum(min(sizes.get((move.key, node), 0), move.size_bytes) for move in moves for node in move.adding)


def status_rows(layout: Layout) -> list[dict[str, Any]]:
    """What is under way, and how much of it is there."""
    rows = []
    for each in layout.partitions:
        if not (each.adding or each.removing):
            continue
        wanted = each.size_bytes * len(each.adding)
        copied = sum(min(layout.sizes.get((each.key, node), 0), each.size_bytes) for node in each.adding)
        rows.append(
            {
                "topic": each.topic,
                "partition": each.partition,
                "replicas": list(each.target),
                "adding": list(each.adding),
                "removing": list(each.removing),
                "in_sync": [node for node in each.adding if node in each.isr],
                "copied_bytes": copied,
                "size_bytes": wanted,
            }
        )
    return rows

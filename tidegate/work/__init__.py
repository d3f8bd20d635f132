"""Work from a queue: a share group's member for trio and asyncio, over the Kafka protocol.

    async with worker("jobs", group="mail", bootstrap="127.0.0.1:9092") as jobs:
        async for job in jobs:
            await send_mail(job.value)
            await job.ack()

Heartbeats go out and locks are renewed in the background, for as long as the event loop runs. It works with every
broker that has share groups: this one, and Apache Kafka 4.2 or later. See docs/queues.md.
"""

from tidegate import _path

try:
    _path.activate_embedded()
except _path.PackageClash as error:
    raise _path.PackageClash(
        f"tidegate.work cannot be used in this process, which has a top-level package of a name that Tidegate's own "
        f"packages have ({', '.join(_path.PACKAGES)}): rename it, or use another client. {error}"
    ) from None

from tidegate.work.credentials import Credentials
from tidegate.work.job import Job, JobLost, JobSettled, WorkError
from tidegate.work.worker import Worker, worker

__all__ = ["Credentials", "Job", "JobLost", "JobSettled", "WorkError", "Worker", "worker"]

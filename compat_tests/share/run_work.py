"""Works from a share group with `tidegate.work` as records' values say: trio|asyncio BOOTSTRAP GROUP TOPIC."""

import asyncio
import sys
from functools import partial

import trio

from tidegate.work import Job, JobLost, Worker, worker


async def work(jobs: Worker) -> None:
    async with jobs:
        async for job in jobs:
            say("record", job.partition, job.offset, job.delivery_count, (job.value or b"").decode())
            try:
                await judge(job)
            except JobLost as error:
                say("failed", error)
            else:
                say("settled", job.partition, job.offset)
    say("closed")


async def judge(job: Job) -> None:
    value = (job.value or b"").decode()
    if value.startswith("hold"):
        if sys.argv[1] == "trio":
            await trio.sleep_forever()
        await asyncio.get_running_loop().create_future()
    elif value.startswith("release") and job.delivery_count == 1:
        await job.release()
    elif value.startswith("reject"):
        await job.reject()
    else:
        await job.ack()


async def on_trio(jobs: Worker) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(work, jobs)
        await trio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        jobs.stop()


async def on_asyncio(jobs: Worker) -> None:
    task = asyncio.create_task(work(jobs))
    await asyncio.to_thread(sys.stdin.read)
    jobs.stop()
    await task


def say(*words: object) -> None:
    print(*words, flush=True)


def main() -> None:
    kind, bootstrap, group, topic = sys.argv[1:]
    jobs = worker(topic, group=group, bootstrap=bootstrap)
    if kind == "trio":
        trio.run(partial(on_trio, jobs))
    else:
        asyncio.run(on_asyncio(jobs))


if __name__ == "__main__":
    main()

"""Spark's structured streaming beside the other clients: a query with a checkpoint reads what the idempotent producer
writes. A micro-batch that is done again counts once, as it does in a sink that knows the numbers of batches."""

import os
import tempfile
from collections.abc import Sequence
from typing import Any

from tools.chaos.client_history import ClientHistory
from tools.chaos.workloads import SOURCE, Actor, Plain
from tools.soak.history import Verdict

SETTINGS = {
    "spark.master": "local[1]",
    "spark.driver.memory": "768m",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
}
INTERVAL = "500 milliseconds"
LOOKS_S = 0.5


class SparkStreaming(Actor):
    """See the module."""

    topics = ()

    def __init__(self, bootstrap: str, seed: int, plain: Plain) -> None:
        super().__init__(bootstrap, seed)
        self.history = ClientHistory()
        self.writers: Sequence[Actor] = ()
        self.readers: Sequence[Actor] = (self,)
        self._plain = plain

    def work(self) -> None:
        from tools.pipelines.session import spark_session

        with tempfile.TemporaryDirectory(prefix="chaos-spark-", ignore_cleanup_errors=True) as scratch:
            os.environ["SPARK_LOCAL_DIRS"] = scratch
            session = spark_session("chaos", {**SETTINGS, "spark.sql.warehouse.dir": f"{scratch}/warehouse"})
            try:
                self._stream(session, f"{scratch}/checkpoint")
            finally:
                session.stop()

    def _stream(self, session: Any, checkpoint: str) -> None:
        options = {"kafka.bootstrap.servers": self.bootstrap, "subscribe": SOURCE, "startingOffsets": "earliest"}
        rows = session.readStream.format("kafka").options(**options).load().select("partition", "offset", "value")
        writer = rows.writeStream.foreachBatch(self._take).option("checkpointLocation", checkpoint)
        query = writer.trigger(processingTime=INTERVAL).start()
        while not self.stopping.wait(LOOKS_S):
            if not query.isActive:
                self.failures.append(f"Spark: the query has ended: {str(query.exception())[:500]}")
                return
        query.stop()

    def _take(self, batch: Any, _number: int) -> None:
        for row in batch.collect():
            self.history.note_read(row.partition, row.offset, bytes(row.value))

    def is_caught_up(self) -> bool:
        self._know_what_was_sent()
        return self.history.is_caught_up()

    def verdict(self) -> Verdict:
        self._know_what_was_sent()
        return self.history.verdict()

    def _know_what_was_sent(self) -> None:
        self.history.sent = self._plain.sent
        self.history.acknowledged = dict.fromkeys(self._plain.acknowledged, -1)

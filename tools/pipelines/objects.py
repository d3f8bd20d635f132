"""Archives and reports in an object store that speaks S3's API, by Hadoop's `s3a:`.

A store has no rename: Hadoop copies and deletes, and who is killed in between leaves half of it. So nothing here relies
on one to decide anything. What must not exist yet is put on the condition that it does not, which the store decides in
one step; tasks write by Hadoop's magic committer, whose uploads appear when the job is committed; Spark's checkpoints
are uploads that are completed or given up.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tools.pipelines.options import PipelineError
from tools.pipelines.storage import Storage

SCHEME = "s3a://"
CLOUD = "org.apache.spark.internal.io.cloud"
SETTINGS = {
    "fs.s3a.committer.name": "magic",
    "spark.sql.sources.commitProtocolClass": f"{CLOUD}.PathOutputCommitProtocol",
    "spark.sql.parquet.output.committer.class": f"{CLOUD}.BindingParquetOutputCommitter",
    "spark.sql.streaming.checkpointFileManagerClass": f"{CLOUD}.AbortableStreamBasedCheckpointFileManager",
}
UNCONDITIONAL = "_conditional"
EXISTS, CONFLICT = 412, 409
TRIES = 5


def is_object_store(place: str) -> bool:
    return place.startswith(SCHEME)


def storage_at(spark: Any, root: str) -> Storage:
    """The folder that a pipeline is told, by what the place can do."""
    return ObjectStorage(spark, root) if is_object_store(root) else Storage(spark, root)


@contextmanager
def writing_to(spark: Any, values: Mapping[str, Any]) -> Iterator[None]:
    """For as long as the block runs the session writes as an object store needs it, if that is where it writes."""
    if not stores_objects(values):
        yield
        return
    before = {name: spark.conf.get(name, None) for name in SETTINGS}
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def stores_objects(values: Mapping[str, Any]) -> bool:
    """Whether a pipeline with these options writes to an object store."""
    return any(is_object_store(values.get(name) or "") for name in ("archive", "output"))


class ObjectStorage(Storage):
    """A folder of objects. A move is a copy by the store itself, whole or not there; then the old one is deleted."""

    def __init__(self, spark: Any, root: str) -> None:
        super().__init__(spark, root)
        internals = self._files.getS3AInternals()
        self._client = internals.getAmazonS3Client("pipelines")
        self._store = self._files.createStoreContext()
        self._is_conditional = False

    def publish(self, name: str, text: str, _marker: str) -> bool:
        """Puts an object that must not exist yet; there are no drafts that would need a name."""
        self._check_conditions()
        return self._put(name, text)

    def _check_conditions(self) -> None:
        """A store that takes no notice of conditions would let one writer overwrite another."""
        if self._is_conditional:
            return
        if self._put(UNCONDITIONAL, "") and self._put(UNCONDITIONAL, " "):
            raise PipelineError(
                f"the store of {self.root} writes an object again that was to be written once (it does not know "
                "`If-None-Match` with PUT): an archive would not be safe there"
            )
        self._is_conditional = True

    def _put(self, name: str, text: str) -> bool:
        """Whether the object is there by this call. Its answer may be lost and it be tried again: what then is there
        already is ours."""
        for _ in range(TRIES):
            try:
                self._client.putObject(self._request(name, text), self._body(text))
            except Exception as error:
                status = _status(error)
                if status == EXISTS:
                    return name != UNCONDITIONAL and self.read(name) == text
                if status != CONFLICT:  # somebody writes it at this moment
                    raise
            else:
                return True
        raise PipelineError(f"{self.path(name)} cannot be written: others write it again and again")

    def _request(self, name: str, text: str) -> Any:
        model = self._jvm.software.amazon.awssdk.awscore
        only_if_new = model.AwsRequestOverrideConfiguration.builder().putHeader("If-None-Match", "*").build()
        path = self._at(name)
        # What Hadoop is told of encryption and storage classes counts here too.
        builder = self._store.getRequestFactory().newPutObjectRequestBuilder(
            self._store.pathToKey(path), None, len(text.encode()), False
        )
        return builder.overrideConfiguration(only_if_new).build()

    def _body(self, text: str) -> Any:
        return self._jvm.software.amazon.awssdk.core.sync.RequestBody.fromString(text)


def _status(error: Exception) -> int:
    """What the store answered; 0 for what was no answer of it."""
    told = getattr(error, "java_exception", None)
    try:
        return int(told.statusCode()) if told is not None else 0
    except Exception:
        return 0

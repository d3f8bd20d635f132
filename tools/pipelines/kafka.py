"""The broker as the driver sees it: topics, offsets, group offsets, by Kafka's admin client in Spark's JVM."""

from collections.abc import Iterable, Mapping
from typing import Any

from tools.pipelines.options import PipelineError
from tools.pipelines.ranges import Offsets

TIMEOUT_S = 60


class Cluster:
    """A broker by its address and whatever else its clients must be told (`security.protocol` and so on)."""

    def __init__(self, spark: Any, bootstrap: str, settings: Mapping[str, str]) -> None:
        self._spark = spark
        self._jvm = spark._jvm
        self._bootstrap = bootstrap
        self._settings = dict(settings)
        properties = self._jvm.java.util.Properties()
        for key, value in {**settings, "bootstrap.servers": bootstrap}.items():
            properties.setProperty(key, value)
        self._admin = self._jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)

    def close(self) -> None:
        self._admin.close()

    @property
    def source_options(self) -> dict[str, str]:
        """What Spark's source and sink must be told."""
        settings = {f"kafka.{key}": value for key, value in self._settings.items()}
        return {**settings, "kafka.bootstrap.servers": self._bootstrap}

    def topics(self, names: Iterable[str], pattern: str | None = None) -> list[str]:
        """The named topics, which must exist, and those whose whole name matches the pattern."""
        known = {str(name) for name in self._wait(self._admin.listTopics(self._internal_too()).names())}
        missing = sorted(set(names) - known)
        if missing:
            raise PipelineError(f"no such topic: {', '.join(missing)}")
        matcher = None if pattern is None else self._jvm.java.util.regex.Pattern.compile(pattern)
        matching = {name for name in known if matcher is not None and matcher.matcher(name).matches()}
        return sorted(set(names) | matching)

    def descriptions(self, topics: Iterable[str]) -> dict[str, tuple[str, int]]:
        """The id of each topic and how many partitions it has."""
        names = self._jvm.java.util.ArrayList()
        for topic in topics:
            names.add(topic)
        found = self._wait(self._admin.describeTopics(names).allTopicNames())
        return {str(each.name()): (str(each.topicId().toString()), each.partitions().size()) for each in found.values()}

    def offsets(self, partitions: Mapping[str, Iterable[int]], which: str, isolation: str) -> Offsets:
        """The `earliest` or `latest` offset of partitions, for a reader of that isolation level."""
        spec = getattr(self._jvm.org.apache.kafka.clients.admin.OffsetSpec, which)()
        level = getattr(self._jvm.org.apache.kafka.common.IsolationLevel, isolation.upper())
        wanted = self._jvm.java.util.HashMap()
        for topic, numbers in partitions.items():
            for number in numbers:
                wanted.put(self._partition(topic, number), spec)
        options = self._jvm.org.apache.kafka.clients.admin.ListOffsetsOptions(level)
        answer = self._wait(self._admin.listOffsets(wanted, options).all())
        found: Offsets = {}
        for place in answer:
            found.setdefault(str(place.topic()), {})[int(place.partition())] = int(answer[place].offset())
        return found

    def compacted(self, topic: str) -> bool:
        """Whether the topic lets go of older records of a key."""
        kinds = self._jvm.org.apache.kafka.common.config.ConfigResource
        place = kinds(kinds.Type.TOPIC, topic)
        asked = self._jvm.java.util.ArrayList()
        asked.add(place)
        answer = self._wait(self._admin.describeConfigs(asked).all())
        return "compact" in str(answer[place].get("cleanup.policy").value())

    def commit(self, group: str, offsets: Mapping[str, Mapping[int, int]]) -> None:
        """Commits as a group that has no members, for whoever watches lag."""
        places = self._jvm.java.util.HashMap()
        for topic, partitions in offsets.items():
            for number, offset in partitions.items():
                metadata = self._jvm.org.apache.kafka.clients.consumer.OffsetAndMetadata(offset)
                places.put(self._partition(topic, number), metadata)
        self._wait(self._admin.alterConsumerGroupOffsets(group, places).all())

    def committed(self, group: str) -> Offsets:
        """The offsets of a group."""
        answer = self._wait(self._admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata())
        found: Offsets = {}
        for place in answer:
            if answer[place] is not None:
                found.setdefault(str(place.topic()), {})[int(place.partition())] = int(answer[place].offset())
        return found

    def _internal_too(self) -> Any:
        return self._jvm.org.apache.kafka.clients.admin.ListTopicsOptions().listInternal(True)

    def _partition(self, topic: str, number: int) -> Any:
        return self._jvm.org.apache.kafka.common.TopicPartition(topic, number)

    def _wait(self, future: Any) -> Any:
        try:
            return future.get(TIMEOUT_S, self._jvm.java.util.concurrent.TimeUnit.SECONDS)
        except Exception as error:
            reason = str(getattr(error, "java_exception", error)).removeprefix(
                "java.util.concurrent.ExecutionException: "
            )
            raise PipelineError(f"the broker at {self._bootstrap} did not do it: {reason}") from None

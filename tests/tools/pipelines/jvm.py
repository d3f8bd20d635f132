"""As much of Java, Hadoop and Kafka's admin client as the pipelines' driver touches, for tests without a JVM.

The real ones are tested in compat_tests/spark.
"""

# The names are Java's.
# ruff: noqa: N802

import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any


class Map(dict[Any, Any]):
    """java.util.HashMap."""

    def put(self, key: Any, value: Any) -> None:
        self[key] = value


class List(list[Any]):
    """java.util.ArrayList."""

    def add(self, value: Any) -> None:
        self.append(value)


class HadoopPath:
    """org.apache.hadoop.fs.Path, of local files only."""

    def __init__(self, text: str) -> None:
        self.local = Path(text.removeprefix("file:"))

    def getFileSystem(self, _configuration: Any) -> "Files":
        return Files()

    def toString(self) -> str:
        return f"file:{self.local}"

    def toUri(self) -> str:
        return self.toString()

    def getName(self) -> str:
        return self.local.name

    def getParent(self) -> "HadoopPath":
        return HadoopPath(str(self.local.parent))


class Status:
    """org.apache.hadoop.fs.FileStatus."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def getPath(self) -> HadoopPath:
        return HadoopPath(str(self._path))

    def getLen(self) -> int:
        return self._path.stat().st_size


class Remaining:
    """org.apache.hadoop.fs.RemoteIterator."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths

    def hasNext(self) -> bool:
        return bool(self._paths)

    def next(self) -> Status:
        return Status(self._paths.pop(0))


class Stream:
    """An output stream whose file is there only once it is closed, as with object stores."""

    def __init__(self, path: Path) -> None:
        self._path, self._content = path, b""

    def write(self, content: bytearray) -> None:
        self._content += bytes(content)

    def hsync(self) -> None:
        pass

    def close(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_bytes(self._content)


class Files:
    """org.apache.hadoop.fs.FileSystem, and FileContext for its renames."""

    def makeQualified(self, path: HadoopPath) -> HadoopPath:
        return HadoopPath(str(path.local.absolute()))

    def exists(self, path: HadoopPath) -> bool:
        return path.local.exists()

    def listStatus(self, path: HadoopPath) -> list[Status]:
        return [Status(each) for each in path.local.iterdir()]

    def listFiles(self, path: HadoopPath, _recursive: bool) -> Remaining:
        return Remaining([each for each in path.local.rglob("*") if each.is_file()])

    def open(self, path: HadoopPath) -> Any:
        return path.local.open("rb")

    def create(self, path: HadoopPath, _overwrite: bool) -> Stream:
        return Stream(path.local)

    def mkdirs(self, path: HadoopPath) -> None:
        path.local.mkdir(parents=True, exist_ok=True)

    def delete(self, path: HadoopPath, _recursive: bool) -> None:
        if path.local.is_dir():
            shutil.rmtree(path.local)
        else:
            path.local.unlink(missing_ok=True)

    def rename(self, old: HadoopPath, new: HadoopPath, options: list[Any]) -> None:
        if new.local.exists() and "OVERWRITE" not in options:
            raise OSError(f"org.apache.hadoop.fs.FileAlreadyExistsException: {new.local}")
        old.local.replace(new.local)


def session(admin: Any = None) -> Any:
    """A Spark session with such a JVM; `admin` is what AdminClient.create gives."""
    created: list[dict[str, str]] = []

    class Properties(dict[str, str]):
        def setProperty(self, key: str, value: str) -> None:
            self[key] = value

    def create(properties: Properties) -> Any:
        created.append(dict(properties))
        return admin

    java = SimpleNamespace(
        util=SimpleNamespace(
            Properties=Properties,
            HashMap=Map,
            ArrayList=List,
            concurrent=SimpleNamespace(TimeUnit=SimpleNamespace(SECONDS="s")),
            regex=SimpleNamespace(Pattern=SimpleNamespace(compile=_pattern)),
        )
    )
    clients = SimpleNamespace(
        admin=SimpleNamespace(
            AdminClient=SimpleNamespace(create=create),
            OffsetSpec=SimpleNamespace(earliest=lambda: "earliest", latest=lambda: "latest"),
            ListOffsetsOptions=lambda level: level,
            ListTopicsOptions=lambda: SimpleNamespace(listInternal=lambda internal: internal),
        ),
        consumer=SimpleNamespace(OffsetAndMetadata=lambda offset: SimpleNamespace(offset=lambda: offset)),
    )
    common = SimpleNamespace(
        IsolationLevel=SimpleNamespace(READ_COMMITTED="committed", READ_UNCOMMITTED="uncommitted"),
        TopicPartition=Place,
        config=SimpleNamespace(ConfigResource=Resource),
    )
    hadoop = SimpleNamespace(
        fs=SimpleNamespace(
            Path=HadoopPath,
            FileContext=SimpleNamespace(getFileContext=lambda _uri, _configuration: Files()),
            Options=SimpleNamespace(Rename=SimpleNamespace(OVERWRITE="OVERWRITE")),
        )
    )
    streams = SimpleNamespace(IOUtils=SimpleNamespace(toString=lambda stream, coding: stream.read().decode(coding)))
    apache = SimpleNamespace(
        kafka=SimpleNamespace(clients=clients, common=common), hadoop=hadoop, commons=SimpleNamespace(io=streams)
    )
    return SimpleNamespace(
        _jvm=SimpleNamespace(java=java, org=SimpleNamespace(apache=apache)),
        _jsc=SimpleNamespace(hadoopConfiguration=lambda: None),
        sparkContext=SimpleNamespace(_gateway=SimpleNamespace(new_array=lambda _kind, size: [None] * size)),
        created=created,
    )


class Place(tuple[str, int]):
    """org.apache.kafka.common.TopicPartition."""

    def __new__(cls, topic: str, partition: int) -> "Place":
        return super().__new__(cls, (topic, partition))

    def topic(self) -> str:
        return self[0]

    def partition(self) -> int:
        return self[1]


class Resource(tuple[str, str]):
    """org.apache.kafka.common.config.ConfigResource."""

    Type = SimpleNamespace(TOPIC="topic")

    def __new__(cls, kind: str, name: str) -> "Resource":
        return super().__new__(cls, (kind, name))


class Future:
    """org.apache.kafka.common.KafkaFuture."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def get(self, _timeout: float, _unit: str) -> Any:
        if isinstance(self._value, Exception):
            raise self._value
        return self._value


def _pattern(text: str) -> Any:
    compiled = re.compile(text)
    return SimpleNamespace(matcher=lambda name: SimpleNamespace(matches=lambda: compiled.fullmatch(name) is not None))

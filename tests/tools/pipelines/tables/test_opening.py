"""Which kind of archive the options name."""

from pathlib import Path
from typing import Any

import pytest

from tests.tools.pipelines import jvm
from tools.pipelines import PIPELINES
from tools.pipelines.archive.parquet import ParquetArchive
from tools.pipelines.options import PipelineError, UsageError
from tools.pipelines.running import needs_of
from tools.pipelines.storage import Storage
from tools.pipelines.tables.opening import archive_of, check


def values(**more: Any) -> dict[str, Any]:
    return PIPELINES["archive"].values({"archive": "lake", "topics": ["orders"], **more})


def test_what_cannot_be_meant_is_told_before_spark_starts() -> None:
    with pytest.raises(UsageError, match="--catalog goes with --format iceberg"):
        check(values(catalog="lake.topics"))
    with pytest.raises(UsageError, match="not safe on an object store"):
        check(values(archive="s3a://lake", format="iceberg"))
    check(values(archive="s3a://lake", format="iceberg", catalog="lake.topics"))
    with pytest.raises(UsageError, match="parquet or delta or iceberg"):
        values(format="orc")


def test_spark_has_what_tables_need() -> None:
    assert needs_of(values()) == []
    assert needs_of(values(archive="s3a://lake", format="delta")) == ["s3", "delta"]


def test_an_archive_stays_what_it_is(tmp_path: Path) -> None:
    session, here = jvm.session(), str(tmp_path / "lake")
    assert isinstance(archive_of(session, values(archive=here), make=True), ParquetArchive)
    Storage(session, here).write("_format.json", '{"format": "delta", "catalog": null}')
    with pytest.raises(PipelineError, match="is kept as delta, not as iceberg"):
        archive_of(session, values(archive=here, format="iceberg"))
    with pytest.raises(PipelineError, match="is kept as delta, not as parquet"):
        archive_of(session, values(archive=here))

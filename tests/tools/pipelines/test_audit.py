"""How an audit tells what it found."""

from tools.pipelines.audit import Report, Verdict


def test_a_partition_that_is_the_same() -> None:
    verdict = Verdict("orders", 0, (0, 10), (2, 10), rows=10, behind=3)
    assert str(verdict) == "orders-0: 10 records, compared from offset 2 to 9, 3 not archived yet: the same"
    assert Report([verdict], []).same


def test_a_partition_that_the_topic_no_longer_has() -> None:
    verdict = Verdict("orders", 0, (0, 10), (10, 10), rows=10)
    assert str(verdict) == "orders-0: 10 records, of which the topic has none any more: the same"


def test_faults_with_samples() -> None:
    verdict = Verdict("orders", 1, (0, 10), (0, 10), rows=8, faults={"missing": 2, "altered": 1})
    verdict.samples = {"missing": [3], "altered": [7]}
    assert str(verdict).endswith("to 9: 2 missing (offset 3, ...), 1 altered (offset 7)")
    assert not Report([verdict], []).same


def test_files_alone_are_a_difference() -> None:
    assert not Report([], ["a.parquet: is gone"]).same

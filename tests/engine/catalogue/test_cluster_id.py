"""The cluster's id is made once."""

import os

from engine.catalogue.cluster_id import cluster_id
from engine.catalogue.memory import MemoryCatalogue


def test_the_id_is_made_once_and_kept() -> None:
    catalogue = MemoryCatalogue()
    made = cluster_id(catalogue, os.urandom)
    assert len(made) == 22
    assert cluster_id(catalogue, os.urandom) == made


def test_two_clusters_have_two_ids() -> None:
    assert cluster_id(MemoryCatalogue(), os.urandom) != cluster_id(MemoryCatalogue(), os.urandom)

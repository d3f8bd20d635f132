"""The cluster's id: made once, at the first start on an empty catalogue."""

from engine.catalogue.catalogue import Catalogue, CatalogueConflict, Commit, Compare, Put
from engine.catalogue.records import CLUSTER_ID
from engine.ids import RandomBytes, id_text, new_id


def cluster_id(catalogue: Catalogue, random_bytes: RandomBytes) -> str:
    """The id that the catalogue holds, or a new one, now in the catalogue."""
    while (entry := catalogue.get(CLUSTER_ID)) is None:
        value = id_text(new_id(random_bytes)).encode()
        try:
            catalogue.commit(Commit((Compare(CLUSTER_ID, 0),), (Put(CLUSTER_ID, value),)))
        except CatalogueConflict:
            continue
    return entry.value.decode()

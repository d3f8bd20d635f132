"""The names of logs on the way between nodes."""

from coordinators.replication.ports import stage_id


def test_a_stage_has_an_id_of_its_own_from_which_its_topics_can_be_told() -> None:
    topic_id = bytes(range(16))
    assert stage_id(topic_id) != topic_id
    assert stage_id(stage_id(topic_id)) == topic_id

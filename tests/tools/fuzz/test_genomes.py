"""Hostile requests are well-formed, have the size that was asked for, and follow from their seed."""

import random

import pytest

from tools.fuzz.cost.genomes import TAGS, Builder, Genome, fillable, mutated, systematic
from tools.fuzz.cost.vocabulary import TOPIC, Vocabulary
from wire.kafka.apis import registered
from wire.kafka.codec import WireError, decode_request_header, request_decoder

VOCABULARY = Vocabulary(b"t" * 16)
NEWEST = [(api.key, api.last_version) for api in registered().values()]
PRODUCE, METADATA, DESCRIBE_GROUPS = 0, 3, 15
SIZE = 20_000
SMALL = 2_000


@pytest.mark.parametrize(("api_key", "version"), [newest for newest in NEWEST if newest[0] != PRODUCE])
def test_every_request_is_one_that_the_broker_decodes_unless_it_is_full_of_tags(api_key: int, version: int) -> None:
    builder = Builder(api_key, version, VOCABULARY)
    chance = random.Random(1)
    genomes = systematic(builder.schema)
    made = [*genomes, *(mutated(chance.choice(genomes), builder.schema, chance) for _ in range(10))]
    for genome in (one for one in made if one.filled != TAGS):
        for request in builder.frames(genome, SMALL)[:1]:
            key, asked, _, _, position = decode_request_header(request[4:])
            assert (key, asked) == (api_key, version)
            request_decoder(api_key, version)(request[4:], position)


def test_the_filled_array_takes_the_room() -> None:
    (request,) = Builder(DESCRIBE_GROUPS, 5, VOCABULARY).frames(Genome("groups", {}, {"groups": "distinct"}), SIZE)
    assert SIZE * 0.8 < len(request) <= SIZE + 100
    message = request_decoder(DESCRIBE_GROUPS, 5)(request[4:], decode_request_header(request[4:])[4])
    assert len(set(message.groups)) > 2000


def test_what_repeats_itself_names_what_exists() -> None:
    (request,) = Builder(METADATA, 9, VOCABULARY).frames(Genome("topics", {}, {}), SIZE)
    message = request_decoder(METADATA, 9)(request[4:], decode_request_header(request[4:])[4])
    assert {topic.name for topic in message.topics} == {TOPIC}


def test_the_room_may_be_taken_by_many_small_requests() -> None:
    frames = Builder(METADATA, 9, VOCABULARY).frames(Genome("", {}, {}, pieces=64), SIZE)
    assert len(frames) == 64


def test_tags_that_nobody_knows_fill_a_header() -> None:
    builder = Builder(METADATA, 9, VOCABULARY)
    assert TAGS in fillable(builder.schema)
    (request,) = builder.frames(Genome(TAGS, {}, {}), SIZE)
    assert len(request) > SIZE
    with pytest.raises(WireError, match="tag"):
        decode_request_header(request[4:])


def test_the_same_seed_mutates_the_same() -> None:
    schema = Builder(METADATA, 9, VOCABULARY).schema
    genomes = systematic(schema)
    ways = [[mutated(genomes[0], schema, chance) for _ in range(20)] for chance in map(random.Random, (7, 7))]
    assert ways[0] == ways[1]
    assert len(set(map(str, ways[0]))) > 5

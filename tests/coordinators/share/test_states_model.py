"""Random requests, restarts and cuts of power against a model that knows every offset by itself."""

import random

import pytest

from coordinators.share.machine import ShareStateSettings
from coordinators.share.ports import DeliveryState, ShareChange, SharePlace, ShareState, StateBatch
from engine.errors import FencedLeaderEpoch, FencedStateEpoch
from tests.coordinators.share.shard import TOPIC, StateShard

STATES = (DeliveryState.AVAILABLE, DeliveryState.ACKNOWLEDGED, DeliveryState.ARCHIVED)
PLACES = tuple(SharePlace("mail", TOPIC, number) for number in range(3))

Offsets = dict[int, tuple[DeliveryState, int]]


class ModelPlace:
    """What a share partition's state should be."""

    def __init__(self) -> None:
        self.exists = self.is_gone = False
        self.state_epoch = self.leader_epoch = 0
        self.start = -1
        self.offsets: Offsets = {}

    def check(self, found: ShareState) -> None:
        assert (found.state_epoch, found.leader_epoch) == (self.state_epoch, self.leader_epoch)
        assert found.start_offset == self.start
        said = {
            offset: (batch.state, batch.delivery_count)
            for batch in found.batches
            for offset in range(batch.first_offset, batch.last_offset + 1)
        }
        assert said == self.offsets


class Run:
    """One run from a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.shard = StateShard(ShareStateSettings(updates_per_snapshot=self.chance.choice([0, 1, 5]), max_places=9))
        self.model = {place: ModelPlace() for place in PLACES}

    def step(self) -> None:
        place = self.chance.choice(PLACES)
        steps = (self.write,) * 12 + (self.read,) * 3 + (self.initialize, self.delete, self.wait, self.restart)
        self.chance.choice(steps)(place, self.model[place])

    def write(self, place: SharePlace, model: ModelPlace) -> None:
        state_epoch = model.state_epoch + self.chance.choice([0, 0, 0, 0, -1, 1])
        leader_epoch = model.leader_epoch + self.chance.choice([0, 0, 0, 0, -1, 1])
        start = self.chance.choice([-1, max(model.start, 0) + self.chance.randrange(4)])
        batches = []
        offset = max(model.start, start, 0)
        for _ in range(self.chance.randrange(5)):
            first = offset + self.chance.randrange(3)
            offset = first + self.chance.randrange(4)
            batches.append(StateBatch(first, offset, self.chance.choice(STATES), self.chance.randrange(3)))
            offset += 1
        change = ShareChange(start, len(batches), tuple(batches))
        if state_epoch < 0 or leader_epoch < 0:
            return
        answer = self.shard.write(place, change, state_epoch, leader_epoch)
        if not model.exists and state_epoch > 0:
            assert isinstance(answer, FencedStateEpoch)
        elif model.is_gone and isinstance(answer, FencedStateEpoch):
            assert not model.exists, "that it is gone is known as long as it is remembered"
        elif model.exists and state_epoch < model.state_epoch:
            assert isinstance(answer, FencedStateEpoch)
        elif model.exists and leader_epoch < model.leader_epoch:
            assert isinstance(answer, FencedLeaderEpoch)
        else:
            assert answer is None
            model.exists, model.is_gone = True, False
            model.state_epoch, model.leader_epoch = state_epoch, leader_epoch
            model.start = max(model.start, start)
            for batch in batches:
                for each in range(batch.first_offset, batch.last_offset + 1):
                    model.offsets[each] = batch.state, batch.delivery_count
            model.offsets = {each: said for each, said in model.offsets.items() if each >= model.start}

    def read(self, place: SharePlace, model: ModelPlace) -> None:
        leader_epoch = model.leader_epoch + self.chance.choice([0, 1, -1])
        answer = self.shard.read(place, leader_epoch)
        if -1 < leader_epoch < model.leader_epoch:
            assert isinstance(answer, FencedLeaderEpoch)
            return
        if leader_epoch > model.leader_epoch:
            model.exists, model.leader_epoch = True, leader_epoch
        model.check(answer)

    def initialize(self, place: SharePlace, model: ModelPlace) -> None:
        start = self.chance.choice([-1, self.chance.randrange(20)])
        epoch = model.state_epoch + 1
        assert self.shard.initialize(place, epoch, start) is None
        model.is_gone = False
        model.exists, model.state_epoch, model.start, model.offsets = True, epoch, start, {}

    def delete(self, place: SharePlace, _: ModelPlace) -> None:
        was_there = self.model[place].exists or self.model[place].is_gone
        assert self.shard.delete(place) is None
        self.model[place] = ModelPlace()
        self.model[place].is_gone = was_there

    def wait(self, _place: SharePlace, _model: ModelPlace) -> None:
        self.shard.advance(self.shard.settings.cold_interval_ms)

    def restart(self, _place: SharePlace, _model: ModelPlace) -> None:
        """What was live is what a fresh replay makes; a cut of power changes nothing that was answered."""
        before = self.shard.hard_state()
        if self.chance.random() < 0.5:
            self.shard.files.crash(self.chance)
        self.shard.open()
        assert self.shard.hard_state() == before

    def check(self) -> None:
        for place, model in self.model.items():
            model.check(self.shard.read(place))


@pytest.mark.parametrize("seed", range(40))
def test_states_are_what_was_written_whatever_happens(seed: int) -> None:
    run = Run(seed)
    for _ in range(120):
        run.step()
    run.check()
    run.restart(PLACES[0], run.model[PLACES[0]])
    run.check()

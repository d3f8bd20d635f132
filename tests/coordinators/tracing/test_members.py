"""Which group a fetching client belongs to."""

from attrs import define, field

from coordinators.tracing.members import GroupMembers, MemberTable
from engine.clock import ManualClock


@define(eq=False)
class Groups:
    """Groups by name: the topics they read, their members."""

    clock: ManualClock = field(factory=ManualClock)
    groups: dict[str, tuple[set[str], list[tuple[str, str]]]] = field(factory=dict)
    reads: int = 0
    takes_s: float = 0.0

    def read(self) -> GroupMembers:
        self.reads += 1
        self.clock.seconds += self.takes_s
        return [(name, topics.__contains__, clients) for name, (topics, clients) in self.groups.items()]

    def table(self) -> MemberTable:
        return MemberTable(self.clock, self.read)


def test_by_client_id_and_address() -> None:
    groups = Groups(groups={"kitchen": ({"orders"}, [("cook", "10.0.0.7")])})
    table = groups.table()
    assert table.group_of("cook", "10.0.0.7", "orders") == "kitchen"
    assert table.group_of("cook", "10.0.0.8", "orders") is None
    assert table.group_of("waiter", "10.0.0.7", "orders") is None
    assert table.group_of("cook", "10.0.0.7", "drinks") is None


def test_among_several_groups_the_one_that_reads_the_topic() -> None:
    same = [("rdkafka", "10.0.0.7")]
    groups = Groups(groups={"kitchen": ({"orders", "menu"}, same), "bar": ({"drinks", "menu"}, same)})
    table = groups.table()
    assert table.group_of("rdkafka", "10.0.0.7", "orders") == "kitchen"
    assert table.group_of("rdkafka", "10.0.0.7", "drinks") == "bar"
    assert table.group_of("rdkafka", "10.0.0.7", "menu") is None, "it may be either"


def test_a_member_that_is_new_is_found_and_one_that_left_is_forgotten() -> None:
    groups = Groups()
    table = groups.table()
    assert table.group_of("cook", "10.0.0.7", "orders") is None
    groups.groups["kitchen"] = ({"orders"}, [("cook", "10.0.0.7")])
    groups.clock.seconds += 0.01
    assert table.group_of("cook", "10.0.0.7", "orders") == "kitchen"
    del groups.groups["kitchen"]
    groups.clock.seconds += 6
    assert table.group_of("cook", "10.0.0.7", "orders") is None


def test_a_client_that_went_to_another_group() -> None:
    old = {"orders"}
    groups = Groups(groups={"kitchen": (old, [("cook", "10.0.0.7")])})
    table = groups.table()
    assert table.group_of("cook", "10.0.0.7", "orders") == "kitchen"
    old.clear()
    groups.groups["bar"] = ({"orders"}, [("cook", "10.0.0.7")])
    groups.clock.seconds += 0.01
    assert table.group_of("cook", "10.0.0.7", "orders") == "bar"


def test_strangers_do_not_keep_the_broker_busy() -> None:
    groups = Groups(takes_s=0.1)
    table = groups.table()
    for _ in range(1000):
        table.group_of("stranger", "10.0.0.7", "orders")
        groups.clock.seconds += 0.1
    assert groups.reads <= 11, "at most a hundredth of the time"


def test_no_group_is_named_where_others_read_under_the_same_client_id() -> None:
    groups = Groups(groups={"kitchen": ({"orders"}, [("rdkafka", "10.0.0.7")])})
    table = groups.table()
    table.begins_to_read("rdkafka", "10.0.0.7")
    assert table.group_of("rdkafka", "10.0.0.7", "orders") == "kitchen"
    stranger = table.begins_to_read("rdkafka", "10.0.0.7")
    assert table.group_of("rdkafka", "10.0.0.7", "orders") is None, "it may be the one without a group"
    groups.groups["kitchen"][1].append(("rdkafka", "10.0.0.7"))
    groups.clock.seconds += 0.01
    assert table.group_of("rdkafka", "10.0.0.7", "orders") == "kitchen", "as many read as are its members"
    groups.groups["kitchen"][1].pop()
    groups.clock.seconds += 6
    assert table.group_of("rdkafka", "10.0.0.7", "orders") is None
    table.stops_reading(stranger)
    assert table.group_of("rdkafka", "10.0.0.7", "orders") == "kitchen"

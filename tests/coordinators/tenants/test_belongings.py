"""What a tenant has, and that nothing else is taken for it."""

import pytest

from coordinators.access.acls import Operation, PatternType, Permission, ResourceKind
from coordinators.access.callers import Principal
from coordinators.access.quotas.entities import CLIENT_ID, USER, Entity
from coordinators.access.scram import SCRAM_SHA_256, credential
from coordinators.schemas.errors import ReferenceExists
from coordinators.schemas.names import split
from coordinators.schemas.rows import ContextRow, Reference, SchemaContent, SchemaRow, SettingsRow, SubjectRow, Version
from coordinators.tenants.belongings import Belongings, BelongingsReader
from coordinators.tenants.rows import TenantRecord
from engine.catalogue.catalogue import CatalogueConflict, Commit, Put
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.records import AclRecord, encode, group_configs_key
from engine.catalogue.user_records import UserRecord

ACME = TenantRecord("acme", ("User:acme.*", "User:ann", "User:both", "User:root"))
KEPT = credential(SCRAM_SHA_256, b"salt", b"x" * 32, 4096)


def rule(kind: ResourceKind, name: str, principal: str, pattern: PatternType = PatternType.LITERAL) -> AclRecord:
    return AclRecord(int(kind), name, int(pattern), principal, "*", int(Operation.READ), int(Permission.ALLOW))


def schema(context: str, *references: Reference) -> SchemaRow:
    return SchemaRow(context, 1, SchemaContent("AVRO", '"string"', references), "guid", "guid")


ITS_RULES = (
    rule(ResourceKind.TOPIC, "acme.orders", "User:guest"),
    rule(ResourceKind.GROUP, "acme.", "User:acme.bob", PatternType.PREFIXED),
    rule(ResourceKind.SUBJECT, ":.acme:orders-value", "User:ann"),
    rule(ResourceKind.CLUSTER, "acme.kafka-cluster", "User:both"),
    rule(ResourceKind.TOPIC, "public", "User:ann"),
)
OTHER_RULES = (
    rule(ResourceKind.TOPIC, "acme", "User:guest", PatternType.PREFIXED),
    rule(ResourceKind.TOPIC, "acme-2.orders", "User:guest"),
    rule(ResourceKind.TOPIC, "public", "User:both"),
    rule(ResourceKind.CLUSTER, "kafka-cluster", "User:root"),
)
ITS_QUOTAS = (Entity(((USER, "acme.bob"),)), Entity(((USER, "ann"), (CLIENT_ID, None))))
OTHER_QUOTAS = (Entity(((USER, None),)), Entity(((USER, "both"),)), Entity(((CLIENT_ID, "acme.bob"),)))
ITS_SCHEMAS = (
    ContextRow(".acme", 2),
    schema(".acme"),
    SubjectRow(split(":.acme:orders-value"), (Version(1, 1),)),
    SettingsRow(split(":.acme:"), mode="READONLY"),
)
OTHER_SCHEMAS = (ContextRow(".acme-2", 2), schema(".acme-2"), SubjectRow(split(":.acme-2:x"), (Version(1, 1),)))


@pytest.fixture
def catalogue() -> MemoryCatalogue:
    catalogue = MemoryCatalogue()
    users = [UserRecord(name, {SCRAM_SHA_256.name: KEPT}) for name in ("acme.bob", "ann", "both", "guest", "root")]
    rows = (*ITS_RULES, *OTHER_RULES, *ITS_SCHEMAS, *OTHER_SCHEMAS, *users)
    puts = [Put(each.key, each.encode()) for each in rows]
    puts += [Put(each.key, encode({"producer_byte_rate": 1.0})) for each in (*ITS_QUOTAS, *OTHER_QUOTAS)]
    puts += [Put(group_configs_key(name), encode({})) for name in ("acme.workers", "acmeworkers")]
    catalogue.commit(Commit(changes=tuple(puts)))
    return catalogue


def read(catalogue: MemoryCatalogue) -> Belongings:
    def is_sole(principal: Principal) -> bool:
        return principal.name not in ("both", "root")

    reader = BelongingsReader(lambda prefix: catalogue.entries(prefix)[1], is_sole)
    return reader.read(ACME, ("zulu.orders", "acme.orders", "acmeorders"))


def test_what_is_its_own_is_found_and_nothing_else(catalogue: MemoryCatalogue) -> None:
    found = read(catalogue)
    assert found.topics == ("acme.orders",)
    assert found.users == ("acme.bob", "ann")
    assert set(found.rules) == {each.key for each in ITS_RULES}
    assert set(found.quotas) == {each.key for each in ITS_QUOTAS}
    assert found.subjects == (":.acme:orders-value",)
    assert found.groups == (group_configs_key("acme.workers"),)


def test_all_of_it_goes_and_the_rest_stays(catalogue: MemoryCatalogue) -> None:
    catalogue.commit(read(catalogue).without_them())
    left = {each.key for each in catalogue.entries("")[1]}
    assert left.isdisjoint(each.key for each in (*ITS_RULES, *ITS_QUOTAS, *ITS_SCHEMAS))
    assert left.issuperset(each.key for each in (*OTHER_RULES, *OTHER_QUOTAS, *OTHER_SCHEMAS))
    assert read(catalogue) == Belongings(topics=("acme.orders",))


def test_whoever_registers_a_schema_meanwhile_is_not_overlooked(catalogue: MemoryCatalogue) -> None:
    planned = read(catalogue).without_them()
    context = ContextRow(".acme", 3)
    catalogue.commit(Commit(changes=(Put(context.key, context.encode()),)))
    with pytest.raises(CatalogueConflict):
        catalogue.commit(planned)


def test_schemas_that_others_refer_to_stay(catalogue: MemoryCatalogue) -> None:
    other = schema(".acme-2", Reference("orders", ":.acme:orders-value", 1))
    catalogue.commit(Commit(changes=(Put(other.key, other.encode()),)))
    with pytest.raises(ReferenceExists, match=r"of the context .acme-2 refers to :.acme:orders-value"):
        read(catalogue)

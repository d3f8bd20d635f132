"""Puts together who may do what: the rules, the authorizer, the audit log."""

import os

from coordinators.access.access import AccessControl
from coordinators.access.administration import AclAdministration
from coordinators.access.audit import Audit, AuditSink
from coordinators.access.audit_file import AuditFile
from coordinators.access.audit_topic import AuditTopic
from coordinators.access.authorizer import Authorizer, Rules
from coordinators.access.config import super_users
from coordinators.cluster.controller import ClusterController
from coordinators.records.publishing import Publishing
from coordinators.waiting import in_worker
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.timers import Timers
from engine.workers import Workers
from wire.services import Services


def is_enforced(settings: BrokerSettings) -> bool:
    """Whether callers are asked for rights."""
    return settings.flag("authorizer.enable") or bool(settings["authorizer.class.name"])


async def open_rights(
    controller: ClusterController, clock: Clock, timers: Timers, workers: Workers, data_dir: str
) -> tuple[AccessControl, AclAdministration]:
    """The services of rights, as the configuration wants them; the rules are known before anybody is served."""
    settings, replicas = controller.topics.settings, controller.replicas
    most, most_of_one = (settings.integer(f"audit.max.per.second{key}") for key in ("", ".per.principal"))
    audit = Audit(clock, timers, most, _sinks(settings, workers, data_dir), most_of_one)
    authorizer = None
    if is_enforced(settings):
        rules = await in_worker(workers, Rules.load, replicas.catalogue)
        replicas.row_followers.append(rules)
        without_rules = settings.flag("allow.everyone.if.no.acl.found")
        authorizer = Authorizer(rules, super_users(settings.text("super.users")), without_rules)
    access = AccessControl(authorizer, audit, controller.topics.view)
    return access, AclAdministration(access, controller)


def _sinks(settings: BrokerSettings, workers: Workers, data_dir: str) -> list[AuditSink]:
    path = settings.text("audit.file.path")
    if not path:
        return []
    most, kept = settings.integer("audit.file.max.bytes"), settings.integer("audit.file.max.count") - 1
    return [AuditFile(os.path.join(data_dir, path), workers, most, kept)]


def publish_audit(services: Services) -> None:
    """Have the lines of the audit log written to their topic, if that is wanted."""
    controller, access = services[ClusterController], services[AccessControl]
    settings = controller.topics.settings
    if settings.flag("audit.topic.enable"):
        retention_ms = settings.integer("audit.topic.retention.ms")
        clock: Clock = services[Clock]  # type: ignore[type-abstract]
        access.audit.sinks.append(AuditTopic(controller, clock, services[Publishing], retention_ms))

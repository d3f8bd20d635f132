"""Puts together who may do what: the rules, the authorizer, the audit log."""

import os

from coordinators.access.access import AccessControl
from coordinators.access.administration import AclAdministration
from coordinators.access.audit import Audit, AuditSink
from coordinators.access.audit_file import AuditFile
from coordinators.access.authorizer import Authorizer, Rules
from coordinators.access.config import super_users
from coordinators.cluster.controller import ClusterController
from coordinators.waiting import in_worker
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.timers import Timers
from engine.workers import Workers


def is_enforced(settings: BrokerSettings) -> bool:
    """Whether callers are asked for rights."""
    return settings.flag("authorizer.enable") or bool(settings["authorizer.class.name"])


async def open_rights(
    controller: ClusterController, clock: Clock, timers: Timers, workers: Workers, data_dir: str
) -> tuple[AccessControl, AclAdministration]:
    """The services of rights, as the configuration wants them; the rules are known before anybody is served."""
    settings, replicas = controller.topics.settings, controller.replicas
    audit = Audit(clock, timers, settings.integer("audit.max.per.second"), _sinks(settings, workers, data_dir))
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
    return [AuditFile(os.path.join(data_dir, path), workers)] if path else []

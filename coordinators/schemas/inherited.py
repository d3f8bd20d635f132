"""Metadata and rules that a scope's config adds to whatever is registered: by default, where the schema has none of
that name itself, and as an override, which goes before what the schema has itself."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve

from coordinators.schemas.names import Subject
from coordinators.schemas.registry import Registry
from coordinators.schemas.rows import Members, SchemaContent

Merge = Callable[[Members | None, Members | None], Members | None]


def with_inherited(registry: Registry, subject: Subject, content: SchemaContent) -> SchemaContent:
    """The content with what holds for the subject."""
    metadata = _inherited(registry, subject, "Metadata", content.metadata, merged_metadata)
    rules = _inherited(registry, subject, "RuleSet", content.rule_set, merged_rules)
    return evolve(content, metadata=metadata, rule_set=rules)


def _inherited(registry: Registry, subject: Subject, name: str, own: Members | None, merge: Merge) -> Members | None:
    default, override = (registry.setting(subject, f"{kind}{name}") for kind in ("default", "override"))
    found = merge(default if isinstance(default, Mapping) else None, own)
    return merge(found, override if isinstance(override, Mapping) else None)


def merged_metadata(before: Members | None, after: Members | None) -> Members | None:
    """Tags, properties and names of sensitive ones of both; of a property, or the tags of a path, that both have, the
    later."""
    if before is None or after is None:
        return after if before is None else before
    found: dict[str, Any] = {**before, **after}
    for member in ("tags", "properties"):
        both = {**(before.get(member) or {}), **(after.get(member) or {})}
        if both:
            found[member] = both
    sensitive = sorted({*(before.get("sensitive") or ()), *(after.get("sensitive") or ())})
    return {**found, "sensitive": sensitive} if sensitive else found


def merged_rules(before: Members | None, after: Members | None) -> Members | None:
    """The rules of both, the later ones last; of two of one name the later."""
    if before is None or after is None:
        return after if before is None else before
    found: dict[str, Any] = {**before, **after}
    for kind in before.keys() & after.keys():
        earlier, later = before[kind] or (), after[kind] or ()
        if isinstance(earlier, list | tuple) and isinstance(later, list | tuple):
            named = {rule.get("name") for rule in later}
            found[kind] = [*(rule for rule in earlier if rule.get("name") not in named), *later]
    return found

"""Configurations whose dead letters could never be written: refused when they are set, not found out when one expires.

Either side may be the one that is set: the topic whose records expire, or the topic that its letters go to.
"""

from collections.abc import Iterable

from attrs import define, field

from coordinators.topic_names import INTERNAL_TOPICS, NAME_LENGTH_MAX, collision_key
from coordinators.topic_view import Topic, TopicUpdate, TopicView
from engine.config.resolve import BrokerSettings
from engine.errors import InvalidConfig, InvalidTopic

_KEYS = ("expiry.policy", "dead.letter.topic", "cleanup.policy")
ENABLE = "errors.deadletterqueue.group.enable"
PREFIX = "errors.deadletterqueue.topic.name.prefix"
CREATE = "errors.deadletterqueue.auto.create.topics.enable"
NAMED_BY_GROUP = "errors.deadletterqueue.topic.name"


@define
class LetterRules:
    """Against the topics there are, and those that the same request makes or alters."""

    view: TopicView
    _planned: TopicView = field(factory=TopicView)

    def plan(self, topic: Topic) -> None:
        """The request makes it so, or alters it to this."""
        self._planned.apply(TopicUpdate(self._planned.by_name.get(topic.name), topic))

    def check(self, topic: Topic, before: Topic | None = None) -> None:
        """Raise unless letters can go from this topic and to it. What an alteration leaves as it was is not asked."""
        if before is None or any(before.config[key] != topic.config[key] for key in _KEYS):
            self._check_target(topic)
            self._check_senders(topic)

    def _check_target(self, topic: Topic) -> None:
        """Where its own letters go."""
        named = topic.config.text("dead.letter.topic")
        target = named or topic.dead_letter_topic
        if target is None or topic.internal:
            return
        if len(target) > NAME_LENGTH_MAX:
            raise InvalidConfig(
                f"expiry.policy=dlq: the dead-letter topic {target!r} of {topic.name!r} would have a name of "
                f"{len(target)} characters, and {NAME_LENGTH_MAX} are the most; name one by dead.letter.topic"
            )
        if target == topic.name:
            raise InvalidConfig(f"dead.letter.topic: {target!r} cannot be its own dead-letter topic")
        if target in INTERNAL_TOPICS:
            raise InvalidConfig(f"dead.letter.topic: {target!r} is the broker's own topic")
        tenants = self.view.tenants
        if tenants.owner(target) is not tenants.owner(topic.name):
            raise InvalidConfig(f"dead.letter.topic: {target!r} is not within the namespace of {topic.name!r}")
        self._check_collision(topic, target)
        existing = self._planned.by_name.get(target) or self.view.by_name.get(target)
        if existing is not None and existing.compacted:
            raise _needs_keys(target, topic.name)

    def _check_collision(self, topic: Topic, target: str) -> None:
        if target in self.view.by_name or target in self._planned.by_name:
            return
        itself = topic.name if collision_key(topic.name) == collision_key(target) else None
        other = self.view.colliding(target) or itself or self._planned.colliding(target)
        if other is not None:
            raise InvalidConfig(
                f"the dead-letter topic {target!r} of {topic.name!r} cannot be made: its name collides with the "
                f"topic {other!r}; name another by dead.letter.topic"
            )

    def _check_senders(self, topic: Topic) -> None:
        """Whose letters come to it, or would if its name did not collide with that of their topic."""
        for sender, target in self._senders(topic):
            if target != topic.name:
                if target not in self.view.by_name:
                    raise InvalidTopic(
                        f"Topic '{topic.name}' collides with '{target}', the dead-letter topic of '{sender}'"
                    )
            elif topic.compacted:
                raise _needs_keys(target, sender)

    def _senders(self, topic: Topic) -> Iterable[tuple[str, str]]:
        planned = self._planned
        found = {name: target for name, target in self.view.senders(topic.name).items() if name not in planned.by_name}
        found.update(planned.senders(topic.name))
        found.pop(topic.name, None)
        return found.items()


def check_group_target(name: str, topic: Topic | None, settings: BrokerSettings) -> None:
    """Raise unless a share group may name this topic for its dead letters (KIP-1191): an application that could have
    the broker write into any topic would write where it may not."""
    prefix = settings.text(PREFIX) if PREFIX in settings.keys else ""
    if not name.startswith(prefix):
        raise InvalidConfig(f"{NAMED_BY_GROUP}: {name!r} does not begin with {prefix!r}, as {PREFIX} wants it")
    if name in INTERNAL_TOPICS:
        raise InvalidConfig(f"{NAMED_BY_GROUP}: {name!r} is the broker's own topic")
    if topic is not None and not topic.config[ENABLE]:
        raise InvalidConfig(
            f"{NAMED_BY_GROUP}: the topic {name!r} takes no dead letters of groups; set its {ENABLE}=true"
        )
    if topic is not None and topic.compacted:
        raise InvalidConfig(
            f"{NAMED_BY_GROUP}: the topic {name!r} is compacted (cleanup.policy), and letters may have no key"
        )


def check_own_target(name: str, topic: Topic | None) -> None:
    """Raise if a topic's own dead-letter topic says that it does not take letters of share groups, or would not keep
    them: those of the records of one key are one to a topic that is compacted."""
    if topic is not None and topic.config.overrides.get(ENABLE) == "false":
        raise InvalidConfig(f"the topic {name!r} takes no dead letters of groups: its {ENABLE} is false")
    if topic is not None and topic.compacted:
        raise InvalidConfig(f"the topic {name!r} is compacted (cleanup.policy): of letters with one key it keeps one")


def check_may_be_made(name: str, settings: BrokerSettings) -> None:
    """Raise if dead-letter topics of share groups are made by hand."""
    if CREATE in settings.keys and not settings[CREATE]:
        raise InvalidConfig(f"there is no topic {name!r}, and {CREATE} is false: somebody has to make it")


def check_defaults(view: TopicView, before: BrokerSettings, after: BrokerSettings) -> None:
    """The same where the broker's defaults change, for every topic that had no fault before."""
    if all(before.topic_defaults[key] == after.topic_defaults[key] for key in _KEYS):
        return
    altered = TopicView()
    for topic in view:
        config = after.stored_topic_config(topic.config.overrides)
        altered.add(Topic(topic.name, topic.topic_id, topic.partitions, config, topic.revision))
    for topic in altered:
        try:
            LetterRules(altered).check(topic)
        except (InvalidConfig, InvalidTopic) as error:
            if _holds(view, view.by_name[topic.name]):
                raise InvalidConfig(str(error)) from None


def _holds(view: TopicView, topic: Topic) -> bool:
    try:
        LetterRules(view).check(topic)
    except (InvalidConfig, InvalidTopic):
        return False
    return True


def _needs_keys(target: str, sender: str) -> InvalidConfig:
    return InvalidConfig(
        f"the dead-letter topic {target!r} of {sender!r} must not be compacted (cleanup.policy): letters without a key "
        "could not be written, and of those with one only the last would stay"
    )

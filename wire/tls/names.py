"""The names in certificates, and the principals that they stand for (`ssl.principal.mapping.rules`, KIP-371).

A name is written by RFC 2253, most specific part first: `CN=orders,OU=shop,O=acme`. Rules are tried in their order; the
first whose pattern is the whole name gives the principal. Where none is, the client is not let in.
"""

import re

from attrs import frozen

from coordinators.access.callers import ANONYMOUS, Principal, known
from engine.errors import SaslAuthenticationFailed

DEFAULT = "DEFAULT"
_PART = r"((?:\\.|[^\\/])*)"
_RULE = re.compile(rf"\s*(?:(DEFAULT)|RULE:{_PART}/{_PART}/([LU]?))\s*(?:,|$)")
_REFERENCE = re.compile(r"\$(\d+)|\\(.)")


@frozen
class NameRule:
    """A pattern and what it becomes; no pattern leaves the name as it is."""

    pattern: re.Pattern[str] | None = None
    replacement: str = ""
    case: str = ""

    def apply(self, name: str) -> str | None:
        """The principal's name; None if the rule is not about this one."""
        if self.pattern is None:
            return name
        match = self.pattern.fullmatch(name)
        if match is None:
            return None

        def referred(reference: re.Match[str]) -> str:
            number, escaped = reference.groups()
            return escaped if number is None else match.group(int(number)) or ""

        made = _REFERENCE.sub(referred, self.replacement)
        return {"L": made.lower(), "U": made.upper()}.get(self.case, made)


def parse_rules(text: str) -> tuple[NameRule, ...]:
    """`ValueError` for what are no rules."""
    rules: list[NameRule] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _RULE.match(text, position)
        if match is None:
            raise ValueError(f"no rule: {text[position:]}")
        position = match.end()
        rules.append(_rule(*match.groups()))
    if not rules:
        raise ValueError("there is no rule")
    return tuple(rules)


def _rule(default: str | None, pattern: str | None, replacement: str | None, case: str | None) -> NameRule:
    if default:
        return NameRule()
    try:
        compiled = re.compile((pattern or "").replace("\\/", "/"))
    except re.error as error:
        raise ValueError(f"no pattern: {pattern} ({error})") from None
    highest = max((int(number) for number, _ in _REFERENCE.findall(replacement or "") if number), default=0)
    if highest > compiled.groups:
        raise ValueError(f"the pattern {pattern} has no group {highest}")
    return NameRule(compiled, replacement or "", case or "")


def are_rules(text: str) -> bool:
    """Whether it is a list of rules."""
    try:
        parse_rules(text)
    except ValueError:
        return False
    return True


def distinguished_name(certificate: bytes) -> str:
    """Of the owner of a certificate in DER, by RFC 2253."""
    from cryptography import x509  # here: only who shows a certificate needs it

    return x509.load_der_x509_certificate(certificate).subject.rfc4514_string()


def principal_of(certificate: bytes | None, rules: tuple[NameRule, ...]) -> Principal:
    """Nobody in particular without a certificate; `SaslAuthenticationFailed` if no rule is about its name, or what it
    makes of it is nobody's."""
    if certificate is None:
        return ANONYMOUS
    name = distinguished_name(certificate)
    for rule in rules:
        if (made := rule.apply(name)) is not None:
            return known(made)
    raise SaslAuthenticationFailed(f"no rule of ssl.principal.mapping.rules is about {name}")

"""Names in certificates: as RFC 2253 writes them, and what rules make of them."""

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from coordinators.access.callers import ANONYMOUS, Principal
from engine.errors import SaslAuthenticationFailed
from tests.wire.tls.authorities import AUTHORITY
from wire.tls.names import are_rules, distinguished_name, parse_rules, principal_of

CN, OU, O, C, UID = (  # noqa: E741 - as certificates call them
    NameOID.COMMON_NAME,
    NameOID.ORGANIZATIONAL_UNIT_NAME,
    NameOID.ORGANIZATION_NAME,
    NameOID.COUNTRY_NAME,
    NameOID.USER_ID,
)
Parts = list[tuple[x509.ObjectIdentifier, str]]


def certificate(*parts: Parts) -> bytes:
    """Of somebody with these parts in their names, the last the most specific; several in one are its values."""
    names = [x509.RelativeDistinguishedName([x509.NameAttribute(kind, text) for kind, text in part]) for part in parts]
    return AUTHORITY.client(x509.Name(names)).certificate.public_bytes(Encoding.DER)


@pytest.mark.parametrize(
    ("parts", "written"),
    [
        ([[(C, "DE")], [(O, "acme")], [(OU, "shop")], [(CN, "orders")]], "CN=orders,OU=shop,O=acme,C=DE"),
        ([[(O, "acme")], [(CN, "a"), (UID, "7")]], None),
        ([[(CN, "a,b")]], "CN=a\\,b"),
        ([[(CN, 'a+b="c"')]], 'CN=a\\+b=\\"c\\"'),
        ([[(CN, " a ")]], "CN=\\ a\\ "),
        ([[(O, "x")], [(CN, "a,OU=admin")]], "CN=a\\,OU=admin,O=x"),
    ],
)
def test_names_are_written_most_specific_first_and_escaped(parts: list[Parts], written: str | None) -> None:
    name = distinguished_name(certificate(*parts))
    if written is None:
        assert name in ("CN=a+UID=7,O=acme", "UID=7+CN=a,O=acme")
    else:
        assert name == written


@pytest.mark.parametrize(
    ("rules", "name", "principal"),
    [
        ("DEFAULT", "CN=orders,OU=shop", "CN=orders,OU=shop"),
        ("RULE:^CN=(.*?),OU=shop.*$/$1/", "CN=orders,OU=shop", "orders"),
        ("RULE:CN=(.*?),OU=(.*)/$1@$2/L", "CN=Orders,OU=SHOP", "orders@shop"),
        ("RULE:CN=(.*)/$1/U,DEFAULT", "CN=orders", "ORDERS"),
        ("RULE:CN=x/x/, RULE:CN=(.*?),O=(.*)/$2-$1/", "CN=a,O=b", "b-a"),
        ("RULE:CN=x/x/,DEFAULT", "CN=y", "CN=y"),
        (r"RULE:CN=(.*),O=a\/b/$1/", "CN=x,O=a/b", "x"),
    ],
)
def test_the_first_rule_about_the_whole_name_counts(rules: str, name: str, principal: str) -> None:
    made = next(made for rule in parse_rules(rules) if (made := rule.apply(name)) is not None)
    assert made == principal


def test_a_name_within_a_name_is_not_taken_for_one() -> None:
    """A common name that holds what looks like further parts stays one value."""
    rules = parse_rules(r"RULE:CN=([^,\\]*),OU=admin/$1/")
    with pytest.raises(SaslAuthenticationFailed):
        principal_of(certificate([(CN, "me,OU=admin")]), rules)
    assert principal_of(certificate([(OU, "admin")], [(CN, "me")]), rules) == Principal("me")
    with pytest.raises(SaslAuthenticationFailed):
        principal_of(certificate([(CN, "me")], [(OU, "admin")]), rules), "in another order it is another name"


def test_without_a_certificate_it_is_nobody_in_particular() -> None:
    assert principal_of(None, parse_rules("DEFAULT")) == ANONYMOUS


@pytest.mark.parametrize(
    ("shown", "rules"),
    [
        (certificate(), "DEFAULT"),
        (certificate([(CN, "me")]), "RULE:CN=(me)?.*//"),
        (certificate([(CN, "anonymous")]), "RULE:CN=(.*)/$1/U"),
    ],
)
def test_a_certificate_is_somebodys_or_not_accepted(shown: bytes, rules: str) -> None:
    with pytest.raises(SaslAuthenticationFailed, match="nobody can be called"):
        principal_of(shown, parse_rules(rules))


@pytest.mark.parametrize("text", ["", "RULE:", "RULE:a/b", "RULE:(/x/", "RULE:a/$1/", "RULE:a/b/X", "SOMETHING"])
def test_what_are_no_rules_is_refused(text: str) -> None:
    assert not are_rules(text)

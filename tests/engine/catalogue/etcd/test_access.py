"""An etcd that asks who one is: over TLS with certificates, by user and password."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.catalogue.catalogue import Commit, Put
from engine.catalogue.etcd.access import EtcdAccess, tls_context
from engine.catalogue.etcd.catalogue import EtcdCatalogue
from engine.catalogue.etcd.gateway import EtcdEndpoint, EtcdRefusal, EtcdUnavailable, Gateway, encoded
from engine.clock import SystemClock
from engine.errors import InvalidConfig
from tidegate.catalogues import etcd_catalogue
from tidegate.config import BrokerConfig
from tidegate.etcd import EtcdTls, RunningEtcd

PREFIX, USER, PASSWORD = "/guarded", "tidegate", "open sesame"


def openssl(directory: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)


def make_certificates(directory: Path) -> EtcdTls:
    """An authority of its own, and one certificate for both sides. It names nobody: etcd would take that for a user's
    name, and does not want it from its gateway."""
    (directory / "names").write_text("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(directory, "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test authority")
    openssl(directory, "req", *key, "-keyout", "node.key", "-out", "node.csr", "-subj", "/O=node")
    signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names", "-days", "2")
    openssl(directory, "x509", "-req", "-in", "node.csr", "-out", "node.pem", *signing)
    return EtcdTls(directory / "ca.pem", directory / "node.pem", directory / "node.key")


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEtcd]:
    """With TLS and users."""
    directory = tmp_path_factory.mktemp("secured")
    tls = make_certificates(directory)
    with RunningEtcd(directory / "etcd", tls=tls) as running:
        admin = Gateway([EtcdEndpoint.parse(running.url)], access=EtcdAccess(tls.context()))
        rights = {"permType": "READWRITE", "key": encoded(PREFIX.encode()), "range_end": encoded(b"/guardee")}
        for path, message in (
            ("user/add", {"name": "root", "password": "root"}),
            ("role/add", {"name": "root"}),
            ("user/grant", {"user": "root", "role": "root"}),
            ("user/add", {"name": USER, "password": PASSWORD}),
            ("role/add", {"name": "node"}),
            ("role/grant", {"name": "node", "perm": rights}),
            ("user/grant", {"user": USER, "role": "node"}),
            ("enable", {}),
        ):
            admin.call(f"/v3/auth/{path}", message)
        admin.close()
        yield running


def access_to(etcd: RunningEtcd, user: str | None = USER, password: str = PASSWORD) -> EtcdAccess:
    assert etcd.tls is not None
    files = (str(each) for each in (etcd.tls.ca, etcd.tls.certificate, etcd.tls.key))
    return EtcdAccess(tls_context(*files), user, password)


def gateway_to(etcd: RunningEtcd, access: EtcdAccess) -> Gateway:
    return Gateway([EtcdEndpoint.parse(etcd.url)], timeout_s=2.0, access=access)


@pytest.fixture
def catalogue(secured: RunningEtcd) -> Iterator[EtcdCatalogue]:
    """As a node opens it that is told so by its configuration."""
    assert secured.tls is not None
    values: dict[str, object] = {
        "etcd.endpoints": secured.url,
        "etcd.prefix": PREFIX,
        "etcd.ssl.ca.location": str(secured.tls.ca),
        "etcd.ssl.certificate.location": str(secured.tls.certificate),
        "etcd.ssl.key.location": str(secured.tls.key),
        "etcd.user": USER,
        "etcd.password": PASSWORD,
    }
    opened = etcd_catalogue(BrokerConfig.load(values=values).settings, SystemClock(), lambda: True)
    yield opened
    opened.close()


def test_a_catalogue_behind_tls_and_a_password_works_as_any_other(catalogue: EtcdCatalogue) -> None:
    catalogue.session.open()
    watch = catalogue.watch(catalogue.revision())
    revision = catalogue.commit(Commit((), (Put("a", b"1"), Put("b", b"2", ephemeral=True))))
    deadline = time.monotonic() + 10
    found = list(watch.next(1.0))
    while len(found) < 2 and time.monotonic() < deadline:
        found += watch.next(1.0)
    told = [(event.revision, event.key, event.value) for event in found]
    assert told == [(revision, "a", b"1"), (revision, "b", b"2")]
    assert not catalogue.session.is_lost
    watch.close()


def test_a_token_that_counts_no_more_is_replaced(secured: RunningEtcd) -> None:
    """As when etcd has forgotten it, or its users have changed."""
    access = access_to(secured)
    gateway = gateway_to(secured, access)
    asked = {"key": encoded(PREFIX.encode()), "count_only": True}
    for token in ("AAAAAAAAAAAAAAAA.1", None):
        access._token = token
        assert "header" in gateway.call("/v3/kv/range", asked)
    access._token = "AAAAAAAAAAAAAAAA.1"
    exchange = None
    deadline = time.monotonic() + 10
    while exchange is None and time.monotonic() < deadline:
        try:
            exchange = gateway.open("/v3/watch", {"create_request": {"key": encoded(PREFIX.encode())}}, 2.0)
        except EtcdUnavailable:
            continue
    assert exchange is not None
    exchange.close()
    gateway.close()


@pytest.mark.parametrize(
    ("user", "password", "refusal"),
    [(None, "", "permission denied"), (USER, "guessed", "authentication failed"), ("nobody", "", "authentication")],
)
def test_who_has_no_password_is_told(secured: RunningEtcd, user: str | None, password: str, refusal: str) -> None:
    gateway = gateway_to(secured, access_to(secured, user, password))
    with pytest.raises(EtcdRefusal, match=refusal):
        gateway.call("/v3/kv/range", {"key": encoded(PREFIX.encode())})
    gateway.close()


def test_what_lies_elsewhere_is_not_this_users(secured: RunningEtcd) -> None:
    gateway = gateway_to(secured, access_to(secured))
    with pytest.raises(EtcdRefusal, match="permission denied"):
        gateway.call("/v3/kv/range", {"key": encoded(b"/other")})
    gateway.close()


def test_an_etcd_that_nobody_vouches_for_is_not_talked_to(secured: RunningEtcd, tmp_path: Path) -> None:
    other = make_certificates(tmp_path)
    for context in (tls_context(None, None, None), tls_context(str(other.ca), None, None)):
        gateway = gateway_to(secured, EtcdAccess(context))
        with pytest.raises(EtcdUnavailable, match="certificate verify failed"):
            gateway.call("/v3/kv/range", {"key": encoded(b"a")})


def test_who_shows_no_certificate_is_not_let_in(secured: RunningEtcd) -> None:
    assert secured.tls is not None
    gateway = gateway_to(secured, EtcdAccess(tls_context(str(secured.tls.ca), None, None)))
    with pytest.raises(EtcdUnavailable):
        gateway.call("/v3/kv/range", {"key": encoded(b"a")})


def test_files_that_are_no_certificates_are_named(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("nothing")
    for files in ((str(wrong), None, None), (None, str(wrong), None), (str(tmp_path / "missing"), None, None)):
        with pytest.raises(InvalidConfig, match="cannot be used"):
            tls_context(*files)

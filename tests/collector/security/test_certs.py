import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from flyball_collector.security.certs import Authority, Part
from flyball_collector.security.pem import (
    CertificateError,
    is_key_of,
    load_certificate,
    load_key,
    write_once,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority(tmp_path / "certs", NOW)
    made.initialise()
    return made


def uses(file: Path) -> list[x509.ObjectIdentifier]:
    return list(load_certificate(file).extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)


def test_an_agents_certificate_is_only_for_its_host_as_a_client(authority: Authority) -> None:
    """SAN = host. A stolen agent certificate cannot be used by a collector."""
    issued = authority.issue("gpu-01.example", Part.AGENT, days=30)
    assert issued.alternative_names == ("gpu-01.example",)
    assert uses(issued.certificate_file) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert issued.days_left(NOW) == 30
    load_certificate(issued.certificate_file).verify_directly_issued_by(load_certificate(authority.ca_file))
    assert is_key_of(load_certificate(issued.certificate_file), load_key(issued.key_file))


def test_a_collectors_certificate_also_names_this_machine(authority: Authority) -> None:
    """It is valid for localhost too, and only for a server."""
    issued = authority.issue("collector", Part.COLLECTOR, also=["10.0.0.1"])
    assert set(issued.alternative_names) == {"collector", "localhost", "10.0.0.1", "127.0.0.1", "::1"}
    assert uses(issued.certificate_file) == [ExtendedKeyUsageOID.SERVER_AUTH]


def test_keys_are_readable_only_by_their_owner(authority: Authority) -> None:
    """The mode is 0600 from the start."""
    issued = authority.issue("a", Part.AGENT)
    for file in (issued.key_file, authority.ca_key_file):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_nothing_is_overwritten(authority: Authority, tmp_path: Path) -> None:
    """A second init or issue changes no file, and the message has a remedy."""
    issued = authority.issue("a", Part.AGENT)
    before = issued.certificate_file.read_bytes()
    with pytest.raises(CertificateError, match="renew"):
        authority.issue("a", Part.AGENT)
    with pytest.raises(CertificateError, match="exists already"):
        authority.initialise()
    with pytest.raises(CertificateError, match="exists already"):
        write_once(issued.certificate_file, b"x", 0o644)
    assert issued.certificate_file.read_bytes() == before
    assert not list(tmp_path.rglob(".*"))


def test_renewing_keeps_key_and_names(authority: Authority, tmp_path: Path) -> None:
    """A renewed certificate has the same host with a new validity."""
    issued = authority.issue("a", Part.AGENT, also=["b"], days=30)
    later = Authority(tmp_path / "certs", NOW + timedelta(days=29))
    renewed = later.renew(issued)
    assert renewed.alternative_names == ("a", "b")
    assert renewed.expires > issued.expires
    assert is_key_of(load_certificate(renewed.certificate_file), load_key(renewed.key_file))


def test_a_renewed_authority_accepts_older_certificates(authority: Authority, tmp_path: Path) -> None:
    """The authority keeps its key, so that no host needs a new certificate."""
    issued = authority.issue("a", Part.AGENT)
    ca = authority.list()[0]
    renewed = Authority(tmp_path / "certs", NOW + timedelta(days=100)).renew(ca)
    assert renewed.expires > ca.expires
    load_certificate(issued.certificate_file).verify_directly_issued_by(load_certificate(authority.ca_file))


def test_no_certificate_is_valid_longer_than_its_authority(tmp_path: Path) -> None:
    """The end is limited to that of the authority."""
    authority = Authority(tmp_path, NOW)
    ca = authority.initialise(days=10)
    assert authority.issue("a", Part.AGENT, days=365).expires == ca.expires


def test_certificates_are_listed_with_their_ends(authority: Authority) -> None:
    """The authority is first, then collectors, then agents."""
    authority.issue("host", Part.AGENT, days=5)
    authority.issue("host", Part.COLLECTOR, days=7)
    assert [(each.name, each.part) for each in authority.list()] == [
        ("ca", None),
        ("host", Part.COLLECTOR),
        ("host", Part.AGENT),
    ]


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a b", "-a", "a" * 300, "a\n", "é"])
def test_an_invalid_host_name_is_rejected(authority: Authority, name: str) -> None:
    """A name becomes part of a file name and of a certificate."""
    with pytest.raises(CertificateError, match="host name"):
        authority.issue(name, Part.AGENT)


def test_errors_name_broken_files(authority: Authority, tmp_path: Path) -> None:
    """The message has the path of the file."""
    with pytest.raises(CertificateError, match=r"no certificate authority.*create one: flyball certs init"):
        Authority(tmp_path / "empty").issue("a", Part.AGENT)
    authority.ca_key_file.write_text("junk")
    with pytest.raises(CertificateError, match=r"ca\.key is not a usable private key"):
        authority.issue("a", Part.AGENT)
    authority.ca_file.write_text("junk")
    with pytest.raises(CertificateError, match=r"ca\.crt is not a PEM certificate"):
        authority.list()

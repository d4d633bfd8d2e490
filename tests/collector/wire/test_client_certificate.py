"""The hosts that a client certificate is for."""

import ipaddress
from collections.abc import Sequence
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID

from flyball_collector.security.certs import Authority
from flyball_collector.security.pem import load_certificate
from flyball_collector.wire.client_certificate import read_names
from tests.collector.odd_certificates import CLIENT, odd_certificate, raw_dns_name


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("certs"))
    made.initialise()
    return made


NAME = x509.SubjectAlternativeName([x509.DNSName("gpu-01")])
ALL_KINDS = x509.SubjectAlternativeName(
    [
        x509.DNSName("gpu-01"),
        x509.IPAddress(ipaddress.ip_address("10.0.0.1")),
        x509.UniformResourceIdentifier("gpu-02"),
        x509.RFC822Name("gpu-03"),
        x509.RegisteredID(x509.ObjectIdentifier("1.2.3.4")),
        x509.DirectoryName(x509.Name([])),
    ]
)


def read(
    authority: Authority, folder: Path, names: x509.ExtensionType | None, *usages: x509.ObjectIdentifier
) -> tuple[frozenset[str], str]:
    files = odd_certificate(authority, folder, names, usages)
    return read_names(load_certificate(files.certificate).public_bytes(Encoding.DER))


def test_only_dns_names_and_addresses_name_hosts(authority: Authority, tmp_path: Path) -> None:
    """A URI, an e-mail address or another kind of name gives no right to report for a host of that name."""
    assert read(authority, tmp_path, ALL_KINDS, *CLIENT) == (frozenset({"gpu-01", "10.0.0.1"}), "")


@pytest.mark.parametrize(
    ("names", "usages", "reason"),
    [
        (NAME, [], "no extended key usage clientAuth"),
        (NAME, [ExtendedKeyUsageOID.SERVER_AUTH], "no extended key usage clientAuth"),
        (NAME, [ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE], "no extended key usage clientAuth"),
        (None, CLIENT, "names no host"),
        (x509.SubjectAlternativeName([x509.RFC822Name("gpu-01")]), CLIENT, "names no host"),
        (raw_dns_name(b"gpu-\xff\xfe"), CLIENT, "cannot be read"),
        (raw_dns_name("gpü".encode("latin-1")), CLIENT, "cannot be read"),
    ],
)
def test_a_certificate_that_is_not_for_an_agent_is_refused(
    authority: Authority,
    tmp_path: Path,
    names: x509.ExtensionType | None,
    usages: Sequence[x509.ObjectIdentifier],
    reason: str,
) -> None:
    """It has no names, and the reason is in words."""
    found, refusal = read(authority, tmp_path, names, *usages)
    assert found == frozenset()
    assert reason in refusal


def test_rubbish_is_refused() -> None:
    """Bytes that cannot be parsed have a reason as well."""
    assert "cannot be read" in read_names(b"\x30\x03abc")[1]

"""Certificates that `flyball certs` does not make: wrong uses, dates, names and signers."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from flyball_collector.security.certs import Authority

CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Odd:
    """The contents of a certificate. The default is a valid one for the host `odd`."""

    names: Sequence[x509.GeneralName] = (x509.DNSName("odd"),)
    raw_names: bytes | None = None  # DER of the alternative names, if they must not be well-formed
    usages: Sequence[x509.ObjectIdentifier] = (CLIENT,)
    from_days: float = -1.0
    to_days: float = 30.0
    authority: bool = False
    self_signed: bool = False
    common_name: str = "odd"


@dataclass(frozen=True, slots=True)
class Files:
    """A certificate with its key."""

    certificate: Path
    key: Path


def issue(odd: Odd, authority: Authority, folder: Path) -> Files:
    """Sign a certificate with the key of the authority, or with its own."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, odd.common_name)])
    ca = x509.load_pem_x509_certificate(authority.ca_file.read_bytes())
    ca_key = serialization.load_pem_private_key(authority.ca_key_file.read_bytes(), None)
    assert isinstance(ca_key, ec.EllipticCurvePrivateKey)
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if odd.self_signed else ca.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + odd.from_days * _DAY)
        .not_valid_after(now + odd.to_days * _DAY)
        .add_extension(x509.BasicConstraints(ca=odd.authority, path_length=None), critical=True)
    )
    for extension in _extensions(odd):
        builder = builder.add_extension(extension, critical=False)
    signed = builder.sign(key if odd.self_signed else ca_key, hashes.SHA256())
    return _written(folder, signed, key)


def dns_of_bytes(name: bytes) -> bytes:
    """Return DER of alternative names with one DNS name of these bytes."""
    inner = b"\x82" + bytes([len(name)]) + name
    return b"\x30" + bytes([len(inner)]) + inner


def address(text: str) -> x509.IPAddress:
    """Return an address as an alternative name."""
    return x509.IPAddress(ipaddress.ip_address(text))


def _extensions(odd: Odd) -> list[x509.ExtensionType]:
    found: list[x509.ExtensionType] = []
    if odd.usages:
        found.append(x509.ExtendedKeyUsage(odd.usages))
    if odd.raw_names is not None:
        found.append(x509.UnrecognizedExtension(x509.SubjectAlternativeName.oid, odd.raw_names))
    elif odd.names:
        found.append(x509.SubjectAlternativeName(odd.names))
    return found


def _written(folder: Path, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Files:
    files = Files(folder / "odd.crt", folder / "odd.key")
    files.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pem, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    files.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, pem, plain))
    return files

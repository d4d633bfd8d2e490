"""Client certificates that `flyball certs` never makes, signed by its authority."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID, NameOID

from flyball_collector.security.certs import Authority
from flyball_collector.security.pem import certificate_pem, key_pem, load_certificate, load_key
from flyball_collector.security.tls import TlsFiles

CLIENT = (ExtendedKeyUsageOID.CLIENT_AUTH,)
_DAY = timedelta(days=1)


def raw_dns_name(name: bytes) -> x509.ExtensionType:
    """Return subject alternative names with one DNS name of any bytes."""
    inner = b"\x82" + bytes([len(name)]) + name
    return x509.UnrecognizedExtension(ExtensionOID.SUBJECT_ALTERNATIVE_NAME, b"\x30" + bytes([len(inner)]) + inner)


def odd_certificate(
    authority: Authority,
    folder: Path,
    names: x509.ExtensionType | None,
    usages: Sequence[x509.ObjectIdentifier] = CLIENT,
    *,
    days_ago: int = 1,
) -> TlsFiles:
    """Sign a certificate with these names and purposes that begins some days ago and is valid for ten."""
    key = ec.generate_private_key(ec.SECP256R1())
    ca_key = load_key(authority.ca_key_file)
    assert isinstance(ca_key, ec.EllipticCurvePrivateKey)
    begins = datetime.now(UTC) - days_ago * _DAY
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "odd")]))
        .issuer_name(load_certificate(authority.ca_file).subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + 10 * _DAY)
    )
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    if usages:
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    folder.mkdir(exist_ok=True)
    files = TlsFiles(folder / "odd.crt", folder / "odd.key", authority.ca_file)
    files.certificate.write_bytes(certificate_pem(builder.sign(ca_key, hashes.SHA256())))
    files.key.write_bytes(key_pem(key))
    return files

"""Reads and writes certificates and keys as PEM files. Errors name the file; no file is written partially."""

import os
import secrets
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from flyball_daemon.file_faults import read_fault, write_fault

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


class CertificateError(Exception):
    """A certificate or key cannot be created, read or used. The message names it and a remedy."""


def load_certificate(file: Path) -> x509.Certificate:
    """Read the first certificate of a PEM file."""
    try:
        return x509.load_pem_x509_certificate(_content(file))
    except ValueError as error:
        raise CertificateError(f"{file} is not a PEM certificate: {error}") from None


def load_key(file: Path) -> PrivateKey:
    """Read a private key without a pass phrase. Any kind is accepted, because users may have their own authority."""
    try:
        key = serialization.load_pem_private_key(_content(file), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise CertificateError(f"{file} is not a usable private key: {error}") from None
    if not isinstance(key, PrivateKey):
        raise CertificateError(f"{file}: the key cannot sign; use an elliptic-curve or RSA key")
    return key


def is_key_of(certificate: x509.Certificate, key: PrivateKey) -> bool:
    """Return True if the certificate belongs to this key."""
    return certificate.public_key() == key.public_key()


def write_once(file: Path, content: bytes, mode: int) -> None:
    """Write a new file completely or not at all. An existing one is not changed."""
    temporary = _write_beside(file, content, mode)
    try:
        file.hardlink_to(temporary)
    except FileExistsError:
        raise CertificateError(f"{file} exists already: nothing was changed") from None
    except OSError as error:
        raise CertificateError(write_fault(file, error)) from None
    finally:
        temporary.unlink()


def replace_file(file: Path, content: bytes, mode: int) -> None:
    """Replace the content of a file in one step."""
    _write_beside(file, content, mode).replace(file)


def _write_beside(file: Path, content: bytes, mode: int) -> Path:
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(6)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(stream.fileno(), mode)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise CertificateError(write_fault(file, error)) from None
    return temporary


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CertificateError(read_fault(file, error)) from None


def certificate_pem(certificate: x509.Certificate) -> bytes:
    """Return the certificate as PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the key as PEM without a pass phrase."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )

"""Certificates and keys as PEM files: read with errors that name the file, written whole or not at all."""

import os
import secrets
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


class CertificateError(Exception):
    """A certificate or key cannot be made, read or used; the message says which and what to do."""


def load_certificate(file: Path) -> x509.Certificate:
    """The first certificate of a PEM file."""
    try:
        return x509.load_pem_x509_certificate(_content(file))
    except ValueError as error:
        raise CertificateError(f"{file} holds no PEM certificate: {error}") from None


def load_key(file: Path) -> PrivateKey:
    """A private key without a pass phrase; of any kind, for people may have an authority of their own."""
    try:
        key = serialization.load_pem_private_key(_content(file), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise CertificateError(f"{file} holds no usable private key: {error}") from None
    if not isinstance(key, PrivateKey):
        raise CertificateError(f"{file} holds a key that cannot sign; use an elliptic-curve or RSA key")
    return key


def belong_together(certificate: x509.Certificate, key: PrivateKey) -> bool:
    """Whether the certificate is of this key."""
    return certificate.public_key() == key.public_key()


def write_once(file: Path, content: bytes, mode: int) -> None:
    """A new file, whole or not at all; an existing one is left alone."""
    temporary = _write_beside(file, content, mode)
    try:
        file.hardlink_to(temporary)
    except FileExistsError:
        raise CertificateError(f"{file} exists already: nothing was changed") from None
    except OSError as error:
        raise CertificateError(f"{file} cannot be written: {error.strerror}") from None
    finally:
        temporary.unlink()


def replace_file(file: Path, content: bytes, mode: int) -> None:
    """The new content, at once."""
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
        raise CertificateError(f"{file} cannot be written: {error.strerror}") from None
    return temporary


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CertificateError(f"{file} cannot be read: {error.strerror}") from None


def certificate_pem(certificate: x509.Certificate) -> bytes:
    """As a file has it."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """As a file has it, without a pass phrase."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )

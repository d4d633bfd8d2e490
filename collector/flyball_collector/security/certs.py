"""A private certificate authority in a directory, for agents and collectors."""

import ipaddress
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from flyball_collector.security.pem import (
    CertificateError,
    certificate_pem,
    is_key_of,
    key_pem,
    load_certificate,
    load_key,
    replace_file,
    write_once,
)

_BACKDATED = timedelta(minutes=10)  # clocks of a fleet differ
_CA_DAYS = 3650
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")


class InvalidName(CertificateError):
    """A name that is neither a host name nor an address."""


class Part(Enum):
    """The daemon that a certificate is for; neither can pose as the other."""

    AGENT = "agents"
    COLLECTOR = "collectors"


@dataclass(frozen=True, slots=True)
class Issued:
    """One certificate of the directory."""

    name: str  # "ca", or the host
    part: Part | None  # None: the authority itself
    certificate_file: Path
    key_file: Path
    alternative_names: tuple[str, ...]
    expires: datetime

    def days_left(self, now: datetime) -> float:
        """Return the days until it expires; negative afterwards."""
        return (self.expires - now) / timedelta(days=1)


class Authority:
    """Issues, renews and lists the certificates of a directory: `ca.crt`, `agents/HOST.crt`, `collectors/HOST.crt`."""

    def __init__(self, directory: Path, now: datetime | None = None) -> None:
        self._directory = directory
        self._now = now or datetime.now(UTC)

    @property
    def ca_file(self) -> Path:
        """Return the path of the authority's certificate, which every host needs."""
        return self._directory / "ca.crt"

    @property
    def ca_key_file(self) -> Path:
        """Return the path of the authority's key, which must stay secret."""
        return self._directory / "ca.key"

    def initialise(self, days: int = _CA_DAYS) -> Issued:
        """Create the key and the certificate of the authority; existing ones are never overwritten."""
        for file in (self.ca_file, self.ca_key_file):
            if file.exists():
                raise CertificateError(
                    f"{file} exists already: nothing was changed. Name another folder, or extend it: "
                    f"flyball certs renew ca -d {self._directory}"
                )
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = ec.generate_private_key(ec.SECP256R1())
        write_once(self.ca_key_file, key_pem(key), 0o600)
        write_once(
            self.ca_file,
            certificate_pem(self._sign_ca(key, _common_name(f"Flyball CA {secrets.token_hex(4)}"), days)),
            0o644,
        )
        return self._read("ca", None)

    def check_new(self, names: Sequence[str], part: Part) -> None:
        """Raise `CertificateError` if one of the names is not valid or has a certificate already."""
        for name in names:
            _check_name(name)
            for file in self._files(name, part):
                if file.exists():
                    command = f"flyball certs renew {name} -d {self._directory}"
                    raise CertificateError(f"{file} exists already: nothing was changed. To extend it: {command}")

    def issue(self, name: str, part: Part, *, also: Sequence[str] = (), days: int = 365) -> Issued:
        """Create a key and a certificate for a host. That of an agent holds no other names than the given ones."""
        self.check_new([name], part)
        names = [name, *also]
        if part is Part.COLLECTOR:
            names += [usual for usual in ("localhost", "127.0.0.1", "::1") if usual not in names]
        certificate_file, key_file = self._files(name, part)
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(key.public_key(), names, part, days)
        certificate_file.parent.mkdir(mode=0o700, exist_ok=True)
        write_once(key_file, key_pem(key), 0o600)
        write_once(certificate_file, certificate_pem(certificate), 0o644)
        return self._read(name, part)

    def renew(self, issued: Issued, days: int | None = None) -> Issued:
        """Extend a certificate with the same key and names. The file is replaced in one step, never written in part."""
        old = load_certificate(issued.certificate_file)
        if issued.part is None:
            ca_key, ca = self._load_ca()
            replace_file(self.ca_file, certificate_pem(self._sign_ca(ca_key, ca.subject, days or _CA_DAYS)), 0o644)
        else:
            public = old.public_key()
            if not isinstance(public, ec.EllipticCurvePublicKey):
                raise CertificateError(f"{issued.certificate_file} was not issued here: its key is of another kind")
            span = days or max(1, (old.not_valid_after_utc - old.not_valid_before_utc).days)
            certificate = self._sign(public, issued.alternative_names, issued.part, span)
            replace_file(issued.certificate_file, certificate_pem(certificate), 0o644)
        return self._read(issued.name, issued.part)

    def list(self) -> list[Issued]:
        """Return the certificates: that of the authority, then those of collectors and agents."""
        if not self.ca_file.exists():
            raise self._missing()
        return [self._read("ca", None), *self._listed(Part.COLLECTOR), *self._listed(Part.AGENT)]

    def _listed(self, part: Part) -> Iterator[Issued]:
        for file in sorted((self._directory / part.value).glob("*.crt")):
            yield self._read(file.name.removesuffix(".crt"), part)

    def _files(self, name: str, part: Part | None) -> tuple[Path, Path]:
        if part is None:
            return self.ca_file, self.ca_key_file
        folder = self._directory / part.value
        return folder / f"{name}.crt", folder / f"{name}.key"

    def _read(self, name: str, part: Part | None) -> Issued:
        certificate_file, key_file = self._files(name, part)
        certificate = load_certificate(certificate_file)
        names = _names_of(certificate)
        return Issued(name, part, certificate_file, key_file, names, certificate.not_valid_after_utc)

    def _load_ca(self) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
        if not self.ca_file.exists() or not self.ca_key_file.exists():
            raise self._missing()
        certificate, key = load_certificate(self.ca_file), load_key(self.ca_key_file)
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not is_key_of(certificate, key):
            raise CertificateError(f"{self.ca_key_file} is not the key of {self.ca_file}; restore both from one backup")
        return key, certificate

    def _missing(self) -> CertificateError:
        return CertificateError(
            f"{self._directory} has no certificate authority. Name its folder with --directory, or create one: "
            f"flyball certs init {self._directory}"
        )

    def _builder(
        self, subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - _BACKDATED)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        )

    def _sign_ca(self, key: ec.EllipticCurvePrivateKey, subject: x509.Name, days: int) -> x509.Certificate:
        return (
            self._builder(subject, subject, key.public_key())
            .not_valid_after(self._now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .sign(key, hashes.SHA256())
        )

    def _sign(self, public: ec.EllipticCurvePublicKey, names: Sequence[str], part: Part, days: int) -> x509.Certificate:
        ca_key, ca = self._load_ca()
        if ca.not_valid_after_utc <= self._now:
            raise CertificateError(
                f"{self.ca_file} has expired; renew it first: flyball certs renew ca -d {self._directory}"
            )
        use = ExtendedKeyUsageOID.CLIENT_AUTH if part is Part.AGENT else ExtendedKeyUsageOID.SERVER_AUTH
        return (
            self._builder(_common_name(names[0]), ca.subject, public)
            .not_valid_after(min(self._now + timedelta(days=days), ca.not_valid_after_utc))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([use]), critical=False)
            .add_extension(_alternative_names(names), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
            .sign(ca_key, hashes.SHA256())
        )


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidName(
            f"host name {name[:80]!r}: expected 1 to 253 letters, digits, '.', '_' or '-', "
            "beginning and ending with a letter or digit"
        )


def _common_name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])  # RFC 5280: at most 64 characters


def _alternative_names(names: Sequence[str]) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([_general_name(name) for name in dict.fromkeys(names)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        _check_name(name)
        return x509.DNSName(name)


def _names_of(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return (*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress)))


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )

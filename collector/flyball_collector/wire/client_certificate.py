"""Reads which hosts a verified client certificate is for."""

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID


def read_names(der: bytes) -> tuple[frozenset[str], str]:
    """Return the host names and addresses of a certificate, and why it is refused, or an empty text.

    An authority may sign names that are not valid text, and certificates for other purposes.
    """
    try:
        certificate = x509.load_der_x509_certificate(der)
        extensions = certificate.extensions
        names = _host_names(extensions)
        usages = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return frozenset(), _USAGE
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        return frozenset(), f"the certificate cannot be read: {error}"
    if ExtendedKeyUsageOID.CLIENT_AUTH not in usages:
        return frozenset(), _USAGE
    return (names, "") if names else (names, "the certificate names no host: it has no DNS name and no IP address")


def _host_names(extensions: x509.Extensions) -> frozenset[str]:
    """Return DNS names and IP addresses. URIs, e-mail addresses and other names do not name a host."""
    try:
        names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    addresses = map(str, names.get_values_for_type(x509.IPAddress))
    return frozenset((*names.get_values_for_type(x509.DNSName), *addresses))


_USAGE = "the certificate is not for clients: it has no extended key usage clientAuth"

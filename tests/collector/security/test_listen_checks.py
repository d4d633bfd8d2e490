import msgspec
import pytest

from flyball_collector.security.listen_checks import listening_faults, wants_tls
from flyball_collector.settings import CollectorSettings, GrpcSettings, HttpSettings

TLS = GrpcSettings(listen="0.0.0.0:3590", ca_file="ca", certificate_file="c", key_file="k")
HTTPS = HttpSettings(listen="0.0.0.0:3591", certificate_file="c", key_file="k", tokens_file="t")


def test_loopback_needs_nothing() -> None:
    """The defaults work on one machine without certificates."""
    assert listening_faults(CollectorSettings()) == []


def test_other_addresses_need_tls_and_authentication() -> None:
    """The message names each unprotected port with a remedy."""
    open_doors = CollectorSettings(grpc=GrpcSettings(listen="0.0.0.0:3590"), http=HttpSettings(listen="[::]:3591"))
    grpc, http = listening_faults(open_doors)
    assert "grpc.listen is 0.0.0.0:3590" in grpc
    assert "flyball certs" in grpc
    assert "http.tokens_file" in http
    assert listening_faults(msgspec.structs.replace(open_doors, insecure=True)) == []
    assert listening_faults(CollectorSettings(grpc=TLS, http=HTTPS)) == []


def test_an_incomplete_set_of_files_is_an_error_even_on_loopback() -> None:
    """A certificate without an authority would only look safe."""
    (fault,) = listening_faults(CollectorSettings(grpc=GrpcSettings(certificate_file="c", key_file="k")))
    assert fault.startswith("grpc.ca_file: not set")


@pytest.mark.parametrize("listen", ["", "3590", "a:b", "a:99999"])
def test_an_invalid_address_is_an_error(listen: str) -> None:
    """An invalid address is a message, not a traceback."""
    (fault,) = listening_faults(CollectorSettings(grpc=GrpcSettings(listen=listen)))
    assert fault.startswith("grpc.listen")


def test_tls_is_on_with_all_three_files() -> None:
    """With fewer files it is off."""
    assert wants_tls(TLS)
    assert not wants_tls(GrpcSettings())

"""Checks the listen addresses: beyond loopback, TLS and authentication are required unless `insecure` is set."""

from flyball_collector.security.tokens import is_loopback, listening_fault, split_listen
from flyball_collector.settings import CollectorSettings, GrpcSettings


def listening_faults(settings: CollectorSettings) -> list[str]:
    """Return why the collector must not listen with these settings, one line for each fault with its remedy."""
    faults = []
    for name, check in (("grpc.listen", _grpc_fault), ("http.listen", _http_fault)):
        try:
            fault = check(settings)
        except ValueError as error:
            fault = f"{name}: {error}"
        if fault:
            faults.append(fault)
    return faults


def wants_tls(settings: GrpcSettings) -> bool:
    """Return True if agents need a certificate."""
    return bool(settings.ca_file and settings.certificate_file and settings.key_file)


def _grpc_fault(settings: CollectorSettings) -> str | None:
    grpc = settings.grpc
    host, _ = split_listen(grpc.listen)
    files = {
        "grpc.ca_file": grpc.ca_file,
        "grpc.certificate_file": grpc.certificate_file,
        "grpc.key_file": grpc.key_file,
    }
    missing = [key for key, value in files.items() if not value]
    if 0 < len(missing) < len(files):
        return f"{' and '.join(missing)}: not set; set all of {', '.join(files)}, or none"
    if not missing or settings.insecure or is_loopback(host):
        return None
    return (
        f"grpc.listen is {grpc.listen}, beyond loopback, without TLS: anyone on the network could send records as "
        "any host. Create the files with `flyball certs init` and `flyball certs issue --collector`, and set "
        "grpc.ca_file, grpc.certificate_file and grpc.key_file; or listen on 127.0.0.1, or use --insecure"
    )


def _http_fault(settings: CollectorSettings) -> str | None:
    return listening_fault(settings.http, insecure=settings.insecure)

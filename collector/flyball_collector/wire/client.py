"""A connected client: its address, and the names in its certificate."""

import ipaddress
from dataclasses import dataclass

_SUBNET_BITS = 64  # of IPv6 that one customer has (RFC 6177)
_NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ConnectedClient:
    """Describes the other end of a connection. Without TLS it has no names."""

    address: str
    names: frozenset[str] = frozenset()  # DNS names and IP addresses of the verified certificate
    refusal: str = ""  # why the certificate is refused although it is valid; the answer to each call

    @property
    def key(self) -> frozenset[str] | str:
        """Return the identity to which connections and streams are counted: the certificate's names, or the address."""
        return self.names or subnet(self.address)

    @property
    def certificate(self) -> str:
        """Return the names of the certificate as one text."""
        names = sorted(self.names)
        more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
        return ", ".join(names[:_NAMES_SHOWN]) + more


def plain_address(address: str) -> str:
    """Return an address without its zone. IPv4 within IPv6, which a socket for both reports, becomes IPv4."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return str(mapped or parsed)


def subnet(address: str) -> str:
    """Return an IPv4 address, or the network of an IPv6 address: one client may use every address of it."""
    if ":" not in address:
        return address
    return str(ipaddress.ip_network((address, _SUBNET_BITS), strict=False))

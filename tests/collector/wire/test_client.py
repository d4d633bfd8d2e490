"""Clients: their address, their names, and the identity to which connections are counted."""

import pytest

from flyball_collector.wire.client import ConnectedClient, plain_address, subnet


@pytest.mark.parametrize(
    ("reported", "plain"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fe80::1%eth0", "fe80::1"),
        ("2001:DB8:0::5", "2001:db8::5"),
        ("/run/socket", "/run/socket"),
    ],
)
def test_an_address_has_one_form(reported: str, plain: str) -> None:
    """A socket for IPv4 and IPv6 reports IPv4 within IPv6."""
    assert plain_address(reported) == plain


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_addresses_of_one_network_count_together(address: str, network: str) -> None:
    """An IPv4 address counts alone, and so does a /64 network of IPv6."""
    assert subnet(plain_address(address)) == network


def test_clients_are_counted_by_certificate_or_network() -> None:
    """The address does not matter with a certificate; without one, an IPv6 network is one client."""
    names = frozenset({"a", "b"})
    assert ConnectedClient("10.0.0.1", names).key == ConnectedClient("10.0.0.2", names).key
    assert ConnectedClient("10.0.0.1", names).key != ConnectedClient("10.0.0.1", frozenset({"a"})).key
    assert ConnectedClient("2001:db8::1").key == ConnectedClient("2001:db8::ffff").key
    assert ConnectedClient("2001:db8::1").key != ConnectedClient("2001:db8:0:1::1").key
    assert ConnectedClient("10.0.0.1").key != ConnectedClient("10.0.0.2").key


def test_many_names_are_shortened() -> None:
    """A certificate for a whole fleet does not fill a log line."""
    assert ConnectedClient("", frozenset({"b", "a"})).certificate == "a, b"
    assert ConnectedClient("", frozenset(f"h{n}" for n in range(9))).certificate == "h0, h1, h2, h3, h4 and 4 more"

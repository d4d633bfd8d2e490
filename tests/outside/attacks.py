"""The list of attacks on the agents' port and on HTTP. Each is a function that goes on until its time is over."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.outside import flood_attacks, held_attacks, http_attacks, message_attacks
from tests.outside.raw_client import Target


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack, and on which port it goes."""

    run: Callable[[Target], None]
    at_once: int = 4  # copies that run at the same time
    http: bool = False

    @property
    def name(self) -> str:
        """Return the name for reports."""
        return self.run.__name__


ATTACKS = (
    Attack(flood_attacks.rapid_reset),
    Attack(flood_attacks.continuation_flood),
    Attack(flood_attacks.empty_continuations),
    Attack(flood_attacks.ping_flood),
    Attack(flood_attacks.settings_flood),
    Attack(flood_attacks.settings_of_many_entries),
    Attack(flood_attacks.priority_flood),
    Attack(flood_attacks.hpack_bomb),
    Attack(flood_attacks.huffman_blocks),
    Attack(flood_attacks.table_size_changes),
    Attack(flood_attacks.empty_data),
    Attack(flood_attacks.padding_only),
    Attack(flood_attacks.one_byte_data),
    Attack(flood_attacks.window_games),
    Attack(flood_attacks.gzip_bombs),
    Attack(held_attacks.stuck_reader),
    Attack(held_attacks.slow_drip, at_once=1),
    Attack(held_attacks.slow_handshakes, at_once=1),
    Attack(held_attacks.failing_handshakes),
    Attack(held_attacks.half_open, at_once=1),
    Attack(held_attacks.handshakes_without_http2, at_once=1),
    Attack(held_attacks.streams_without_hello, at_once=1),
    Attack(held_attacks.endless_health_checks, at_once=1),
    Attack(held_attacks.endless_hellos, at_once=1),
    Attack(held_attacks.many_watches, at_once=1),
    Attack(message_attacks.hello_flood, at_once=1),
    Attack(message_attacks.inventory_flood, at_once=1),
    Attack(message_attacks.definition_flood, at_once=1),
    Attack(message_attacks.record_flood, at_once=1),
    Attack(message_attacks.adjustment_flood),
    Attack(message_attacks.reconnect_flood),
    Attack(http_attacks.half_requests, at_once=1, http=True),
    Attack(http_attacks.half_bodies, at_once=1, http=True),
    Attack(http_attacks.large_headers, http=True),
    Attack(http_attacks.large_bodies, http=True),
    Attack(http_attacks.expensive_pages, at_once=1, http=True),
)

"""What a restarted collector should still know of a host."""

import msgspec


class KnownHost(msgspec.Struct, frozen=True):
    """The body of a document of kind `host`."""

    agent_version: str
    boot_id: str
    interval_ms: int
    last_seen_ns: int
    said_goodbye: bool

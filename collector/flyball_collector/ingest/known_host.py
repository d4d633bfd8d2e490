"""The stored facts of a host that a restarted collector reads."""

import msgspec


class KnownHost(msgspec.Struct, frozen=True):
    """The body of a document of kind `host`."""

    agent_version: str
    boot_id: str
    interval_ms: int
    last_seen_ns: int
    goodbye: bool = False  # documents of older versions have another key

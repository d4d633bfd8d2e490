"""Writes `docs/xids.md`: `python -m flyball_collector.diagnosis.health.xid_document docs/xids.md`."""

import sys
from collections.abc import Sequence
from pathlib import Path

from flyball_collector.diagnosis.health.xid_catalogue import XIDS, Xid

HEAD = """\
# XIDs

These are the errors of NVIDIA's driver that Flyball knows. The page is generated from its table
(`python -m flyball_collector.diagnosis.health.xid_document docs/xids.md`; a test keeps it up to date).
Sources: NVIDIA's public XID catalogue for Ampere and newer GPUs (docs.nvidia.com/deploy/xid-errors, as of October
2025), the component lists of leptonai/gpud, and NVIDIA's guide to GPU memory errors.

- *application*: a warning. It is critical if different jobs have the same code on one GPU: the GPU is suspect.
- *reset*, *node*: critical.
- *follow*: an after-effect. It is reported only if no error that it may follow occurred at the same time.
- *ignore*: kept among the host's events, but never raised.
- A code that is not in this table is a warning.

| XID | class | meaning | action | disagreement of sources |
|---|---|---|---|---|
"""


def document() -> str:
    """Return the whole page."""
    return HEAD + "".join(map(_row, sorted(XIDS, key=lambda xid: xid.code)))


def _row(xid: Xid) -> str:
    return f"| {xid.code} | {xid.belongs_to} | {xid.name} | {xid.action} | {xid.disputed} |\n"


def main(arguments: Sequence[str]) -> int:
    """Write the page to the given file, or print it."""
    if arguments:
        Path(arguments[0]).write_text(document(), encoding="utf-8")
    else:
        print(document(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

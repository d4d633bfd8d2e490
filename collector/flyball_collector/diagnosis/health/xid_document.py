"""Writes `docs/xids.md` from the table: `python -m flyball_collector.diagnosis.health.xid_document docs/xids.md`."""

import sys
from collections.abc import Sequence
from pathlib import Path

from flyball_collector.diagnosis.health.xid_catalogue import XIDS, Xid

HEAD = """\
# XIDs

What Flyball knows of the errors that NVIDIA's driver reports, generated from its table
(`python -m flyball_collector.diagnosis.health.xid_document docs/xids.md`; a test holds this page to it).
Sources: NVIDIA's public XID catalogue for Ampere and newer GPUs (docs.nvidia.com/deploy/xid-errors, as of October
2025), the component lists of leptonai/gpud, and NVIDIA's guide to GPU memory errors.

- *application*: a warning; critical when different jobs meet the same code on one GPU, for then the GPU is suspect.
- *reset*, *node*: critical. *follow*: told only where no error stands beside it that it follows. *ignore*: kept among
  the host's events, never raised. A code that is not listed here is a warning.

| XID | class | what it means | what to do | where sources disagree |
|---|---|---|---|---|
"""


def document() -> str:
    """The whole page."""
    return HEAD + "".join(map(_row, sorted(XIDS, key=lambda xid: xid.code)))


def _row(xid: Xid) -> str:
    return f"| {xid.code} | {xid.belongs_to} | {xid.name} | {xid.action} | {xid.disputed} |\n"


def main(arguments: Sequence[str]) -> int:
    """Write the page to the file named, or print it."""
    if arguments:
        Path(arguments[0]).write_text(document(), encoding="utf-8")
    else:
        print(document(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

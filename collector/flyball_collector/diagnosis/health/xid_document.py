"""The page of all XIDs, `docs/xids.md`."""

from flyball_collector.diagnosis.health.xid_catalogue import XIDS, Xid

HEAD = """\
# XIDs

These are the errors of NVIDIA's driver that Flyball knows. The page is generated from its table
(`make generated`; a test keeps it up to date).
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

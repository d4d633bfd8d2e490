"""The page of all XIDs, `docs/xids.md`."""

from flyball_collector.diagnosis.health.xid_catalogue import XIDS, Xid

HEAD = """\
# XIDs

An XID is an error code that NVIDIA's driver writes to the kernel log. These are the codes that Flyball knows. The page
is generated from its table (`make generated`; a test keeps it up to date).
Sources: NVIDIA's public XID catalogue for Ampere and newer GPUs (docs.nvidia.com/deploy/xid-errors, as of October
2025), the component lists of leptonai/gpud, and NVIDIA's guide to GPU memory errors.

The class decides how a code is reported:

- *application*: a warning, because a program usually causes it. If at least two jobs had the same code on one GPU
  within 24 h, it is critical, because the GPU may be faulty.
- *reset* (the GPU needs a reset) and *node* (the host needs a restart, an inspection or a repair): critical.
- *follow*: the after-effect of another error. It is a warning, and is reported only if the same GPU had no error of the
  first three classes within a minute.
- *ignore*: `flyball events` lists it, but no condition is raised.
- A code that is not in this table: a warning.

To *drain* a GPU or a host means to let its jobs end, or move them, and to give it no new ones (Slurm:
`scontrol update nodename=HOST state=drain reason=xid`; Kubernetes: `kubectl drain HOST --ignore-daemonsets`).

| XID | class | meaning | action | where sources disagree |
|---|---|---|---|---|
"""


def document() -> str:
    """Return the whole page."""
    return HEAD + "".join(map(_row, sorted(XIDS, key=lambda xid: xid.code)))


def _row(xid: Xid) -> str:
    return f"| {xid.code} | {xid.belongs_to} | {xid.name} | {xid.action} | {xid.disputed} |\n"

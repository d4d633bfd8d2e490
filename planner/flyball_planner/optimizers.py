"""Optimizers by name, with the memory that each one needs."""

from msgspec.structs import replace

from flyball_planner.training import Optimizer
from flyball_reports.errors import UnknownName

BLOCK_SCALES = 2 * 4 / 256  # bytes per parameter: bitsandbytes has an fp32 scale for each 256 states of two moments
FOREACH = 4.0  # torch.optim updates all parameters at once, with fp32 temporaries of their size

OPTIMIZERS: dict[str, Optimizer] = {
    optimizer.name: optimizer
    for optimizer in (
        Optimizer("adamw", state_bytes=8, moments=2, transient_bytes=FOREACH),
        Optimizer("adam", state_bytes=8, moments=2, transient_bytes=FOREACH),
        Optimizer("adamw-fused", state_bytes=8, moments=2),
        Optimizer("adamw-bf16", state_bytes=4, moments=0, transient_bytes=FOREACH),  # DeepSeek-V3 report, §3.3.2
        Optimizer("adamw-paged", state_bytes=8, moments=0, paged=True),  # bitsandbytes, moments always in fp32
        Optimizer("adamw-8bit", state_bytes=2 + BLOCK_SCALES, moments=0),  # Dettmers et al., 2022
        Optimizer("adamw-8bit-paged", state_bytes=2 + BLOCK_SCALES, moments=0, paged=True),
        Optimizer("sgd", state_bytes=0, moments=0),
        Optimizer("sgd-momentum", state_bytes=4, moments=1, transient_bytes=FOREACH),
        Optimizer("adafactor", state_bytes=0.01, moments=0),  # a row and a column of a matrix (Shazeer & Stern, 2018)
        Optimizer("lamb", state_bytes=8, moments=2, transient_bytes=FOREACH),
        Optimizer("lion", state_bytes=4, moments=1, transient_bytes=FOREACH),
        Optimizer("adagrad", state_bytes=4, moments=1, transient_bytes=FOREACH),
        Optimizer("rmsprop", state_bytes=4, moments=1, transient_bytes=FOREACH),
        Optimizer("muon", state_bytes=4, moments=1, transient_bytes=FOREACH),
    )
}
"""Optimizers by name. Bytes are per parameter with moments in fp32; pure 16-bit training halves the moments."""

ALIASES = {
    "adam8bit": "adamw-8bit",
    "adamw8bit": "adamw-8bit",
    "pagedadamw": "adamw-paged",
    "pagedadamw32bit": "adamw-paged",
    "pagedadamw8bit": "adamw-8bit-paged",
    "fusedadamw": "adamw-fused",
    "sgdmomentum": "sgd-momentum",
    "momentum": "sgd-momentum",
}


def find_optimizer(name: str, *, in_backward: bool = False) -> Optimizer:
    """Return an optimizer by name, in any spelling. `in_backward` updates each weight when its gradient is ready."""
    plain = _plain(name)
    known = {_plain(each): each for each in OPTIMIZERS} | ALIASES
    if plain not in known:
        raise UnknownName("optimizer", name, OPTIMIZERS)
    found = OPTIMIZERS[known[plain]]
    return replace(found, in_backward=True, transient_bytes=0.0) if in_backward else found


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())

"""Spellings of names: "A100-SXM-80GB", "a100_80gb" and "NVIDIA A100-SXM4-80GB" are the same card."""

import re
from collections.abc import Iterable
from functools import cache

_NOISE = """
    nvidia amd intel apple google aws any geforce tesla quadro instinct radeon rtx gtx rx gpu gpus graphics dgx hgx
    nvlink accelerator cloud generation oam vf core xeon epyc ryzen platinum gold cpu processor per
    hbm2 hbm2e hbm3 hbm3e gddr5 gddr5x gddr6 gddr6x gddr7
"""
NOISE = frozenset(_NOISE.split())
"""Words that do not distinguish devices of the catalogue."""

# Patterns are texts that are compiled with the first name; an exact name does not need them.
_SERIES = r"(rtx|gtx)"
_FAMILY = r"\b(rx|tpu|titan|quadro|tesla|geforce|radeon|instinct)(?=[a-z]{0,2}\d)"
_SUFFIX = r"(?<=\d)(ti|super|mobile|laptop|xtx|xt)(?![a-z]*\d)"
_MAX_Q = r"max\s?q\b"
_UNIT = r"(\d)\s*(?:gib|gb|g)\b"
_SOCKET = r"\bsxm\d?\b"
_ASIDE = r"\(.*?\)"


@cache
def words(name: str) -> frozenset[str]:
    """Return the significant words of a name, in any order and however they are joined."""
    text = re.sub(r"[^a-z0-9.+]+", " ", name.casefold())
    for pattern in (_SERIES, _FAMILY, _SUFFIX):
        text = re.sub(pattern, r" \1 ", text)
    text = re.sub(_SOCKET, "sxm", re.sub(_UNIT, r"\1gb", re.sub(_MAX_Q, " max q", text)))
    kept = frozenset(text.split())
    return kept - NOISE or kept


def readings(name: str) -> Iterable[frozenset[str]]:
    """Yield the readings of a name: as it is, and without parts in brackets."""
    yield words(name)
    bare = re.sub(_ASIDE, " ", name)
    if bare != name:
        yield words(bare)

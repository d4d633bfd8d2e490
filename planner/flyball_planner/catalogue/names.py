"""One thing has many spellings: "A100-SXM-80GB", "a100_80gb" and "NVIDIA A100-SXM4-80GB" mean one card."""

import re
from collections.abc import Iterable
from functools import cache

_NOISE = """
    nvidia amd intel apple google aws any geforce tesla quadro instinct radeon rtx gtx rx gpu gpus graphics dgx hgx
    nvlink accelerator cloud generation oam vf core xeon epyc ryzen platinum gold cpu processor per
    hbm2 hbm2e hbm3 hbm3e gddr5 gddr5x gddr6 gddr6x gddr7
"""
NOISE = frozenset(_NOISE.split())
"""Words that tell no device of the catalogue from another."""

_SERIES = re.compile(r"(rtx|gtx)")
_FAMILY = re.compile(r"\b(rx|tpu|titan|quadro|tesla|geforce|radeon|instinct)(?=[a-z]{0,2}\d)")
_SUFFIX = re.compile(r"(?<=\d)(ti|super|mobile|laptop|xtx|xt)(?![a-z]*\d)")
_MAX_Q = re.compile(r"max\s?q\b")
_UNIT = re.compile(r"(\d)\s*(?:gib|gb|g)\b")
_SOCKET = re.compile(r"\bsxm\d?\b")
_ASIDE = re.compile(r"\(.*?\)")


@cache
def words(name: str) -> frozenset[str]:
    """The words that matter, whatever their order and however they are joined."""
    text = re.sub(r"[^a-z0-9.+]+", " ", name.casefold())
    for pattern in (_SERIES, _FAMILY, _SUFFIX):
        text = pattern.sub(r" \1 ", text)
    text = _SOCKET.sub("sxm", _UNIT.sub(r"\1gb", _MAX_Q.sub(" max q", text)))
    kept = frozenset(text.split())
    return kept - NOISE or kept


def readings(name: str) -> Iterable[frozenset[str]]:
    """How a name may be meant: as it stands, and without what stands in brackets."""
    yield words(name)
    bare = _ASIDE.sub(" ", name)
    if bare != name:
        yield words(bare)

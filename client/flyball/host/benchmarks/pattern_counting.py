"""The inner loop of a hierarchical learner: chunks of tokens become patterns, which are named and counted."""

from collections.abc import Sequence
from hashlib import blake2b


def count_patterns(tokens: Sequence[str], chunk_size: int, counts: dict[str, int]) -> list[str]:
    """Count the chunks of some tokens under the hashes that name them. Return these names: the next level's tokens.

    >>> counts = {}
    >>> names = count_patterns(["a", "b", "a", "b", "a"], 2, counts)
    >>> names[0] == names[1] != names[2], sorted(counts.values())
    (True, [1, 2])
    """
    names = []
    for begin in range(0, len(tokens), chunk_size):
        name = blake2b(" ".join(tokens[begin : begin + chunk_size]).encode(), digest_size=20).hexdigest()
        counts[name] = counts.get(name, 0) + 1
        names.append(name)
    return names

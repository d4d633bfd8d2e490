"""A filter for warnings that comes before those of the script, and leaves no trace.

`warnings.filterwarnings` and `catch_warnings` make Python forget which warnings were shown already, so the script would
print them again. A filter that is put into the list and taken out does not.
"""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def put_first(action: str, pattern: str = "") -> Any:
    """Add a filter before all others. Return it, for `take_out`."""
    added = (action, re.compile(pattern, re.IGNORECASE) if pattern else None, Warning, None, 0)
    filters: list[Any] = warnings.filters  # type: ignore[assignment]  # a list, typed as a sequence
    filters.insert(0, added)
    return added


def take_out(added: Any) -> None:
    """Remove a filter, if the script has not replaced the whole list."""
    filters: list[Any] = warnings.filters  # type: ignore[assignment]  # a list, typed as a sequence
    for place, each in enumerate(filters):
        if each is added:
            del filters[place]
            return


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore warnings, which are ours and not the script's."""
    added = put_first("ignore")
    try:
        yield
    finally:
        take_out(added)

"""Values with the line of the file that they come from."""

from msgspec import Struct

Scalar = str | int | float | bool | None
_SHOWN = 80  # characters of a text in a message


def shortened(text: str) -> str:
    """Return a text as messages show it: a long text is cut off."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class SourceValue(Struct, frozen=True):
    """A value with its line, which is that of its key. Values passed in a call have line 0."""

    value: "Scalar | list[SourceValue] | dict[str, SourceValue]"
    line: int

    @property
    def plain(self) -> object:
        """Return the value without lines."""
        if isinstance(self.value, dict):
            return {key: entry.plain for key, entry in self.value.items()}
        return [entry.plain for entry in self.value] if isinstance(self.value, list) else self.value

    def description(self) -> str:
        """Return the value as messages show it."""
        if isinstance(self.value, dict):
            return "a group of keys"
        if isinstance(self.value, list):
            return "a list"
        if self.value is None:
            return "nothing"
        return repr(shortened(self.value) if isinstance(self.value, str) else self.value)

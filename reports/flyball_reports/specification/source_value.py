"""Values with the line of the file that they come from."""

from msgspec import Struct

Scalar = str | int | float | bool | None


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
        return "nothing" if self.value is None else repr(self.value)

"""A value of a file or of a call, with the line on which it stands."""

from msgspec import Struct

Scalar = str | int | float | bool | None


class Entry(Struct, frozen=True):
    """A value and the line on which it, or the key before it, stands."""

    value: "Scalar | list[Entry] | dict[str, Entry]"
    line: int

    @property
    def plain(self) -> object:
        """The value without its lines."""
        if isinstance(self.value, dict):
            return {key: entry.plain for key, entry in self.value.items()}
        return [entry.plain for entry in self.value] if isinstance(self.value, list) else self.value

    def told(self) -> str:
        """As a message shows it."""
        if isinstance(self.value, dict):
            return "a group of keys"
        if isinstance(self.value, list):
            return "a list"
        return "nothing" if self.value is None else repr(self.value)

"""Builds values from the events of a YAML parser, one event at a time, so that no input can exhaust stack or memory."""

from collections.abc import Iterable
from typing import TypeAlias, cast

import yaml
from msgspec import Struct, field

from flyball_reports.specification.source_value import Scalar, SourceValue

MOST_VALUES = 20_000  # so that aliases of aliases cannot fill the memory
DEEPEST = 20
LONGEST_KEY = 200
LONGEST_NUMBER = 100  # characters; a longer scalar is text

_PLAIN = "tag:yaml.org,2002:"
_RESOLVED_TAGS = frozenset(_PLAIN + name for name in ("int", "float", "bool", "null"))
_Contents: TypeAlias = "dict[str, SourceValue] | list[SourceValue]"


class _Key(Struct):
    """A key of a mapping that waits for its value."""

    name: str
    line: int


class _Extent(Struct):
    """The number of values in a value, including itself, and the number of levels below it."""

    values: int = 1
    height: int = 0

    def add(self, inner: "_Extent") -> None:
        self.values += inner.values
        self.height = max(self.height, inner.height + 1)


class _Open(Struct):
    """A mapping or list that is not complete yet."""

    contents: _Contents
    line: int
    anchor: str | None
    key: _Key | None = None
    extent: _Extent = field(default_factory=_Extent)


class ValueBuilder:
    """Converts the events of one document to a value. Faults are `yaml.MarkedYAMLError` with their place."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[SourceValue, _Extent]] = {}
        self._resolver = yaml.resolver.Resolver()
        self._root: SourceValue | None = None
        self._values = 0

    def build(self, events: Iterable[yaml.Event]) -> SourceValue | None:
        """Return the value of the only document; None if there is none."""
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _fault(event, "a second document begins here; put each document into its own file")
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
            elif isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._start(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._end(event)
        return self._root

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        container = self._open[-1] if self._open else None
        if container is not None and isinstance(container.contents, dict) and container.key is None:
            container.key = _key(event, container.contents)
            self._anchor(event.anchor, SourceValue(self._plain(event), container.key.line), _Extent())
            return
        self._add(event, SourceValue(self._plain(event), self._line(event)), _Extent(), event.anchor)

    def _start(self, event: yaml.CollectionStartEvent) -> None:
        self._check_not_a_key(event)
        self._count(event, _Extent())
        contents: _Contents = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._open.append(_Open(contents, self._line(event), event.anchor))

    def _end(self, event: yaml.CollectionEndEvent) -> None:
        done = self._open.pop()
        self._values -= done.extent.values  # counted again as a whole
        self._add(event, SourceValue(done.contents, done.line), done.extent, done.anchor)

    def _alias(self, event: yaml.AliasEvent) -> None:
        self._check_not_a_key(event)
        if any(each.anchor == event.anchor for each in self._open):
            raise _fault(event, f"the alias *{event.anchor} is inside the value that it refers to; remove it")
        if event.anchor not in self._anchors:
            raise _fault(event, f"the alias *{event.anchor} has no anchor &{event.anchor} before it; add one")
        value, extent = self._anchors[event.anchor]
        self._add(event, SourceValue(value.value, self._line(event)), extent, None)

    def _add(self, event: yaml.Event, value: SourceValue, extent: _Extent, anchor: str | None) -> None:
        """Add a complete value to the mapping or list that it is in."""
        self._count(event, extent)
        self._anchor(anchor, value, extent)
        if not self._open:
            self._root = value
            return
        container = self._open[-1]
        container.extent.add(extent)
        if isinstance(container.contents, list):
            container.contents.append(value)
        else:
            container.contents[cast("_Key", container.key).name] = value
            container.key = None

    def _anchor(self, name: str | None, value: SourceValue, extent: _Extent) -> None:
        if name is not None:
            self._anchors[name] = (value, extent)

    def _count(self, event: yaml.Event, extent: _Extent) -> None:
        self._values += extent.values
        if self._values > MOST_VALUES:
            raise _fault(event, f"more than {MOST_VALUES:,} values, counting each use of an alias")
        if len(self._open) + extent.height > DEEPEST:
            raise _fault(event, f"lists and groups are nested more than {DEEPEST} levels deep")

    def _check_not_a_key(self, event: yaml.Event) -> None:
        container = self._open[-1] if self._open else None
        if container is not None and isinstance(container.contents, dict) and container.key is None:
            raise _fault(event, "a key must be text, not a list or a group")

    def _line(self, event: yaml.Event) -> int:
        """Return the line of a value, which is that of its key."""
        key = self._open[-1].key if self._open else None
        return key.line if key is not None else _line(event)

    def _plain(self, event: yaml.ScalarEvent) -> Scalar:
        """Return a number, truth value or nothing as YAML defines it; anything else is text."""
        text = str(event.value)
        if len(text) > LONGEST_NUMBER:
            return text
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._resolver.resolve(yaml.ScalarNode, text, event.implicit)  # type: ignore[no-untyped-call]
        if tag not in _RESOLVED_TAGS or (":" in text and tag != f"{_PLAIN}bool"):  # 1:30 is 90 only in YAML 1.1
            return text
        try:
            node = yaml.ScalarNode(tag, text)
            return cast("Scalar", yaml.constructor.SafeConstructor().construct_object(node))
        except (ValueError, KeyError, IndexError, OverflowError):  # an explicit tag such as !!int that does not fit
            return text


def _key(event: yaml.ScalarEvent, there: dict[str, SourceValue]) -> _Key:
    name = str(event.value)
    if len(name) > LONGEST_KEY:
        raise _fault(event, f"a key has {len(name):,} characters; the limit is {LONGEST_KEY}")
    if name == "<<" and event.implicit[0]:
        raise _fault(event, "merge keys (<<) are not supported; write the keys out")
    if name in there:
        raise _fault(event, f"duplicate key {name!r} (first on line {there[name].line}); keep one of them")
    return _Key(name, _line(event))


def _line(event: yaml.Event) -> int:
    return int(cast("yaml.Mark", event.start_mark).line) + 1  # a parser's events always have a place


def _fault(event: yaml.Event, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=cast("yaml.Mark", event.start_mark))

"""Brings a specification into the planner's own keys, whatever names its author used.

Each value keeps its line, and each moved key the name that its author wrote, so that messages show these.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.models.spellings import plain, value_of
from flyball_planner.specification.aliases import GROUPS, MODEL_NAMES, SECTIONS, Alias, aliases, idle, words_of
from flyball_planner.specification.keys import FILE
from flyball_planner.specification.keys import SECTIONS as KEYS
from flyball_reports.errors import nearest, suggestion
from flyball_reports.specification.problems import Problem, unknown
from flyball_reports.specification.source_value import SourceValue

SHORT_FORMS = {
    "model": "name", "hardware": "device", "scalability": "devices", "report": "output", "cost": "usd_per_device_hour",
}  # fmt: skip
"""The key of a section that is written as a single value: `hardware: RTX_4090_fp16`."""

OPEN = "model"
"""The section whose keys depend on the model, which reads them itself."""

DATASET = "dataset"
DATASET_IDLE = frozenset({"name", "type", "format", "kind"})
ANYWHERE = ("training", "hardware", "layout", "cost")
"""Sections whose keys may also be at the top level of a file."""
MISSPELT = 0.75
"""Share of equal letters from which on an unknown section is read as the one that its name resembles."""

Values = Mapping[str, SourceValue]


class Canonical(Struct, frozen=True):
    """A specification in the planner's own keys."""

    root: SourceValue
    written: Mapping[str, str]  # names that the author wrote, by the planner's names
    idle: tuple[str, ...] = ()  # keys that do not change an estimate
    problems: tuple[Problem, ...] = ()

    def name(self, path: str) -> str:
        """Return the name that the author wrote for a key."""
        return self.written.get(path, path)

    def as_written(self, problems: Sequence[Problem]) -> list[Problem]:
        """Return problems with the keys that the author wrote."""
        return [replace(each, key=self.name(each.key)) for each in problems]


def canonical(root: SourceValue) -> Canonical:
    """Return a specification in the planner's own keys."""
    sections = root.value if isinstance(root.value, dict) else {}
    builder = _Builder(sections.keys())
    for name, entry in sections.items():
        builder.add_section(name, entry)
    return builder.result(root.line)


class _Builder:
    """Collects values by section, and what cannot be placed."""

    def __init__(self, given: Collection[str]) -> None:
        self.given = given
        self.values: dict[str, dict[str, SourceValue]] = {}
        self.others: dict[str, SourceValue] = {}  # top-level values without keys
        self.lines: dict[str, int] = {}
        self.written: dict[str, str] = {}
        self.weak: list[tuple[Alias, SourceValue, str]] = []
        self.idle: list[str] = []
        self.problems: list[Problem] = []

    def add_section(self, name: str, entry: SourceValue) -> None:
        section = name if name in KEYS else SECTIONS.get(plain(name), name)
        if section == DATASET or section in KEYS:
            self._add_known(section, name, entry)
        elif name in {key.name for key in FILE}:
            self.others[name] = entry
        elif plain(name) in GROUPS and isinstance(entry.value, dict):
            self._walk_group("training", name, plain(name), entry.value)
        else:
            self._add_flat(name, entry)

    def result(self, line: int) -> Canonical:
        for alias, entry, path in self.weak:
            section, _, key = alias.target.partition(".")
            if key in self.values.get(section, {}):
                self.idle.append(path)
            else:
                self._place(section, key, entry, path)
        sections = {
            name: SourceValue(dict(values), self.lines.get(name, next((each.line for each in values.values()), line)))
            for name, values in self.values.items()
        }
        root = SourceValue({**self.others, **sections}, line)
        return Canonical(root, self.written, tuple(self.idle), tuple(self.problems))

    def _add_known(self, section: str, name: str, entry: SourceValue) -> None:
        if isinstance(entry.value, dict):
            if section != DATASET:
                self.lines.setdefault(section, entry.line)
                self.values.setdefault(section, {})
            self._walk(section, name, entry.value)
        elif entry.value is not None and section in SHORT_FORMS and _is_short(section, entry):
            self.lines.setdefault(section, entry.line)
            key = SHORT_FORMS[section]
            self._place(section, key, entry, name if name != section else f"{section}.{key}")
        else:
            self.others[section if section in KEYS else name] = entry

    def _add_flat(self, name: str, entry: SourceValue) -> None:
        """Add a top-level key that belongs into a section."""
        if alias := aliases("").get(plain(name)):
            self.others.setdefault(alias.target, entry)
        elif (not isinstance(entry.value, dict) or "enabled" in entry.value) and any(
            self._find_flat(each, name, entry) for each in ANYWHERE
        ):
            return
        elif plain(name) in MODEL_NAMES:
            self.weak.append((aliases(OPEN)[plain(name)], entry, name))
        elif idle(name):
            self.idle.append(name)
        else:
            self._unknown("", name, name, entry)
            self._add_misspelt(name, entry)

    def _add_misspelt(self, name: str, entry: SourceValue) -> None:
        """Read an unknown section as the one that it resembles, so that its own faults are reported too."""
        section = nearest(name, KEYS, least=MISSPELT)
        if section and section not in self.given:
            self._add_known(section, name, entry)

    def _find_flat(self, section: str, name: str, entry: SourceValue) -> bool:
        alias = aliases(section).get(plain(name))
        return not (alias and alias.weak) and self._find(section, name, entry, name)

    def _walk(self, section: str, prefix: str, entries: Values) -> None:
        for name, entry in entries.items():
            path = f"{prefix}.{name}"
            if plain(name) in GROUPS and isinstance(entry.value, dict):
                self._walk_group(section, path, plain(name), entry.value)
            elif section == DATASET:
                self._add_of_dataset(name, entry, path)
            elif not self._find(section, name, entry, path):
                if section == OPEN:
                    self._place(OPEN, name, entry, path)
                elif idle(name):
                    self.idle.append(path)
                else:
                    self._unknown(section, name, path, entry)

    def _walk_group(self, section: str, path: str, group: str, entries: Values) -> None:
        """Add the keys of a group to its section; in the group of an optimizer, `name` is the optimizer."""
        if "scheduler" in group:
            self.idle.append(path)
            return
        own = {"optimizer": "training.optimizer", "optimiser": "training.optimizer", "optimization":
               "training.optimizer"}.get(group)  # fmt: skip
        if group in {"lora", "peft", "peft_config", "lora_config"}:
            line = next((each.line for each in entries.values()), 0)
            self.weak.append((Alias("training.method", weak=True), SourceValue("lora", line), path))
            section = "training"
        named = {name: each for name, each in entries.items() if own and plain(name) in {"name", "type"}}
        for name, each in named.items():
            self._alias(Alias("training.optimizer"), each, f"{path}.{name}")
        self._walk(section, path, {name: each for name, each in entries.items() if name not in named})

    def _add_of_dataset(self, name: str, entry: SourceValue, path: str) -> None:
        target = aliases("training").get(plain(name))
        if plain(name) in DATASET_IDLE:
            self.idle.append(path)
        elif name == "tokens" or (target is not None and target.target == "training.tokens"):
            self._place("training", "tokens", entry, path)
        elif name == "bytes_per_sample":
            self._place("loading", name, entry, path)
        else:
            self._place(OPEN, name, entry, path)

    def _find(self, section: str, name: str, entry: SourceValue, path: str) -> bool:
        """Place a key that its section knows by this name or by another one."""
        names = {key.name for key in KEYS[section]}
        key = name if name in names else plain(name)
        if key in names:
            self._place(section, key, entry, path)
            return True
        alias = aliases(section).get(plain(name))
        if alias is not None:
            self._alias(alias, entry, path)
        return alias is not None

    def _alias(self, alias: Alias, entry: SourceValue, path: str) -> None:
        if alias.words and isinstance(entry.value, dict) and "enabled" in entry.value:  # as DeepSpeed has it
            entry = entry.value["enabled"]
        value = _reworded(entry, alias.words or {})
        if alias.words and value.value is None:
            return
        if alias.weak:
            self.weak.append((alias, value, path))
            return
        section, _, key = alias.target.partition(".")
        self._place(section, key, value, path)

    def _place(self, section: str, key: str, entry: SourceValue, path: str) -> None:
        target = f"{section}.{key}"
        value = _reworded(entry, words_of(target))
        if key == "precision":
            value = _precision(value)
        held = self.values.setdefault(section, {})
        before = held.get(key)
        if before is None or before.value is None:
            held[key] = value
            if path != target:
                self.written[target] = path
        elif value.value is not None and before.plain != value.plain:
            first = f"{self.written.get(target, target)}" + (f" on line {before.line}" if before.line else "")
            self.problems.append(Problem(entry.line, path, f"contradicts {first}; keep one of them"))

    def _unknown(self, section: str, name: str, path: str, entry: SourceValue) -> None:
        own = [key.name for key in (KEYS[section] if section else FILE)]
        others = [*aliases(section), *(SECTIONS if not section else ())]
        question = suggestion(name, own, others)
        message = f"unknown key {name!r}; {question}" if question else unknown("key", name, own)
        self.problems.append(Problem(entry.line, path, message))


def _is_short(section: str, entry: SourceValue) -> bool:
    """Return True if a single value is the short form of a section."""
    if section == "cost":
        return isinstance(entry.value, int | float) and not isinstance(entry.value, bool)
    return isinstance(entry.value, str | list)


def _reworded(entry: SourceValue, words: Mapping[str, object]) -> SourceValue:
    """Return a value, or each value of a list, in the planner's words."""
    if isinstance(entry.value, list):
        return SourceValue([_reworded(each, words) for each in entry.value], entry.line) if words else entry
    if isinstance(entry.value, dict) or not words:
        return entry
    word = str(entry.value).casefold()
    return SourceValue(words[word], entry.line) if word in words else entry  # type: ignore[arg-type]  # scalars


def _precision(entry: SourceValue) -> SourceValue:
    found = value_of("precision", entry.value)
    return SourceValue(found, entry.line) if isinstance(found, str) else entry

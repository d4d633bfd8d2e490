"""The catalogue's devices, and finding a device by its name."""

import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from functools import cache

from msgspec import Struct, field
from msgspec.structs import replace

from flyball_planner.catalogue.entries import BadEntry, Entry, Place, device
from flyball_planner.catalogue.hardware import ComputeDevice
from flyball_planner.catalogue.names import NOISE, readings, words
from flyball_planner.catalogue.plain_entries import in_own_units
from flyball_planner.catalogue.processors import processor
from flyball_planner.catalogue.tables import table
from flyball_planner.precision import NumberFormat
from flyball_reports.errors import InputError, UnknownName, nearest, suggestion

Index = dict[frozenset[str], ComputeDevice]


class Registry(Struct):
    """Hardware that a program or a user's file adds; the only mutable state of the planner."""

    added: dict[str, ComputeDevice] = field(default_factory=dict)

    def add(self, new: ComputeDevice) -> None:
        """Add a device, or replace the one of this name."""
        self.added[new.name] = new

    def clear(self) -> None:
        """Remove all added devices."""
        self.added.clear()


REGISTRY = Registry()


class Profile(Struct, frozen=True):
    """A name for a device with the format to plan for, such as A100_80GB_fp16."""

    name: str
    device: str
    default_format: NumberFormat
    devices: int  # 1, or the number of a pod
    note: str = ""


SHOWN = 8  # matching devices that a message lists
MISSPELT = 0.85  # similarity of a name with one or two wrong letters
SHORTEST_NUMBER = 3  # digits of a model number, as in 4060 and H100


class SeveralDevices(InputError):
    """A name that matches several devices."""

    def __init__(self, name: str, fitting: Iterable[str]) -> None:
        names = sorted(fitting)
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        super().__init__(f"{name!r} may mean {', '.join(names[:SHOWN])}{more}; be more specific")


def devices() -> tuple[ComputeDevice, ...]:
    """Return all devices: added ones first, then the catalogue's."""
    added = tuple(REGISTRY.added.values())
    return added + tuple(each for each in _catalogue() if each.name not in REGISTRY.added)


@cache
def profiles() -> Mapping[str, Profile]:
    """Return the named profiles."""
    return {
        row["name"]: Profile(
            row["name"], row["device"], NumberFormat(row["default_format"]), int(row["devices"]), row["note"]
        )
        for row in table("profiles")
    }


def find_profile(name: str) -> Profile | None:
    """Return the profile of this name in any case; nothing if an added device replaces it."""
    return None if is_added(name) else _profiles_by_lower_case().get(name.strip().casefold())


def is_added(name: str) -> bool:
    """Return True if a program or a file has added a device of exactly this name, in any case."""
    asked = name.strip().casefold()
    return any(added.casefold() == asked for added in REGISTRY.added)


def find_device(name: str) -> ComputeDevice:
    """Return the device of a name in any usual spelling. A profile's device has the profile's format."""
    profile = find_profile(name)
    if profile:
        return replace(find_device(profile.device), default_format=profile.default_format)
    if name in REGISTRY.added:
        return REGISTRY.added[name]
    exactly = None if REGISTRY.added else _named(name)
    if exactly:
        return exactly
    index = {**_own_index(), **_index(REGISTRY.added.values())} if REGISTRY.added else _own_index()
    found = next((index[reading] for reading in readings(name) if reading in index), None) or _only(name, index)
    return REGISTRY.added.get(found.name, found)  # a device that replaces another one keeps the other's names


def register_hardware(
    entry: ComputeDevice | Mapping[str, object] | str, values: Mapping[str, object] | None = None
) -> ComputeDevice:
    """Add a device by its name and its values, or by an entry that contains its name.

    A device, a profile or an instance type of the same name is replaced.

    In plain units, `vram_gb` is the memory of the device, `mem_gb` that of its host, and `bandwidth_gbps` the device's
    memory bandwidth in GB/s:

    >>> made = register_hardware(
    ...     "my_custom_gpu",
    ...     {
    ...         "type": "gpu",
    ...         "peak_flops": 50e12,
    ...         "peak_flops_fp16": 100e12,
    ...         "mem_gb": 64,
    ...         "vram_gb": 24,
    ...         "bandwidth_gbps": 900,
    ...         "cost_per_hour": 2.00,
    ...     },
    ... )
    >>> made.memory_bytes / 2**30, made.memory_bytes_per_second, made.usd_per_hour
    (24.0, 900000000000.0, 2.0)

    The keys of a hardware file are accepted too:

    >>> made = register_hardware({"name": "A100 at 250 W", "like": "A100 80GB", "power_watts": 250})
    >>> made.power_watts, find_device("a100 at 250 w").memory_bytes / 2**30
    (250.0, 80.0)
    """
    if isinstance(entry, str):
        entry = _named_entry(entry, values)
    if not isinstance(entry, ComputeDevice | Mapping):
        raise InputError(f"register_hardware: expected a name in quotes, or keys with a name, not {entry!r}")
    if not isinstance(entry, ComputeDevice):
        text = {str(key): "" if value is None else _as_text(value) for key, value in entry.items()}
        place = Place(f"register_hardware({text.get('name', '')!r})")
        entry = device(based(text, place), place)
    REGISTRY.add(entry)
    return entry


def _named_entry(name: str, values: Mapping[str, object] | None) -> Mapping[str, object]:
    """Return an entry with its name."""
    if not isinstance(values, Mapping):
        raise InputError(
            f"register_hardware({name!r}): expected its values as a dictionary, such as "
            '{"type": "gpu", "peak_flops": 50e12, "vram_gb": 24, "bandwidth_gbps": 900}'
        )
    if values.get("name", name) != name:
        raise InputError(f"register_hardware({name!r}): its values have another name, {values['name']!r}")
    return {"name": name, **values}


def _as_text(value: object) -> str:
    """Return a value as a file has it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def based(entry: Entry, place: Place) -> Entry:
    """Return an entry in the catalogue's units, completed by the entry that its key `like` names."""
    entry = in_own_units(entry, place)
    if "like" not in entry:
        return entry
    model = find_device(entry["like"]).name
    row = next((row for row in table("accelerators") if row["name"] == model), None)
    if row is None:
        raise BadEntry(place, "like", f"{model} is not an accelerator of the catalogue; set all keys instead")
    given = {key: value for key, value in entry.items() if key != "like"}
    return {**row, "aliases": "", "source": f"as {model}, except {', '.join(sorted(given.keys() - {'name'}))}", **given}


SIZE = re.compile(r"[\s_-]*(?<![a-z\d])(?P<gigabytes>\d+)\s*GB?(?![a-z\d])", re.IGNORECASE)
"""The memory of a device in its name."""
ALL_DEVICES = "`flyball hardware` lists all; a hardware file or register_hardware() adds your own"


MISTYPED = 0.92  # share of equal letters above which a name is a known one with a letter wrong or two exchanged


def _is_specific(name: str) -> bool:
    """Return True if a name has a word of a model; the 2 of a DGX-2 is not one."""
    found = words(name)
    return not found <= NOISE - {"cpu", "processor"} and any(len(word) > 1 for word in found)


def _only(name: str, index: Index) -> ComputeDevice:
    fitting = {
        each.name: each for reading in readings(name) for known, each in index.items() if reading and reading <= known
    }
    if not _is_specific(name):
        fitting = {}
    if len(fitting) > 1:
        raise SeveralDevices(name, fitting)
    if not fitting:
        if not _is_specific(name):
            raise UnknownName("device", name, (), instead=f"name its model, such as RTX 4090; {ALL_DEVICES}")
        known = [*(each.name for each in devices()), *profiles()]
        typed = nearest(name, known, least=MISTYPED)
        same = [] if typed else _of_this_number(name, known)
        same = get_close_matches(name, same, 1, MISSPELT) or same
        if same:
            meant = f"did you mean one of {', '.join(same)}?" if len(same) > 1 else f"did you mean {same[0]!r}?"
            raise UnknownName("device", name, (), instead=meant)
        inside = "" if typed else _within(name, index)
        if inside:
            raise UnknownName("device", name, (), instead=f"did you mean {inside!r}?")
        others = [alias for each in devices() for alias in each.aliases]
        sizeless = SIZE.sub("", name).strip()  # nearest in letters would be any device of this size
        raise UnknownName("device", name, (), instead=suggestion(sizeless, known, others) or ALL_DEVICES)
    return next(iter(fitting.values()))


def _of_this_number(name: str, known: Iterable[str]) -> list[str]:
    """Return the devices with the model number of a name. An RTX 4060 Laptop is nearer to an RTX 4060 than to an RTX
    3080 Laptop, although fewer letters agree."""
    numbers = set(map(_number, words(name))) - {""}
    return [each for each in known if numbers & set(map(_number, words(each)))][:SHOWN]


def _number(word: str) -> str:
    """Return the number of a model without its last letters, as in MI300A and MI300X; empty if it has none."""
    found = re.match(r"[a-z]*\d+", word)
    number = found.group() if found and not word.endswith("gb") else ""
    return number if sum(map(str.isdigit, number)) >= SHORTEST_NUMBER else ""


def _within(name: str, index: Index) -> str:
    """Return the only device all of whose words are among those of a longer name, as in "Colab T4"; else nothing."""
    asked = words(name)
    found = {each.name for known, each in index.items() if known < asked and any(map(str.isdigit, "".join(known)))}
    return found.pop() if len(found) == 1 else ""


@cache
def _profiles_by_lower_case() -> Mapping[str, Profile]:
    return {name.casefold(): each for name, each in profiles().items()}


@cache
def _catalogue() -> tuple[ComputeDevice, ...]:
    names = (row["name"] for row in (*table("accelerators"), *table("cpus")))
    return tuple(filter(None, map(_named, names)))


@cache
def _named(name: str) -> ComputeDevice | None:
    """Return the catalogue's device of exactly this name, without reading the others."""
    row = next((row for row in table("accelerators") if row["name"] == name), None)
    return device(row, Place(f"accelerators.csv, {name}")) if row else processor(name)


@cache
def _own_index() -> Index:
    return _index(_catalogue())


def _index(known: Collection[ComputeDevice]) -> Index:
    """Index devices by the words of their names, with and without the size of their memory."""
    index: Index = {}
    for each in known:
        size = frozenset({f"{each.memory_bytes / 2**30:g}gb"})
        for spelled in (each.name, *each.aliases):
            index.setdefault(words(spelled) | size, each)
    for each in known:
        for spelled in (each.name, *each.aliases):
            index[words(spelled)] = each
    return index

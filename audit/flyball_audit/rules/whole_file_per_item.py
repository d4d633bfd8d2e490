"""`whole-file-per-item`: a data set reads, or opens, the same file for each of its samples."""

import ast
import re
from collections.abc import Iterator, Set

from flyball_audit.finding import Severity
from flyball_audit.given import argument, is_constant
from flyball_audit.guards import Rarity
from flyball_audit.index import nodes_below
from flyball_audit.module import Function, last_name
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region
from flyball_audit.rule import LIKELY, SUSPECTED, Match, Rule
from flyball_audit.samples import Sample, follows, samples

_OF_SAMPLES = re.compile(
    r"^(pandas|polars)\.read_(csv|parquet|pickle|json|ndjson|excel|feather|hdf|table|ipc)$|^geopandas\.read_file$"
    r"|^numpy\.(load|loadtxt|genfromtxt|fromfile)$|^torch\.load$|^(scipy\.io|mat73)\.loadmat$|^xml\.\w[\w.]*\.parse$"
    r"|^(json|pickle|yaml|joblib|msgpack|cPickle|dill|orjson|ujson)\.(load|safe_load)$|^safetensors\.torch\.load_file$"
)
"""Read a whole file that may hold many samples."""

_OF_MEDIA = re.compile(
    r"^(imageio|skimage\.io|cv2|tifffile)\.(v2\.|v3\.)?(imread|mimread|volread)$|^PIL\.Image\.open$"
    r"|^torchvision\.io\.(read_image|read_video)$|^(torchaudio|librosa|librosa\.core)\.load$|^soundfile\.read$"
)
"""Read a whole file that is one sample."""

_OPENING = re.compile(
    r"^h5py\.File$|^netCDF4\.(Dataset|MFDataset)$|^xarray\.(open_\w+)$|^rasterio\.open$|^zarr\.(open\w*)$|^lmdb\.open$"
    r"|^(lmdb\.Environment|tables\.open_file|sqlite3\.connect|zipfile\.ZipFile|tarfile\.open|tarfile\.TarFile)$"
    r"|^cv2\.VideoCapture$|^decord\.VideoReader$|^openslide\.(OpenSlide|open_slide)$|^pyarrow\.parquet\.ParquetFile$"
    r"|^datasets\.(load_from_disk|load_dataset)$|^nibabel\.load$|^av\.open$|^torchvision\.io\.VideoReader$"
)
"""Open a file, of which a part is read then: structures, tables of contents and indexes are read each time."""

_TEXT = frozenset({"read_text", "read_bytes", "readlines"})
"""Methods of paths and of open files that read all."""

_KEEPING = re.compile(r"cache|memo", re.IGNORECASE)
_ASKED_FIRST = re.compile(r"\bnot in\b|\bis None\b|\bis not None\b|hasattr|cache", re.IGNORECASE)
"""In conditions: what was read before is asked for first."""

_SELDOM = frozenset({Rarity.PERIODIC, Rarity.RARE})


def look(module: Module, project: Project) -> Iterator[Match]:
    """Reads, for each sample, of files that are the same for all, or of which the sample is one entry of many."""
    for sample in samples(module, project):
        if not any(_is_kept(each) for each in sample.functions):
            for call in sample.region.all(ast.Call):
                if not _is_read_before(sample.region, call):
                    yield from _of_call(sample, call)


def _of_call(sample: Sample, call: ast.Call) -> Iterator[Match]:
    name, file = _read(sample.region.module, call)
    if file is None:
        return
    if not follows(file, sample.following()):
        yield _same(sample, call, opens=_OPENING.search(name) is not None)
    elif _OF_SAMPLES.search(name) and not _is_mapped(call):
        place = _entry(sample, call, file)
        if place is not None:
            yield _one_of_many(sample, call, place)


def _read(module: Module, call: ast.Call) -> tuple[str, ast.expr | None]:
    """The full name of what reads, or opens, and the file; nothing if the call does neither."""
    name = module.qualified(call.func) or ""
    if last_name(call) in _TEXT and isinstance(call.func, ast.Attribute) and not name:
        return last_name(call), call.func.value
    reads = _OF_SAMPLES.search(name) or _OF_MEDIA.search(name) or _OPENING.search(name)
    if not reads or _is_mapped(call):
        return name, None
    first = call.args[0] if call.args else next((each.value for each in call.keywords if each.arg in _FILES), None)
    return name, first


_FILES = frozenset({"file", "path", "filename", "fp", "f", "filepath_or_buffer", "io", "name", "fname", "uri"})
"""What such functions call the file that they are handed."""


def _is_mapped(call: ast.Call) -> bool:
    """Whether a file is mapped, or a part of it is asked for."""
    mode = argument(call, "mmap_mode", 1) or argument(call, "mmap")
    mapped = mode is not None and not is_constant(mode, None) and last_name(call) in {"load", "load_file"}
    return mapped or any(each.arg in _PARTS for each in call.keywords)


_PARTS = frozenset(
    {"frame_offset", "offset", "num_frames", "frames", "start", "skiprows", "nrows", "chunksize", "filters"}
)


def _is_kept(function: Function) -> bool:
    """Whether what a function gives is kept by its decorators."""
    return any(_KEEPING.search(ast.unparse(each)) for each in function.decorator_list)


def _is_read_before(region: Region, call: ast.Call) -> bool:
    """Whether it is asked first if the file has been read already, or it is read seldom."""
    guards = region.guards(call)
    if any(each.rarity in _SELDOM or _ASKED_FIRST.search(ast.unparse(each.test)) for each in guards):
        return True
    early = (each for each in nodes_below(region.root) if isinstance(each, ast.If) and each.lineno < call.lineno)
    return any(isinstance(each.body[-1], ast.Return) and _asks_a_table(each.test) for each in early)


def _asks_a_table(test: ast.expr) -> bool:
    """Whether a condition asks if something is there: `key in self.known`, `self.frame is not None`, `self.frame`."""
    compares = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In | ast.IsNot)
    return compares or isinstance(test, ast.Attribute) or _ASKED_FIRST.search(ast.unparse(test)) is not None


def _entry(sample: Sample, call: ast.Call, file: ast.expr) -> ast.expr | None:
    """By which of the item's numbers an entry of what is read is taken, if that is another than the file's."""
    known = sample.following(call.lineno) | sample.handed
    of_file = _names(file) & known
    counted = any(isinstance(each, ast.BinOp) and isinstance(each.op, ast.FloorDiv) for each in nodes_below(file))
    for each in _subscripts(sample.region, call):
        if follows(each.slice, known) and (counted or _names(each.slice) & known - of_file):
            return each.slice
    return None


def _subscripts(region: Region, call: ast.Call) -> Iterator[ast.Subscript]:
    """What is taken of the result: in the same expression, or of the variable that holds it."""
    module, below = region.module, call
    for above in module.ancestors(call):
        if isinstance(above, ast.Subscript) and above.value is below:
            yield above
        if isinstance(above, ast.stmt | ast.withitem):
            break
        below = above  # type: ignore[assignment]  # any expression
    held = _holders(module, call)
    for each in region.all(ast.Subscript):
        root: ast.expr = each.value
        while isinstance(root, ast.Subscript):
            root = root.value
        if isinstance(root, ast.Name) and root.id in held and each.lineno >= call.lineno:
            yield each


def _holders(module: Module, call: ast.Call) -> Set[str]:
    """The variable that a result is put in."""
    for above in module.ancestors(call):
        if isinstance(above, ast.withitem) and above.optional_vars is not None:
            return _names(above.optional_vars)
        if isinstance(above, ast.stmt):
            plain = isinstance(above, ast.Assign) and above.value is call
            return {name for each in above.targets for name in _names(each)} if plain else set()  # type: ignore[attr-defined]  # an assignment
    return set()


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in nodes_below(node) if isinstance(each, ast.Name)} - {"self"}


def _same(sample: Sample, call: ast.Call, *, opens: bool) -> Match:
    region = sample.region
    plain = not opens and not region.guards(call)
    does = "opens the same file" if opens else "reads the whole file"
    return Match(
        call,
        f"`{region.module.quote(call)}` {does} for each {_unit(sample)}",
        f"`{sample.maker.name}` runs it, and the file does not depend on the requested index",
        LIKELY if plain else SUSPECTED,
        None if plain else Severity.NOTE,
        change=_CHANGE_OPENING if opens else None,
        module=region.module,
    )


def _one_of_many(sample: Sample, call: ast.Call, place: ast.expr) -> Match:
    module = sample.region.module
    counted = "//" in ast.unparse(sample.region.root) or "divmod(" in ast.unparse(sample.region.root)
    plain = counted and not isinstance(place, ast.Slice | ast.Tuple) and not sample.region.guards(call)
    return Match(
        call,
        f"`{module.quote(call)}` reads a whole file for one entry of it",
        f"`{sample.maker.name}` takes `[{module.quote(place)}]` from it and discards the rest, for each "
        f"{_unit(sample)}",
        LIKELY if plain else SUSPECTED,
        None if plain else Severity.NOTE,
        module=module,
    )


def _unit(sample: Sample) -> str:
    return "sample" if sample.maker.name == "__getitem__" else "batch"


_CHANGE_OPENING = (
    "Open it once in each worker, when the first sample is requested, and keep it: `if self.file is None: self.file "
    "= …`."
)

RULE = Rule(
    id="whole-file-per-item",
    severity=Severity.WARNING,
    summary="A data set reads or opens the same file again for each sample.",
    cause="Every sample reads and parses the whole file again, so an epoch reads the file once for each sample.",
    change="Read the file once in `__init__`, or map it (`np.load(path, mmap_mode='r')`, Arrow, HDF5) and take the "
    "row.",
    expected="one read instead of one for each sample",
    source="arithmetic: number of reads",
    before="def __getitem__(self, index):\n    return pd.read_csv(self.path).iloc[index]",
    after="def __init__(self, path):\n    self.frame = pd.read_csv(path)\n\ndef __getitem__(self, index):\n    return "
    "self.frame.iloc[index]",
    look=look,
    words=("__getitem__", "collate_fn"),
)

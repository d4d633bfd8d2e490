"""`per-item-database-writes`: a statement, and often a transaction, for each item that is written."""

import ast
import re
from collections.abc import Iterable, Iterator

from flyball_audit.finding import Severity
from flyball_audit.items import Item, repeated
from flyball_audit.module import last_name
from flyball_audit.names import code_of
from flyball_audit.project import Module, Project
from flyball_audit.rule import LIKELY, SUSPECTED, Match, Rule

_REMOTE_SQL = (
    r"(psycopg(2|_pool)?|psycopg2cffi|pymysql|MySQLdb|mysql\.connector|asyncpg|aiomysql|aiopg|pyodbc|oracledb"
    r"|cx_Oracle|clickhouse_driver|snowflake\.connector)"
)
_OTHERS = re.compile(
    r"^sqlite_utils\..*\.(insert|upsert|update|delete)$|^sqlalchemy\..*\.(execute|merge|flush)$|^duckdb\b.*\.(execute|sql)$"
    r"|^neo4j\b.*\.(run|execute_query)$|^(elasticsearch|opensearchpy)\..*\.(index|update|delete)$"
    r"|^boto3\..*\.(put_item|update_item|delete_item)$|^tinydb\..*\.(insert|upsert|update)$"
    r"|^(chromadb|qdrant_client|pinecone|pymilvus|lancedb|weaviate)\b.*\.(add|upsert|insert|update|insert_one)$"
    r"|^google\.cloud\.firestore\..*\.(set|add|update)$|^influxdb_client\..*\.write$"
)
"""Of other databases, and of stores of vectors: each answers before the next is sent."""

_WRITES = re.compile(
    rf"^{_REMOTE_SQL}\b.*\.(execute|commit)$"
    r"|^sqlite3\..*\.commit$|^sqlalchemy\..*\.commit$"
    r"|^(pymongo|motor)\..*\.(insert_one|update_one|replace_one|delete_one|find_one_and_\w+)$"
    r"|^redis\.(?!.*\.pipeline\(\)).*\.(set|setex|hset|hmset|rpush|lpush|sadd|zadd|incr|incrby|expire|delete|publish|xadd)$"
)
_NAMES = re.compile(
    r"(put_item|update_item|delete_item|insert|upsert|update|add|index|run|execute_query|write|sql|execute|commit"
    r"|merge|flush|insert_one|update_one|replace_one|delete_one|find_one_and_\w+|set|setex|hset|hmset|rpush|lpush|sadd"
    r"|zadd|incr|incrby|expire|delete|publish|xadd)$"
)
"""Of all these methods, so that the others' paths need not be looked for."""

_WITHIN_COMMITS = re.compile(r"^sqlite3\..*\.execute$")
"""Cheap within one transaction, dear where each has its own."""

_READS = re.compile(r"^\s*(select|show|pragma|explain|begin|create|drop|alter)\b", re.IGNORECASE)

_LIBRARIES = (
    "psycopg", "mysql", "MySQLdb", "asyncpg", "pyodbc", "oracledb", "cx_Oracle", "clickhouse_driver", "sqlite3",
    "sqlalchemy", "pymongo", "motor", "redis", "aiomysql", "aiopg", "snowflake", "sqlite_utils", "duckdb", "neo4j",
    "elasticsearch", "opensearchpy", "boto3", "tinydb", "chromadb", "qdrant", "pinecone", "pymilvus", "lancedb",
    "weaviate", "firestore", "influxdb_client", "django", "peewee", "mongoengine", "pony", "INSERT INTO", ".commit()",
    ".save()", "storage.", ".insert_", ".upsert", ".add_document", ".add_text", ".add_embedding",
)  # fmt: skip

_WRITING = re.compile(r"\b(insert|update|delete|upsert|replace|merge|create|set|remove)\b", re.IGNORECASE)
"""In what is executed, where a library does not tell writing from reading."""

_OBJECTS = re.compile(r"\.objects\.(create|get_or_create|update_or_create)$")
_MODELS = re.compile(r"^(django\.db\.models\.Model|peewee\.Model|mongoengine\.(\w+\.)?Document|pony\.orm\..*)$")
"""Classes whose instances are rows: `save` writes one."""


def look(module: Module, project: Project) -> Iterator[Match]:
    """The module's writes, wherever a loop over items leads to them."""
    calls = [call for call in module.all(ast.Call) if _NAMES.match(last_name(call))]
    paths = [(call, path) for call in calls if (path := project.origins.of(module, call.func))]
    commits = {
        _place(module, call) for call, path in paths if path.startswith("sqlite3.") and last_name(call) == "commit"
    }
    commits |= {_place(module, each) for each in _transactions(module, project)}
    for call, path in paths:
        alone = _WITHIN_COMMITS.search(path) and _place(module, call) in commits
        usual = _WRITES.search(path) or alone
        if (usual or _writes_elsewhere(call, path)) and not _reads(project, module, call):
            for item in repeated(project, module, call):
                yield _match(item, call, usual=bool(usual))
    for call in _seeming(module, project, calls):
        for item in repeated(project, module, call):
            yield _match(item, call, usual=False)
    for call in module.calls_named("save"):
        for item in repeated(project, module, call):
            if _saves_item(item, call):
                yield _match(item, call, usual=False)
    yield from (
        _of_one(module, call) for call in module.calls_named("add", "upsert") if _adds_one(project, module, call)
    )


def _seeming(module: Module, project: Project, calls: Iterable[ast.Call]) -> Iterator[ast.Call]:
    """The calls that write in all likelihood, as they read: nothing tells whose they are."""
    for call in calls:
        if _NAMES_OF_UNKNOWN.match(last_name(call)) and _reads_like_a_write(project, module, call):
            yield call
    yield from (each for each in module.all(ast.Call) if _stores(project, module, each))
    for call in module.calls_named("save", "create", "get_or_create", "update_or_create"):
        if _saves_row(module, project, call):
            yield call


_NAMES_OF_UNKNOWN = re.compile(r"(execute|commit|merge|flush)$")
_HOLDERS = re.compile(
    r"(^|[._])(session|conn|connection|db|database|cnx|cursor|cur|tx|transaction)(\(\))?$", re.IGNORECASE
)
"""What sessions, connections and cursors are called, whoever opened them."""


def _reads_like_a_write(project: Project, module: Module, call: ast.Call) -> bool:
    """Whether what seems to be a connection writes, though nothing tells whose it is: it was handed over."""
    func = call.func
    if not isinstance(func, ast.Attribute) or not _HOLDERS.search(code_of(func.value)):
        return False
    if project.origins.of(module, func) is not None:
        return False
    if func.attr != "execute":
        return func.attr == "commit" or (
            len(call.args) == (func.attr == "merge") and "sqlalchemy" in module.source.text
        )
    known = _begins_with(project, module, call)
    return known is not None and _ROWS.match(known) is not None and not module.says_any(("sqlite",))


_ROWS = re.compile(r"\s*(insert|update|delete|replace|upsert|merge)\b", re.IGNORECASE)


_STORES = re.compile(
    r"(^|[._])(\w+_)?(db|database|collection|vector_?store|vector_?db|vectordb|doc(ument)?_?store|table|store|index)$",
    re.IGNORECASE,
)
_STORING = re.compile(
    r"^(insert|upsert)(_(one|embedding|document|doc|row|record|item|vector|text|sample))?$|^add_(document|text|embedding)$"
)
"""In names of methods that write one thing into a store."""


_STORAGES = re.compile(r"(^|[._])(storage|storage_adapter|repository)$", re.IGNORECASE)
_KEEPING = frozenset({"update", "create", "insert", "save", "remove"})
"""Methods by which what is called a storage is handed one thing."""


def _stores(project: Project, module: Module, call: ast.Call) -> bool:
    """Whether what is called a database or a store is handed one thing, though nothing tells whose it is."""
    func = call.func
    if not isinstance(func, ast.Attribute) or not call.args:
        return False
    stores = _STORING.search(func.attr) and _STORES.search(code_of(func.value))
    if not stores and not (func.attr in _KEEPING and _STORAGES.search(code_of(func.value))):
        return False
    plain = (each for each in call.args if isinstance(each, ast.Constant))  # `names.insert(0, x)` of a list
    if any(isinstance(each.value, int) for each in plain):
        return False
    path = project.origins.of(module, func)
    return path is None or not (_WRITES.search(path) or _OTHERS.search(path) or _OF_LISTS.match(path))


_OF_LISTS = re.compile(r"(builtins|collections|torch|numpy|pandas|os|pathlib)\.")


def _saves_item(item: Item, call: ast.Call) -> bool:
    """Whether an item of a loop is told to save itself, as rows of mappers are: `row.save()`."""
    held = call.func.value if isinstance(call.func, ast.Attribute) else None
    target = item.loop.target if isinstance(item.loop, ast.For | ast.AsyncFor) else None
    if call is not item.call or call.args or not isinstance(held, ast.Name) or target is None:
        return False
    if _FILES.search(held.id):
        return False
    return any(isinstance(each, ast.Name) and each.id == held.id for each in ast.walk(target))


_FILES = re.compile(
    r"fig|plot|chart|ax|image|img|pic|canvas|model|net|trainer|checkpoint|ckpt|writer|page|doc|book|sheet|config|setting|file"
)
"""In names of what saves itself into a file."""


def _adds_one(project: Project, module: Module, call: ast.Call) -> bool:
    """Whether a store of vectors is handed lists of one, in a function that takes one thing."""
    given = {each.arg: each.value for each in call.keywords}
    ids = given.get("ids")
    if not isinstance(ids, ast.List) or len(ids.elts) != 1 or isinstance(ids.elts[0], ast.Starred | ast.Constant):
        return False
    return module.function_of(call) is not None and next(repeated(project, module, call), None) is None


def _of_one(module: Module, call: ast.Call) -> Match:
    return Match(
        call,
        f"`{module.quote(call)}` writes one item to a store that accepts lists",
        "callers with several items call it once for each, and each call waits for the store",
        SUSPECTED,
        Severity.NOTE,
        module=module,
    )


def _transactions(module: Module, project: Project) -> Iterator[ast.With]:
    """The `with connection:` of SQLite, at whose end it commits."""
    for item in module.all(ast.withitem):
        around = module.parent(item)
        if isinstance(around, ast.With) and project.origins.of(module, item.context_expr) == "sqlite3.connect()":
            yield around


def _writes_elsewhere(call: ast.Call, path: str) -> bool:
    """Whether another kind of database is written to, as far as the statement tells."""
    if not _OTHERS.search(path):
        return False
    said = ast.unparse(call.args[0]) if call.args else ""
    return last_name(call) not in _EXECUTING or _WRITING.search(said) is not None


_EXECUTING = frozenset({"execute", "run", "sql", "execute_query"})


def _saves_row(module: Module, project: Project, call: ast.Call) -> bool:
    """Whether an object-relational mapper writes one row: `row.save()`, `Row.objects.create(…)`."""
    if last_name(call) != "save":
        return _OBJECTS.search(code_of(call.func)) is not None
    held = project.flow.value(module, call.func.value) if isinstance(call.func, ast.Attribute) else None
    made = held.definition if held is not None and held.is_instance else None
    return made is not None and any(_MODELS.search(each) for each in project.flow.bases(made))


def _place(module: Module, call: ast.AST) -> ast.AST:
    """The nearest loop or function."""
    kinds = (ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.AsyncFunctionDef)
    return next((each for each in module.ancestors(call) if isinstance(each, kinds)), module.tree)


def _reads(project: Project, module: Module, call: ast.Call) -> bool:
    """Whether a statement's text begins as a question."""
    said = _begins_with(project, module, call)
    return said is not None and bool(_READS.search(said))


def _begins_with(project: Project, module: Module, call: ast.Call) -> str | None:
    """The text with which a statement begins; what a variable holds, it says too."""
    first = call.args[0] if call.args else None
    while isinstance(first, ast.JoinedStr | ast.BinOp | ast.Call):
        if isinstance(first, ast.Call):  # `text("SELECT …")`
            first = first.args[0] if first.args else None
        else:
            first = first.left if isinstance(first, ast.BinOp) else next(iter(first.values), None)
    known = project.flow.value(module, first).literal if isinstance(first, ast.Name | ast.Attribute) else None
    said = first.value if isinstance(first, ast.Constant) else known.value if known is not None else None
    return said if isinstance(said, str) else None


def _match(item: Item, write: ast.Call, *, usual: bool) -> Match:
    leads = "" if write is item.call else f"; the write is done by `{ast.unparse(write.func)}`"
    aside = _is_aside(item)
    return Match(
        item.call,
        f"`{item.module.quote(item.call)}` writes to a database once {item.in_words}",
        f"each iteration waits for the database, and for its disk if it commits{leads}{_ASIDE if aside else ''}",
        SUSPECTED if aside or not usual else LIKELY,
        Severity.NOTE if aside or not usual else None,
        module=item.module,
    )


_ASIDE = "; each iteration also does other work, which may take longer"


def _is_aside(item: Item) -> bool:
    """Whether writing is a small part of what a turn does: several calls down, or one of many calls."""
    calls = sum(isinstance(each, ast.Call) for each in ast.walk(item.loop))
    return len(item.through) > 1 or (bool(item.through) and calls > MANY)


MANY = 12
"""Calls in a loop of which one leads to a write: who adds rows makes fewer; our choice."""


RULE = Rule(
    id="per-item-database-writes",
    severity=Severity.WARNING,
    summary="A database is written to once for each item.",
    cause="A statement costs a round trip, and a transaction waits for the disk. Both take the same time for one "
    "row as for a thousand.",
    change="Collect the rows and write them together: `executemany`, `insert_many`, `bulk_write` or a pipeline. "
    "Commit once for all rows.",
    expected="up to a thousand times more rows a second: a rotating disk handles a few dozen transactions, but "
    "50,000 rows in one transaction",
    source="SQLite's FAQ, “INSERT is really slow”: https://www.sqlite.org/faq.html#q19",
    before="for row in rows:\n    cursor.execute(INSERT, row)\n    connection.commit()",
    after="with connection:\n    connection.executemany(INSERT, rows)",
    look=look,
    words=_LIBRARIES,
)

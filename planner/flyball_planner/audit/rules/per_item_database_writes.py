"""`per-item-database-writes`: a statement, and often a transaction, for each item that is written."""

import ast
import re
from collections.abc import Iterator

from flyball_planner.audit.finding import Severity
from flyball_planner.audit.items import Item, repeated
from flyball_planner.audit.module import last_name
from flyball_planner.audit.project import Module, Project
from flyball_planner.audit.rule import LIKELY, SUSPECTED, Match, Rule

_REMOTE_SQL = r"(psycopg2?|pymysql|MySQLdb|mysql\.connector|asyncpg|pyodbc|oracledb|cx_Oracle|clickhouse_driver)"
_WRITES = re.compile(
    rf"^{_REMOTE_SQL}\b.*\.(execute|commit)$"
    r"|^sqlite3\..*\.commit$|^sqlalchemy\..*\.commit$"
    r"|^(pymongo|motor)\..*\.(insert_one|update_one|replace_one|delete_one|find_one_and_\w+)$"
    r"|^redis\.(?!.*\.pipeline\(\)).*\.(set|setex|hset|hmset|rpush|lpush|sadd|zadd|incr|incrby|expire|delete|publish|xadd)$"
)
_NAMES = re.compile(
    r"(execute|commit|insert_one|update_one|replace_one|delete_one|find_one_and_\w+|set|setex|hset|hmset|rpush|lpush|sadd"
    r"|zadd|incr|incrby|expire|delete|publish|xadd)$"
)
_WITHIN_COMMITS = re.compile(r"^sqlite3\..*\.execute$")
"""Cheap within one transaction, dear where each has its own."""

_READS = re.compile(r"^\s*(select|show|pragma|explain|begin|create|drop|alter)\b", re.IGNORECASE)

_LIBRARIES = (
    "psycopg", "mysql", "MySQLdb", "asyncpg", "pyodbc", "oracledb", "cx_Oracle", "clickhouse_driver", "sqlite3",
    "sqlalchemy", "pymongo", "motor", "redis",
)  # fmt: skip


def look(module: Module, project: Project) -> Iterator[Match]:
    """The module's writes, wherever a loop over items leads to them."""
    calls = [call for call in module.all(ast.Call) if _NAMES.match(last_name(call))]
    paths = [(call, path) for call in calls if (path := project.origins.of(module, call.func))]
    commits = {
        _place(module, call) for call, path in paths if path.startswith("sqlite3.") and last_name(call) == "commit"
    }
    for call, path in paths:
        alone = _WITHIN_COMMITS.search(path) and _place(module, call) in commits
        if (_WRITES.search(path) or alone) and not _reads(call):
            for item in repeated(project, module, call):
                yield _match(item, call)


def _place(module: Module, call: ast.Call) -> ast.AST:
    """The nearest loop or function."""
    kinds = (ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.AsyncFunctionDef)
    return next((each for each in module.ancestors(call) if isinstance(each, kinds)), module.tree)


def _reads(call: ast.Call) -> bool:
    first = call.args[0] if call.args else None
    return isinstance(first, ast.Constant) and isinstance(first.value, str) and bool(_READS.search(first.value))


def _match(item: Item, write: ast.Call) -> Match:
    leads = "" if write is item.call else f", which ends in `{ast.unparse(write.func)}`"
    aside = _is_aside(item)
    return Match(
        item.call,
        f"`{item.module.quote(item.call)}` writes to a database once {item.in_words}",
        f"each turn waits for the database, and for its disk where it commits{leads}{_ASIDE if aside else ''}",
        SUSPECTED if aside else LIKELY,
        Severity.NOTE if aside else None,
        module=item.module,
    )


_ASIDE = "; each turn does other things beside, which may take longer"


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
    cause="A statement costs a round trip, and a transaction waits until the disk has it; both are the same for one "
    "row or a thousand.",
    change="Collect rows and write them together: `executemany`, `insert_many`, `bulk_write`, a pipeline; commit once "
    "for all.",
    expected="up to a thousand times more rows a second: a rotating disk takes a few dozen transactions, but 50,000 "
    "rows within one",
    source="SQLite's FAQ, “INSERT is really slow”: https://www.sqlite.org/faq.html#q19",
    before="for row in rows:\n    cursor.execute(INSERT, row)\n    connection.commit()",
    after="with connection:\n    connection.executemany(INSERT, rows)",
    look=look,
    words=_LIBRARIES,
)

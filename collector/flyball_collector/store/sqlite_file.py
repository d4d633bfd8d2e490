"""One SQLite file: its schema, one writing connection, several reading ones, and errors that state what to do."""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from flyball_collector.store.contract import StoreError, StoreUnavailable
from flyball_daemon.file_faults import write_fault

SCHEMA_VERSION = 1
APPLICATION_ID = 0x466C7962  # "Flyb": identifies our files

BUSY_SECONDS = 10.0
_MAX_IDLE_READERS = 8

_SCHEMA = """
CREATE TABLE hosts (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE epochs (
  id INTEGER PRIMARY KEY, host_id INTEGER NOT NULL, epoch BLOB NOT NULL, UNIQUE (host_id, epoch)
);
CREATE TABLE blocks (
  id INTEGER PRIMARY KEY,
  host_id INTEGER NOT NULL,
  epoch_id INTEGER NOT NULL,
  number INTEGER NOT NULL,
  ticks INTEGER NOT NULL,
  revision INTEGER NOT NULL,      -- grows with every change
  first_ns INTEGER NOT NULL,
  last_ns INTEGER NOT NULL,
  received_ns INTEGER NOT NULL,
  pending INTEGER NOT NULL,       -- 1: the summary is not in chunks yet
  rolled_hour INTEGER,            -- in whose chunks the points are
  present BLOB NOT NULL,          -- ranges, relative to the block's first sequence
  lost BLOB NOT NULL,
  refused BLOB NOT NULL,
  summary BLOB NOT NULL,          -- empty once it is in chunks
  payload BLOB NOT NULL,
  UNIQUE (epoch_id, number)
);
CREATE INDEX blocks_by_time ON blocks (host_id, last_ns, first_ns);
CREATE INDEX blocks_by_receipt ON blocks (pending, received_ns);
CREATE INDEX blocks_pending ON blocks (host_id, first_ns) WHERE pending;
CREATE TABLE metrics (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY,
  host_id INTEGER NOT NULL,
  metric_id INTEGER NOT NULL,
  hour INTEGER NOT NULL,
  received_ns INTEGER NOT NULL,
  body BLOB NOT NULL,
  UNIQUE (host_id, metric_id, hour)
);
CREATE INDEX chunks_by_receipt ON chunks (received_ns);
CREATE TABLE documents (
  kind TEXT NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL, revision INTEGER NOT NULL, updated_ns INTEGER NOT NULL,
  PRIMARY KEY (kind, id)
);
CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, token INTEGER NOT NULL, expires_ns INTEGER NOT NULL);
"""

# For each primary result code: whether it may pass without help, and what to do.
_REMEDIES: dict[int, tuple[type[StoreError], str]] = {
    sqlite3.SQLITE_BUSY: (StoreUnavailable, "another process has locked it: end that process, or wait"),
    sqlite3.SQLITE_LOCKED: (StoreUnavailable, "another process has locked it: end that process, or wait"),
    sqlite3.SQLITE_FULL: (StoreUnavailable, "the disk is full: free space, or lower store.max_bytes"),
    sqlite3.SQLITE_READONLY: (StoreUnavailable, "it is read-only: check the mount, the owner and the mode"),
    sqlite3.SQLITE_IOERR: (StoreUnavailable, "the disk failed or is full: check the kernel's log and the free space"),
    sqlite3.SQLITE_CANTOPEN: (StoreUnavailable, "it cannot be opened: check the folder, the owner and the mode"),
    sqlite3.SQLITE_PROTOCOL: (StoreUnavailable, "file locks do not work there: use a local disk, not NFS"),
    sqlite3.SQLITE_NOMEM: (StoreUnavailable, "out of memory"),
    sqlite3.SQLITE_CORRUPT: (StoreError, "the file is damaged: restore a backup, or move it away to start empty"),
    sqlite3.SQLITE_NOTADB: (StoreError, "it is not a SQLite file: name another path, or move it away"),
}


@contextlib.contextmanager
def store_errors(path: Path, doing: str) -> Iterator[None]:
    """Turn SQLite's and the system's errors into store errors: what failed, where, and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        kind, remedy = _REMEDIES.get(code & 0xFF, (StoreError, "unexpected error: please report it"))
        raise kind(f"{doing} in {path} failed: {error}; {remedy}") from error
    except OSError as error:
        raise StoreUnavailable(f"{doing} failed: {write_fault(path, error)}") from error


class SqliteFile:
    """Connections to one file, for several threads and beside other processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._closed = False
        self._writing = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._idle_lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        with store_errors(path, "opening the store"):
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        with self.write("opening the store"):
            """Check that the schema exists and the file is writable."""

    @contextlib.contextmanager
    def write(self, doing: str) -> Iterator[sqlite3.Connection]:
        """Run one durable transaction: all or nothing. Writers, also of other processes, run one after another."""
        with self.exclusive(doing) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def exclusive(self, doing: str) -> Iterator[sqlite3.Connection]:
        """Use the writing connection without a transaction. One that failed is not used again."""
        with store_errors(self.path, doing), self._writing:
            self._check_open()
            if self._writer is None:
                self._writer = self._open_writer()
            try:
                yield self._writer
            except sqlite3.Error:
                self._writer.close()
                self._writer = None
                raise

    @contextlib.contextmanager
    def read(self, doing: str) -> Iterator[sqlite3.Connection]:
        """Read one consistent view of the file, whatever is written meanwhile."""
        with store_errors(self.path, doing):
            connection = self._take_reader()
            try:
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                connection.close()
                raise
            self._return_reader(connection)

    def close(self) -> None:
        """Close every connection. Calls in progress finish; later ones are refused."""
        self._closed = True
        with self._writing, self._idle_lock:
            # Readers first: the last connection to close moves the log into the file.
            while self._idle:
                self._idle.pop().close()
            if self._writer is not None:
                self._writer.close()
                self._writer = None

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"the store {self.path} is closed")

    def _take_reader(self) -> sqlite3.Connection:
        self._check_open()
        with self._idle_lock:
            if self._idle:
                return self._idle.pop()
        connection = self._connect()
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _return_reader(self, connection: sqlite3.Connection) -> None:
        with self._idle_lock:
            if not self._closed and len(self._idle) < _MAX_IDLE_READERS:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> sqlite3.Connection:
        # mode=rw: a file that was moved away is an error; SQLite must not create an empty one.
        uri = f"{self.path.absolute().as_uri()}?mode=rw"
        return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)

    def _open_writer(self) -> sqlite3.Connection:
        connection = self._connect()
        try:
            _prepare(connection, self.path)
        except BaseException:
            connection.close()
            raise
        return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    # FULL: in WAL mode NORMAL does not flush at commit, and a power failure could lose acknowledged data.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # only takes effect in a new file
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA journal_size_limit = 67108864")
    connection.execute("PRAGMA secure_delete = OFF")
    connection.execute("PRAGMA temp_store = MEMORY")
    if pragma(connection, "user_version") == SCHEMA_VERSION:
        _check_owner(connection, path)
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        _migrate(connection, path)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Create or check the schema. Another process may have created it before the lock, so the version is read again."""
    version = pragma(connection, "user_version")
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{path} has schema {version}, this version of Flyball supports up to {SCHEMA_VERSION}: "
            "upgrade Flyball, or restore a backup made by this version"
        )
    if version == 0:
        if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            raise StoreError(f"{path} has tables of another program; set another path in store.url")
        for statement in _SCHEMA.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    _check_owner(connection, path)


def _check_owner(connection: sqlite3.Connection, path: Path) -> None:
    if pragma(connection, "application_id") != APPLICATION_ID:
        raise StoreError(f"{path} is not a Flyball store; set another path in store.url")


def pragma(connection: sqlite3.Connection, name: str) -> int:
    """Return the value of a numeric pragma."""
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])

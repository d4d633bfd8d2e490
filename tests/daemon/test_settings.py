import contextlib
from pathlib import Path
from typing import Annotated

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from flyball_daemon.keys import describe
from flyball_daemon.settings import Loaded, SettingsError, load


class Spool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    max_bytes: Annotated[int, Meta(ge=0, description="How much is kept.")] = 512
    sync_seconds: Annotated[float, Meta(gt=0)] = 5.0


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    host: str = ""
    collector: tuple[str, ...] = ("127.0.0.1:3590",)
    compression: bool = False
    log_level: Annotated[str, Meta(pattern="^(debug|info)$")] = "info"
    spool: Spool = Spool()


def read(tmp_path: Path, text: str, **options: object) -> Loaded[Example]:
    file = tmp_path / "agent.toml"
    file.write_text(text)
    environment = options.get("environment", {})
    assignments = options.get("assignments", ())
    assert isinstance(environment, dict)
    assert isinstance(assignments, tuple)
    return load(Example, file=file, prefix="FLYBALL_AGENT_", environment=environment, assignments=assignments)


def problems(tmp_path: Path, text: str, **options: object) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, text, **options)
    return tuple(problem.replace(f"{tmp_path}/", "") for problem in caught.value.problems)


def test_without_anything_every_key_has_its_default() -> None:
    """Without any source every key has its default, and its origin is the default."""
    loaded = load(Example)
    assert loaded.settings == Example()
    assert set(loaded.origins.values()) == {"default"}
    assert "spool.max_bytes" in loaded.origins


def test_each_source_overrides_the_previous_one(tmp_path: Path) -> None:
    """Defaults < file < environment < --set; the origin is the source of the value."""
    loaded = read(
        tmp_path,
        'host = "a"\ncompression = true\n\n[spool]\nmax_bytes = 1\nsync_seconds = 2\n',
        environment={"FLYBALL_AGENT_SPOOL__MAX_BYTES": "3", "FLYBALL_AGENT_HOST": "b", "PATH": "/bin"},
        assignments=("spool.max_bytes=4",),
    )
    assert loaded.settings == Example(host="b", compression=True, spool=Spool(max_bytes=4, sync_seconds=2.0))
    assert loaded.origins["spool.max_bytes"] == "--set"
    assert loaded.origins["host"] == "environment FLYBALL_AGENT_HOST"
    assert loaded.origins["spool.sync_seconds"] == f"{tmp_path}/agent.toml:6"
    assert loaded.origins["log_level"] == "default"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("intervall = 1\n", "there is no setting 'intervall'"),
        (
            "[spool]\n\nmax_byte = 1\n",
            "agent.toml:3: there is no setting 'spool.max_byte'; did you mean 'spool.max_bytes'?",
        ),
        ("max_bytes = 1\n", "did you mean 'spool.max_bytes'?"),
        (
            "spool = 3\n",
            "agent.toml:1: spool is a table, not a value; its keys are spool.max_bytes, spool.sync_seconds",
        ),
        ("[spool]\nmax_bytes = 'x'\n", "agent.toml:2: spool.max_bytes: expected an integer (at least 0), not 'x'"),
        ("[spool]\nmax_bytes = -1\n", "spool.max_bytes: expected an integer (at least 0), not -1"),
        ("log_level = 'loud'\n", "log_level: expected one of debug, info, not 'loud'"),
        ("log_level = 'inf'\n", "log_level: expected one of debug, info, not 'inf'; did you mean 'info'?"),
        ("collector = ['a', 7]\n", "collector: expected a list of text (at collector[1]), not ['a', 7]"),
        ("host = [\n", "agent.toml"),
        ("host = 'a'\nhost = 'b'\n", "agent.toml:2: not valid TOML"),
        ("spool = {max_bytes = 1, x = 2}\n", "agent.toml:1: there is no setting 'spool.x'"),
    ],
)
def test_a_problem_has_its_place_and_a_remedy(tmp_path: Path, text: str, expected: str) -> None:
    """The message contains file and line, the key, what was expected and what was found."""
    assert any(expected in problem for problem in problems(tmp_path, text))


@pytest.mark.parametrize(
    "assignment",
    [
        "spool.sync_seconds=inf",
        "spool.sync_seconds=nan",
        f"spool.max_bytes={1 << 63}",
        "host=a\x1b[31m",
        "collector=a,b\nc",
    ],
)
def test_impossible_values_are_rejected(assignment: str) -> None:
    """Infinity, numbers beyond 64 bits and control characters are rejected although they match the type."""
    with pytest.raises(SettingsError, match=assignment.partition("=")[0]):
        load(Example, assignments=[assignment])


def test_all_problems_are_reported_together(tmp_path: Path) -> None:
    """One error lists all problems."""
    found = problems(
        tmp_path,
        "compression = 'x'\nhots = 1\n",
        environment={"FLYBALL_AGENT_SPOOL__MAX_BYTE": "1", "FLYBALL_AGENT_LOG_LEVEL": "x"},
        assignments=("compression", "nothing=1"),
    )
    assert len(found) == 6
    assert any("FLYBALL_AGENT_SPOOL__MAX_BYTES" in problem for problem in found)


def test_a_missing_file_matters_only_if_it_is_required(tmp_path: Path) -> None:
    """The default file may be missing; a file given by the user may not."""
    absent = tmp_path / "none.toml"
    assert load(Example, file=absent, required=False).settings == Example()
    with pytest.raises(SettingsError, match=r"there is no file .*none\.toml; create it"):
        load(Example, file=absent)
    with pytest.raises(SettingsError, match="is a folder; name a file"):
        load(Example, file=tmp_path)


def test_lists_and_booleans_can_be_written_as_text() -> None:
    """`a,b` and JSON are lists; true, false, 1 and 0 are booleans."""
    assert load(Example, assignments=["collector=a:1, b:2"]).settings.collector == ("a:1", "b:2")
    assert load(Example, assignments=['collector=["c:3"]']).settings.collector == ("c:3",)
    assert load(Example, assignments=["compression=true"]).settings.compression is True
    assert load(Example, assignments=["compression=0"]).settings.compression is False
    assert load(Example, assignments=["host=1=2"]).settings.host == "1=2"


def test_describe_returns_name_type_default_and_meaning() -> None:
    """The documentation uses name, type, default and description."""
    keys = {key.name: key for key in describe(Example)}
    assert keys["spool.max_bytes"].type == "integer, at least 0"
    assert keys["spool.max_bytes"].default == 512
    assert keys["spool.max_bytes"].description == "How much is kept."
    assert keys["collector"].type == "list of text"


def test_a_key_inside_a_string_is_ignored(tmp_path: Path) -> None:
    """A line inside a multi-line string does not count as the line of a key."""
    loaded = read(tmp_path, 'host = """\\\nlog_level = \\\n"""\nlog_level = "debug"\n')
    assert loaded.origins["log_level"].endswith(":4")


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_any_text_gives_settings_or_named_problems(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Any file gives settings or problems, never a traceback."""
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    with contextlib.suppress(SettingsError):
        load(Example, file=file, environment={"X_" + text[:3].replace("\0", ""): text}, prefix="X_")


@given(st.lists(st.text(max_size=20), max_size=4))
def test_any_assignment_gives_settings_or_named_problems(assignments: list[str]) -> None:
    """Any command line gives settings or problems, never a traceback."""
    with contextlib.suppress(SettingsError):
        load(Example, assignments=[*assignments, *(f"collector={text}" for text in assignments)])

"""The generated documents about settings."""

from pathlib import Path

import pytest

from flyball_agent.settings import AgentSettings
from flyball_collector.settings import CollectorSettings
from flyball_daemon.keys import describe
from flyball_daemon.settings import load

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("daemon", "kind"), [("agent", AgentSettings), ("collector", CollectorSettings)])
def test_the_example_file_contains_all_keys_with_their_defaults(
    daemon: str, kind: type[AgentSettings] | type[CollectorSettings], tmp_path: Path
) -> None:
    """As it is, it sets nothing; with every key uncommented it sets exactly the defaults."""
    text = (ROOT / "deploy" / "etc" / "flyball" / f"{daemon}.toml").read_text(encoding="utf-8")
    as_is, whole = tmp_path / "as_is.toml", tmp_path / "whole.toml"
    as_is.write_text(text)
    whole.write_text(
        "\n".join(
            line[1:] if line.startswith("#") and line[1:2] not in {" ", ""} else line for line in text.splitlines()
        )
    )
    assert set(load(kind, file=as_is).origins.values()) == {"default"}
    loaded = load(kind, file=whole)
    assert loaded.settings == kind()
    assert "default" not in loaded.origins.values()


@pytest.mark.parametrize("kind", [AgentSettings, CollectorSettings])
def test_every_key_has_a_description(kind: type[AgentSettings] | type[CollectorSettings]) -> None:
    """It is a sentence, and more than the name."""
    for key in describe(kind):
        assert key.description.endswith("."), key.name
        assert len(key.description) > len(key.name.rpartition(".")[2]) + 1, key.name

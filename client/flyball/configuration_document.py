"""Makes docs/configuration.md and deploy/etc from the settings: `python -m flyball.configuration_document`."""

from pathlib import Path

from flyball_agent import settings as agent
from flyball_collector import settings as collector
from flyball_daemon.reference import example, markdown

_INTRODUCTION = """\
# Configuration

Made from the code by `python -m flyball.configuration_document`; do not edit.

A value comes from, each later one winning over the earlier:

1. the default, as below;
2. the file: `/etc/flyball/agent.toml`, `/etc/flyball/collector.toml`, or the one that `--config FILE` names;
3. the environment: `FLYBALL_AGENT_…`, `FLYBALL_COLLECTOR_…`; a key inside of a table has two underscores
   (`FLYBALL_AGENT_SPOOL__MAX_BYTES=1000000`), a list is written `a,b` or as JSON;
4. the command line: `--set spool.max_bytes=1000000`, which may be repeated.

`flyball config show agent` (or `collector`) prints the values in force and where each came from. A key that does not
exist, or a value of the wrong type, is refused at start with its file and line, all of them at once. Settings are
read at start; `SIGHUP` (`systemctl reload`) reads them again, takes what can be taken while running (the collector:
`log_level` and `log_format`), and names in the log what waits for a restart. Wrong settings change nothing then.
Certificates and tokens need no reload: their files are looked at when somebody connects.

The example files `deploy/etc/flyball/agent.toml` and `collector.toml` hold every key, commented out at its default.
Under systemd, variables of the environment can stand in `/etc/flyball/agent.env` and `/etc/flyball/collector.env`, a
line each: `FLYBALL_AGENT_LOG_LEVEL=debug`.
"""


def documents() -> dict[str, str]:
    """Every file that is made here, by its path in the repository."""
    agents = markdown(agent.AgentSettings, agent.ENVIRONMENT_PREFIX)
    collectors = markdown(collector.CollectorSettings, collector.ENVIRONMENT_PREFIX)
    return {
        "docs/configuration.md": f"{_INTRODUCTION}\n## Agent\n\n{agents}\n\n## Collector\n\n{collectors}\n",
        "deploy/etc/flyball/agent.toml": example(agent.AgentSettings, _opening("agent", agent.FILE)),
        "deploy/etc/flyball/collector.toml": example(
            collector.CollectorSettings, _opening("collector", collector.FILE)
        ),
    }


def _opening(daemon: str, file: str) -> str:
    return (
        f"Settings of the {daemon}: {file}. Every key is here, commented out at its default.\n"
        f"See the values in force, and where each came from: flyball config show {daemon}"
    )


def main() -> None:
    """Write them."""
    root = Path(__file__).resolve().parents[2]
    for name, text in documents().items():
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

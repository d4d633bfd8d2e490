"""Writes constraints.txt (what runs) and constraints-dev.txt (what tests need as well): names, versions, hashes."""

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

_OPTIONS = (
    "--quiet",
    "--generate-hashes",
    "--strip-extras",
    "--allow-unsafe",
    "--no-header",
    "--no-annotate",
    "--no-emit-index-url",
    "--no-emit-trusted-host",
    "--no-emit-find-links",
)


def _pin(requirements: list[str], target: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "requirements.in"
        source.write_text("\n".join(requirements) + "\n")
        command = [sys.executable, "-m", "piptools", "compile", *_OPTIONS, "--output-file", str(target), str(source)]
        subprocess.run(command, check=True)


def main() -> None:
    """Pin the newest versions that pyproject.toml admits."""
    project = tomllib.loads(Path("pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    runtime = [
        *extras["agent"],
        *extras["collector"],
        *extras["planner"],
        *project["build-system"]["requires"],
        "editables",
    ]
    _pin(runtime, Path("constraints.txt"))
    _pin(
        [*runtime, "-c " + str(Path("constraints.txt").resolve()), *project["dependency-groups"]["dev"]],
        Path("constraints-dev.txt"),
    )


if __name__ == "__main__":
    main()

"""Write constraints.txt (all of Flyball), constraints-agent.txt (the agent) and constraints-dev.txt (with tests)."""

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
    """Pin the newest versions that pyproject.toml allows, the same ones in all three files."""
    project = tomllib.loads(Path("pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    building = [*project["build-system"]["requires"], "editables"]
    everything = [*extras["agent"], *extras["collector"], *extras["planner"], *building]
    _pin(everything, Path("constraints.txt"))
    same = f"-c {Path('constraints.txt').resolve()}"
    _pin([*extras["agent"], same], Path("constraints-agent.txt"))
    _pin([*everything, *project["dependency-groups"]["dev"], same], Path("constraints-dev.txt"))


if __name__ == "__main__":
    main()

"""Accelerate's `estimate-memory` on a model whose config.json lies here, in a virtual environment of its own.

The command asks a hub what kind of model a name is, and does all the rest itself; here that one answer comes from the
file, so that no network is needed and none is measured.
"""

import subprocess
import sys
from pathlib import Path

PACKAGES = ("torch==2.13.0", "accelerate==1.15.0", "transformers==5.23.0")
ENVIRONMENT = Path("build/accelerate")

PROGRAM = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from accelerate.commands import estimate

folder = Path(sys.argv[1])
known = SimpleNamespace(library_name="transformers", config=json.loads((folder / "config.json").read_text()))
estimate.model_info = lambda repo, token=None: known
rows = estimate.gather_data(estimate.estimate_command_parser().parse_args([str(folder)]))
print(json.dumps({name: {"weights": weights, "training": training["step"]} for name, _, weights, training in rows}))
"""
"""Prints, by format, the bytes of the weights and of a training with Adam."""


def environment(folder: Path = ENVIRONMENT) -> Path | None:
    """Return its Python, installed at the first call; print a message and return None if it cannot be installed."""
    python = folder / "bin" / "python"
    if (folder / "ready").exists():
        return python
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    except subprocess.CalledProcessError as error:
        print(f"no peer: {', '.join(PACKAGES)} could not be installed ({error})", file=sys.stderr)
        return None
    (folder / "ready").touch()
    return python

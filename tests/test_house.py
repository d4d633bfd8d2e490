"""The house is in order: one name for one class, one way of imports, and every package in the checks."""

import ast
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = {
    path.name: path for path in sorted(ROOT.glob("*/flyball*")) if (path / "__init__.py").is_file()
}  # fmt: skip
WAITING = "flyball_audit"  # its inside has a redesign of its own before it


def _classes(package: Path) -> list[tuple[str, str]]:
    """List the public classes at the top of a package's modules, with their files."""
    found = []
    for file in sorted(package.rglob("*.py")):
        if "_pb2" not in file.name:
            tree = ast.parse(file.read_text(encoding="utf-8"))
            names = [
                node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
            ]
            path = file.relative_to(ROOT).as_posix()
            found += [(name, path) for name in names if not name.startswith("_")]
    return found


def test_one_class_name_means_one_class() -> None:
    """Two public classes never share a name, in no two packages."""
    places = defaultdict(list)
    for name, package in PACKAGES.items():
        if name != WAITING:
            for class_name, file in _classes(package):
                places[class_name].append(file)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_every_package_is_built_typed_and_kept_in_layers() -> None:
    """A package that is added is shipped, checked by mypy and by the contracts of imports."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    built = {Path(path).name for path in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]}
    assert built == set(PACKAGES)
    assert set(PACKAGES) <= set(project["tool"]["mypy"]["packages"])
    assert set(PACKAGES) == set(project["tool"]["importlinter"]["root_packages"])
    acyclic = [each for each in project["tool"]["importlinter"]["contracts"] if each["type"] == "acyclic_siblings"]
    assert set(acyclic[0]["ancestors"]) == set(PACKAGES) - {WAITING}
    assert all((package / "py.typed").is_file() for package in PACKAGES.values())

"""`--models-file`: a Python file with models and devices of the user's own."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from flyball.command import run
from flyball_planner.catalogue.devices import REGISTRY
from flyball_planner.models.families import REGISTERED

Captured = pytest.CaptureFixture[str]
EXAMPLE = Path(__file__).parents[3] / "examples" / "planning"


@pytest.fixture(autouse=True)
def unregister() -> Iterator[None]:
    """Remove the hardware and models that files register."""
    yield
    REGISTRY.clear()
    REGISTERED.clear()


def test_a_plan_of_an_own_model_on_an_own_device(capsys: Captured) -> None:
    """The example's specification is valid and planned with its file, and unknown without it."""
    specification, models = str(EXAMPLE / "run.yaml"), str(EXAMPLE / "own.py")
    assert run(["plan", specification]) == 2
    assert "my_custom_model" in capsys.readouterr().err
    assert run(["validate", specification, "--models-file", models]) == 0
    capsys.readouterr()
    assert run(["plan", specification, "--models-file", models, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["hardware"]["device"] == "my_custom_gpu"
    assert document["computation"]["training_flops"] == pytest.approx(6e6 * 512 * 64 * 30)
    assert document["model"]["complexity"]["training"] == "O(epochs·n·d·k)"
    assert document["cost"]["cost_usd"]["middle"] > 0


def test_an_own_model_is_listed(capsys: Captured) -> None:
    """`flyball models` shows it with its summary."""
    assert run(["models", "my_custom_model", "--models-file", str(EXAMPLE / "own.py")]) == 0
    assert "Factorise a matrix" in capsys.readouterr().out


def test_an_own_device_is_shown(capsys: Captured) -> None:
    """`flyball hardware` shows its values, with the host's memory and the price."""
    assert run(["hardware", "my_custom_gpu", "--models-file", str(EXAMPLE / "own.py")]) == 0
    shown = capsys.readouterr().out
    assert all(words in shown for words in ("24.0 GiB", "64.0 GiB", "900", "$2.00 for a device-hour"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def broken(:\n", "own.py:1: not valid Python"),
        ("import flyball\n\nprint(1 / 0)\n", "own.py:3: ZeroDivisionError: division by zero"),
        ("x = 1\n", "registered no model and no device; put @register_model(NAME) above a function"),
        ("raise SystemExit(3)\n", "ended the program with sys.exit()"),
        ("from flyball import register_hardware\nregister_hardware('a', {'peak_flops': 5})\n",
         "own.py:2: register_hardware('a'): peak_flops: expected FLOP/s"),
        ("from flyball import register_model\n\n\n@register_model('mlp')\ndef f(spec):\n    return {}\n",
         "own.py:4: the planner already has a model named 'mlp'"),
        ("", "own.py is empty"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_an_error_with_its_line(text: str, words: str, tmp_path: Path, capsys: Captured) -> None:
    """The error has the line of the file; nothing is printed on the standard output, and there is no traceback."""
    path = tmp_path / "own.py"
    path.write_text(text, encoding="utf-8")
    assert run(["plan", str(EXAMPLE / "run.yaml"), "--models-file", str(path)]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_the_standard_output_belongs_to_the_report(tmp_path: Path, capsys: Captured) -> None:
    """A file may print without disturbing a JSON document, and it may import its neighbours."""
    (tmp_path / "neighbour_of_own.py").write_text("DEPTH = 3\n", encoding="utf-8")
    path = tmp_path / "own.py"
    path.write_text(
        "import neighbour_of_own\n" + (EXAMPLE / "own.py").read_text(encoding="utf-8") + "print('registered')\n",
        encoding="utf-8",
    )
    assert run(["plan", str(EXAMPLE / "run.yaml"), "--models-file", str(path), "--format", "json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["title"]
    assert "registered" in captured.err


def test_a_specification_cannot_name_a_file(tmp_path: Path, capsys: Captured) -> None:
    """A specification of somebody else runs no code."""
    marker = tmp_path / "marker"
    (tmp_path / "own.py").write_text(f"open({str(marker)!r}, 'w')\n", encoding="utf-8")
    path = tmp_path / "run.yaml"
    path.write_text("model: gpt2\nhardware: M1_Pro\nmodels_file: own.py\n", encoding="utf-8")
    assert run(["plan", str(path)]) == 2
    assert "models_file: unknown key" in capsys.readouterr().err
    assert not marker.exists()

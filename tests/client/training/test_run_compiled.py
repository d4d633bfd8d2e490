"""A step may be compiled by torch with the calls of the client inside: the compiler leaves them as they are."""

from pathlib import Path

import pytest

from tests.client.training.listening_socket import ListeningSocket, open_run, steps_of

torch = pytest.importorskip("torch", reason="torch is not installed (requirements-training.txt)")


def test_calls_inside_of_a_compiled_function_measure_each_step(tmp_path: Path) -> None:
    """Without a warning of the compiler, which would be an error here, and with the same result."""
    model = torch.nn.Linear(4, 1).requires_grad_(False)  # else torch warns at any call in between
    with ListeningSocket(tmp_path / "agent.sock") as agent:
        run = open_run(agent.path)

        def forward(x: object) -> object:
            y = model(x).sum()
            run.mark("forward")
            z = y * 2
            run.step(tokens=8)
            return z

        compiled = torch.compile(forward, backend="eager")
        x = torch.ones(2, 4)
        expected = forward(x)
        for _ in range(4):
            assert torch.equal(compiled(x), expected)
        run.finish()
        reports = steps_of(agent.lines())
        assert run.last_step == 5
        assert sum(report["steps"] for report in reports) == 4
        assert sum(report.get("tokens", 0) for report in reports) == 40
        assert any("forward" in report.get("section_seconds", {}) for report in reports)

"""The example of the README is taken out of it and run."""

from __future__ import annotations

import pathlib
import types

import pytest
from conftest import Start
from fastapi.testclient import TestClient

README = pathlib.Path(__file__).resolve().parent.parent / "README.md"


def example() -> str:
    """The block about FastAPI."""
    blocks = [rest.split("```")[0] for rest in README.read_text().split("```python\n")[1:]]
    [block] = [block for block in blocks if "FastAPI(" in block]
    return block


def test_the_example_serves_answers_with_and_without_a_sidecar(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    sidecar = start()
    monkeypatch.setenv("JUDGE_CASCADE_ENDPOINT", sidecar.endpoint)
    code = example()
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    module = types.ModuleType("example")
    exec(compile(code, str(README), "exec"), module.__dict__)
    with TestClient(module.app) as client:
        answer = client.get("/ask", params={"question": "When does the pool open on Sundays?"})
        assert answer.status_code == 200
        assert answer.json() == "On Sundays the pool opens at eight."
        diagnosed = 'judge_cascade_diagnoses_total{profile="default",diagnosis="PASS",route="auto"}'
        assert sidecar.series(diagnosed) == 1
        assert sidecar.stop() == 0
        assert client.get("/ask", params={"question": "When?"}).json() == answer.json()

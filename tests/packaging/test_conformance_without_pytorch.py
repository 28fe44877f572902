"""The engines' cases (`tests/conformance.py`) in an installation without PyTorch: the same answers to the last bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conformance import ALIGNMENT_CASES, CASES

if TYPE_CHECKING:
    from tests.packaging.conftest import Installation

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, sys
from dataclasses import asdict
sys.path.insert(0, sys.argv[1])  # for tests.conformance, which needs the package alone
from maskpredict import Translator
from tests.conformance import ALIGNMENT_CASES, CASES, Answer, assert_consistent, assert_schedule
folder, compute_type, sentences = sys.argv[2], sys.argv[3], json.load(sys.stdin)
translator = Translator(folder, compute_type=compute_type, intra_threads=1)
answers = {"engine": translator.engine.name}
for case in {"cmlm": CASES, "alignment": ALIGNMENT_CASES, "ctc": []}[translator.system]:
    lines = case.lines(sentences)
    found = list(translator.translate_lines(lines, window=len(lines), trace=True, **case.settings))
    answers[case.name] = [asdict(Answer.of(one)) for one in found]
    if case.follows_the_schedule:
        for line, answer in zip(lines, map(Answer.of, found)):
            if translator.system == "cmlm":
                assert_consistent(answer, line, case.settings)
            else:
                assert_schedule(answer.candidates[0], case.settings, 'words_and_blanks')
    alone = [next(translator.translate_lines([line], trace=True, **case.settings)) for line in lines[:6]]
    assert alone == found[:6], case.name
texts = [one.text for one in translator.translate(sentences)]
answers["plain"] = [texts, [one.score for one in translator.score(sentences, texts)]]
json.dump(answers, sys.stdout)
"""


@pytest.mark.parametrize("compute_type", ["float32", "int8"])
@pytest.mark.parametrize("model", ["cmlm_folder", "alignment_folder", "ctc_folder"])
def test_the_cases_of_all_engines(
    runtime: Installation,
    with_pytorch: Installation,
    model: str,
    compute_type: str,
    sentences: list[str],
    request: pytest.FixtureRequest,
) -> None:
    folder: Path = request.getfixturevalue(model)
    answers = []
    for installation in (runtime, with_pytorch):
        arguments = ("-c", PROGRAM, str(ROOT), str(folder), compute_type)
        done = installation.run(*arguments, input=json.dumps(sentences[::4]))
        assert done.returncode == 0, done.stderr
        answers.append(json.loads(done.stdout))
    assert answers[0] == answers[1]
    assert answers[0]["engine"] == "onnxruntime"
    cases = {"cmlm_folder": CASES, "alignment_folder": ALIGNMENT_CASES}.get(model, [])
    assert len(answers[0]) == len(cases) + 2

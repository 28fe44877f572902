"""Teachers from outside: each family in transformers and in CTranslate2, and any command."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import torch
import transformers

from maskpredict.distill.teachers import ScoredText, TeacherConfig, open_teacher
from maskpredict.errors import UserError
from maskpredict.runtime.translator import Translator
from tests.conftest import toy_sentences, toy_translation
from tests.distill.conftest import FAMILIES, TeacherFolders
from tests.distill.tiny_teachers import SOURCES, TARGETS

LINES = SOURCES[:12]
Folders = Callable[[str], TeacherFolders]


def settings_of(teacher: str, **settings: Any) -> TeacherConfig:
    known: dict[str, Any] = {"source_language": "de", "target_language": "en", "device": "cpu", "threads": 1}
    return TeacherConfig(teacher=teacher, **{**known, "max_tokens": 16, "compute_type": "float32", **settings})


def translated(teacher: str, lines: Sequence[str] = LINES, **settings: Any) -> list[list[ScoredText]]:
    found: dict[int, list[ScoredText]] = {}
    for batch in open_teacher(settings_of(teacher, **settings)).translate(lines):
        assert not found.keys() & batch.keys()
        found.update(batch)
    return [found.get(index, []) for index in range(len(lines))]


def texts(translations: list[list[ScoredText]]) -> list[list[str]]:
    return [[translation.text for translation in own] for own in translations]


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_both_libraries_give_the_same_text(teacher_folders: Folders, family: str, beam_size: int) -> None:
    folders = teacher_folders(family)
    settings: dict[str, Any] = {**FAMILIES[family].settings, "beam_size": beam_size}
    slow = translated(f"transformers:{folders.transformers}", **settings)
    fast = translated(f"ctranslate2:{folders.ctranslate2}", **settings)
    assert texts(slow) == texts(fast)
    assert len({own[0].text for own in fast}) > 2
    assert not any(special in text for (text,) in texts(fast) for special in ("<", ">", "__", "_Latn", "▁"))
    for (one,), (other,) in zip(slow, fast, strict=True):
        assert one.score == pytest.approx(other.score, abs=0.02)


@pytest.mark.parametrize("family", FAMILIES)
def test_both_libraries_give_the_same_scores(teacher_folders: Folders, family: str) -> None:
    folders, settings = teacher_folders(family), FAMILIES[family].settings
    teachers = (f"transformers:{folders.transformers}", f"ctranslate2:{folders.ctranslate2}")
    slow, fast = (open_teacher(settings_of(name, **settings)).score(LINES, TARGETS[:12]) for name in teachers)
    assert slow == pytest.approx(fast, abs=0.02)
    assert len(set(fast)) == len(LINES)


@pytest.mark.parametrize("family", ["nllb", "m2m100", "mbart50"])
def test_the_forced_first_token_is_the_target_language(teacher_folders: Folders, family: str) -> None:
    """The same, written out with `generate`; another target language gives another text."""
    folder = teacher_folders(family).transformers
    codes = {"nllb": ("deu_Latn", "eng_Latn"), "m2m100": ("de", "en"), "mbart50": ("de_DE", "en_XX")}[family]
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, src_lang=codes[0])
    model: Any = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    first = f"__{codes[1]}__" if family == "m2m100" else codes[1]
    generated = model.generate(
        **tokenizer(LINES[0], return_tensors="pt"),
        forced_bos_token_id=tokenizer.convert_tokens_to_ids(first),
        max_new_tokens=16,
        num_beams=1,
        forced_eos_token_id=None,
    )
    expected = tokenizer.decode(generated[0], skip_special_tokens=True).strip()
    known = FAMILIES[family].settings
    assert translated(f"transformers:{folder}", LINES[:1], beam_size=1, **known)[0][0].text == expected
    elsewhere = {"nllb": "fra_Latn", "m2m100": "fr", "mbart50": "fr_XX"}[family]
    french = translated(f"transformers:{folder}", beam_size=1, **{**known, "target_code": elsewhere})
    assert texts(french) != texts(translated(f"transformers:{folder}", beam_size=1, **known))


@pytest.mark.parametrize("kind", ["transformers", "ctranslate2"])
def test_a_trained_marian_model_translates(marian_teacher: TeacherFolders, kind: str) -> None:
    teacher = f"{kind}:{getattr(marian_teacher, kind)}"
    found = translated(teacher, beam_size=2, max_tokens=40)
    assert texts(found) == [[target] for target in TARGETS[:12]]
    assert all(-0.2 < own[0].score < 0 for own in found if own[0].score is not None)
    right, wrong = open_teacher(settings_of(teacher)).score([LINES[0], LINES[0]], [TARGETS[0], TARGETS[1]])
    assert -0.2 < right < 0
    assert wrong < -1


@pytest.mark.parametrize("kind", ["transformers", "ctranslate2"])
def test_n_best_are_different_and_best_first(marian_teacher: TeacherFolders, kind: str) -> None:
    found = translated(f"{kind}:{getattr(marian_teacher, kind)}", beam_size=4, n=3, max_tokens=40)
    for own in found:
        scores = [translation.score or 0.0 for translation in own]
        assert len({translation.text for translation in own}) == 3
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("kind", ["transformers", "ctranslate2"])
def test_samples_vary_with_the_temperature(teacher_folders: Folders, kind: str) -> None:
    teacher = f"{kind}:{getattr(teacher_folders('marian'), kind)}"
    likeliest = texts(translated(teacher, LINES[:6], beam_size=1))
    cold = translated(teacher, LINES[:6], temperature=0.001, n=3)
    hot = translated(teacher, LINES[:6], temperature=2.0, n=3)
    assert texts(cold) == [[own[0]] * 3 for own in likeliest]
    assert all(len(set(own)) == 3 for own in texts(hot))
    assert texts(translated(teacher, LINES[:6], temperature=2.0, top_k=1)) == likeliest


@pytest.mark.parametrize("kind", ["transformers", "ctranslate2"])
def test_a_source_that_is_too_long_is_left_out(marian_teacher: TeacherFolders, kind: str) -> None:
    teacher, long = f"{kind}:{getattr(marian_teacher, kind)}", " ".join(["bane"] * 30)
    assert texts(translated(teacher, [LINES[0], long], max_tokens=20)) == [[TARGETS[0]], []]


def test_batches_do_not_change_the_text(marian_teacher: TeacherFolders) -> None:
    for kind in ("transformers", "ctranslate2"):
        teacher = f"{kind}:{getattr(marian_teacher, kind)}"
        alone = translated(teacher, batch_tokens=1, beam_size=2, max_tokens=40)
        assert texts(alone) == texts(translated(teacher, beam_size=2, max_tokens=40))


def test_a_batch_that_does_not_fit_in_memory_is_split(
    marian_teacher: TeacherFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate = transformers.MarianMTModel.generate

    def limited(model: Any, input_ids: torch.Tensor, **options: Any) -> Any:
        if len(input_ids) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return generate(model, input_ids=input_ids, **options)

    monkeypatch.setattr(transformers.MarianMTModel, "generate", limited)
    found = translated(f"transformers:{marian_teacher.transformers}", beam_size=2, max_tokens=40)
    assert texts(found) == [[target] for target in TARGETS[:12]]


def test_half_precision(marian_teacher: TeacherFolders) -> None:
    found = translated(
        f"transformers:{marian_teacher.transformers}", compute_type="bfloat16", beam_size=1, max_tokens=40
    )
    assert texts(found) == [[target] for target in TARGETS[:12]]


def test_our_own_model_translates_as_the_translator_does(autoregressive_folder: Path) -> None:
    lines = toy_sentences(8, seed=3)
    known: dict[str, Any] = {"source_language": "xx", "target_language": "yy", "max_tokens": 60}
    found = translated(str(autoregressive_folder), lines, n=2, beam_size=3, **known)
    said = Translator(autoregressive_folder).translate(lines, beam_size=3, num_hypotheses=2)
    assert texts(found) == [[hypothesis.text for hypothesis in translation.hypotheses] for translation in said]
    targets = [toy_translation(line) for line in lines]
    scored = Translator(autoregressive_folder).score(lines, targets)
    scores = open_teacher(settings_of(str(autoregressive_folder), **known)).score(lines, targets)
    assert scores == pytest.approx([translation.score for translation in scored], abs=1e-3)


@pytest.mark.parametrize("folder", ["cmlm_folder", "autoregressive_folder"])
def test_the_translator_is_a_teacher_with_its_own_settings(folder: str, request: pytest.FixtureRequest) -> None:
    model: Path = request.getfixturevalue(folder)
    lines = [*toy_sentences(6, seed=3), " ".join(toy_sentences(40, seed=4))]  # the last is too long for the model
    decoding: dict[str, Any] = (
        {"iterations": 3, "length_candidates": 2} if folder == "cmlm_folder" else {"beam_size": 2}
    )
    known: dict[str, Any] = {"source_language": "xx", "target_language": "yy", "decoding": decoding}
    found = translated(f"translator:{model}", lines, n=2, **known)
    said = Translator(model).translate(lines, num_hypotheses=2, **decoding)
    assert texts(found)[:6] == [[own.text for own in one.hypotheses or (one,)] for one in said][:6]
    assert found[6][0].text == said[6].text != ""
    targets = [toy_translation(line) for line in lines[:6]]
    scores = open_teacher(settings_of(f"translator:{model}", **known)).score(lines[:6], targets)
    assert len(scores) == 6
    assert all(score < 0 for score in scores)


# Mistakes.


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no folder .*nowhere with a teacher"):
        open_teacher(settings_of(f"transformers:{tmp_path}/nowhere"))
    with pytest.raises(UserError, match=r"has no model.bin, so it is no CTranslate2 folder"):
        open_teacher(settings_of(f"ctranslate2:{tmp_path}/nowhere"))
    with pytest.raises(UserError, match="there is no model folder nowhere"):
        open_teacher(settings_of("nowhere"))


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has no config.json"):
        open_teacher(settings_of(f"transformers:{tmp_path}"))


def test_the_folders_of_both_libraries_are_told_apart(marian_teacher: TeacherFolders) -> None:
    with pytest.raises(UserError, match=r"is a folder of CTranslate2; write ctranslate2:"):
        open_teacher(settings_of(f"transformers:{marian_teacher.ctranslate2}"))
    with pytest.raises(UserError, match=r"has no model\.bin, .*convert the teacher first"):
        open_teacher(settings_of(f"ctranslate2:{marian_teacher.transformers}"))


def test_a_model_of_another_family_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    with pytest.raises(UserError, match=r"is a gpt2 model; teachers of transformers are MarianMT, NLLB-200"):
        open_teacher(settings_of(f"transformers:{tmp_path}"))


def test_a_folder_with_damaged_weights_is_refused(marian_teacher: TeacherFolders, tmp_path: Path) -> None:
    shutil.copytree(marian_teacher.transformers, tmp_path / "slow")
    (tmp_path / "slow" / "model.safetensors").unlink()
    with pytest.raises(UserError, match="cannot be loaded"):
        open_teacher(settings_of(f"transformers:{tmp_path}/slow"))
    shutil.copytree(marian_teacher.ctranslate2, tmp_path / "fast")
    (tmp_path / "fast" / "model.bin").write_bytes(b"damaged")
    with pytest.raises(UserError, match="cannot be loaded"):
        open_teacher(settings_of(f"ctranslate2:{tmp_path}/fast"))


@pytest.mark.parametrize("kind", ["transformers", "ctranslate2"])
def test_a_language_that_the_teacher_does_not_know_is_refused(teacher_folders: Folders, kind: str) -> None:
    teacher = f"{kind}:{getattr(teacher_folders('nllb'), kind)}"
    with pytest.raises(UserError, match=r"does not know the language 'en'; set target_code to .* such as eng_Latn"):
        open_teacher(settings_of(teacher, source_code="deu_Latn"))
    with pytest.raises(UserError, match="does not know the language 'xyz_Latn'; set source_code"):
        open_teacher(settings_of(teacher, source_code="xyz_Latn", target_code="eng_Latn"))


def test_a_t5_model_without_its_prefix_is_refused(teacher_folders: Folders) -> None:
    with pytest.raises(UserError, match="set prefix, such as 'translate German to English: '"):
        open_teacher(settings_of(f"transformers:{teacher_folders('t5').transformers}"))


def test_a_conversion_without_sentencepiece_files_is_refused(marian_teacher: TeacherFolders, tmp_path: Path) -> None:
    shutil.copytree(marian_teacher.ctranslate2, tmp_path / "model")
    (tmp_path / "model" / "target.spm").unlink()
    with pytest.raises(UserError, match="has no SentencePiece files; copy those of the model there"):
        open_teacher(settings_of(f"ctranslate2:{tmp_path}/model"))


@pytest.mark.parametrize("kind", ["transformers", "ctranslate2"])
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr("maskpredict.extras.find_spec", lambda module: None)
    with pytest.raises(UserError, match=r"pip install 'maskpredict\[teachers\]'"):
        open_teacher(settings_of(f"{kind}:somewhere"))


def test_our_model_of_other_languages_is_refused(autoregressive_folder: Path) -> None:
    with pytest.raises(UserError, match="translates xx to yy, not de to en"):
        open_teacher(settings_of(str(autoregressive_folder)))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"n": 6, "beam_size": 5}, "between 1 and beam_size"),
        ({"top_k": 5}, "give a temperature, too"),
        ({"beam_size": 0}, "'beam_size' must be a whole number of at least 1"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        settings_of("command:cat", **settings)


def test_a_gpu_that_is_not_there_is_refused(marian_teacher: TeacherFolders) -> None:
    if torch.cuda.is_available() or ctranslate2.get_cuda_device_count():
        pytest.skip("there is a GPU")
    for kind in ("transformers", "ctranslate2"):
        with pytest.raises(UserError, match=r"cuda|CUDA"):
            open_teacher(settings_of(f"{kind}:{getattr(marian_teacher, kind)}", device="cuda"))


# Commands.

UPPER = "import sys\nfor line in sys.stdin: print(line.strip().upper(), flush=True)\n"


def command(tmp_path: Path, program: str) -> str:
    path = tmp_path / "teacher.py"
    path.write_text(program)
    return f"command:{sys.executable} {path}"


def test_a_command_reads_lines_and_writes_lines(tmp_path: Path) -> None:
    lines = [f"Grüße {number}" for number in range(25)]
    found = translated(command(tmp_path, UPPER), lines, command_lines=10)
    assert found == [[ScoredText(line.upper(), None)] for line in lines]


def test_a_command_gives_several_translations_with_tabs(tmp_path: Path) -> None:
    program = "import sys\nfor line in sys.stdin: print(line.strip(), 'b', 'c', sep='\\t')\n"
    assert texts(translated(command(tmp_path, program), ["a", "d"], n=2)) == [["a", "b"], ["d", "b"]]
    assert texts(translated(command(tmp_path, program), ["a"])) == [["a b c"]]


def test_many_lines_do_not_block_a_command_that_answers_at_once(tmp_path: Path) -> None:
    lines = ["word " * 40] * 5_000  # more than any pipe holds
    assert len(translated("command:cat", lines, command_lines=5_000)) == 5_000


@pytest.mark.parametrize(
    "mishap",
    [
        "sys.exit(3)",
        "continue",
        "print('two'); print('lines'); continue",
        "sys.stdout.buffer.write(b'\\xff\\n'); continue",
        "time.sleep(30)",
        "os.kill(os.getpid(), 9)",
    ],
    ids=["dies", "too-few-lines", "too-many-lines", "invalid-utf-8", "hangs", "is-killed"],
)
def test_a_line_on_which_a_command_fails_costs_no_other_line(tmp_path: Path, mishap: str) -> None:
    program = f"""import os, sys, time
for line in sys.stdin:
    if "poison" in line:
        {mishap}
    print(line.strip().upper(), flush=True)
"""
    lines = ["eins", "zwei", "poison", "vier", "fünf"]
    size = 2 if "sleep" in mishap else 4  # each failure of a command that hangs takes its time
    found = translated(command(tmp_path, program), lines, command_lines=size, command_seconds=1.5)
    assert texts(found) == [["EINS"], ["ZWEI"], [], ["VIER"], ["FÜNF"]]


def test_a_failure_that_passes_costs_nothing(tmp_path: Path) -> None:
    program = f"""import os, sys
if not os.path.exists({str(tmp_path / "again")!r}):
    open({str(tmp_path / "again")!r}, "w").close()
    sys.exit(1)
{UPPER}"""
    assert texts(translated(command(tmp_path, program), ["eins", "zwei"])) == [["EINS"], ["ZWEI"]]


def test_a_command_that_always_fails_is_refused_with_its_last_words(tmp_path: Path) -> None:
    program = "import sys\nsys.exit('no API key')"
    with pytest.raises(UserError, match=r"ended with exit code 1 \(no API key\), \d+ times in a row"):
        translated(command(tmp_path, program), ["eins"] * 1_000)


def test_what_a_hanging_command_has_started_ends_with_it(tmp_path: Path) -> None:
    program = tmp_path / "teacher.sh"
    program.write_text(f"sleep 300 &\necho $! > {tmp_path}/child\nwait\n")
    with pytest.raises(UserError, match=r"took more than 0.4 seconds"):
        translated(f"command:sh {program}", ["eins"] * 9, command_lines=1, command_seconds=0.4)
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        if not alive(child):
            return
        time.sleep(0.05)
    raise AssertionError("the child still runs")


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("teacher", "sentence"),
    [
        ("command:", "is an empty command"),
        ("command:'unclosed", "cannot be read"),
        ("command:/no/such/program", "/no/such/program cannot be started"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused(teacher: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        translated(teacher)


def test_a_command_has_no_scores_and_does_not_sample() -> None:
    with pytest.raises(UserError, match="leave temperature out"):
        open_teacher(settings_of("command:cat", temperature=1.0))
    with pytest.raises(UserError, match="a command has no scores"):
        open_teacher(settings_of("command:cat")).score(["a"], ["b"])

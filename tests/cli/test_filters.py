"""`translate`, `fill` and `score` as Unix filters: one line out for each line in, whatever the lines hold."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maskpredict import Translator
from maskpredict.cli import app
from maskpredict.corpus.compressed import compress
from maskpredict.corpus.reading import read_lines

COMMAND = [sys.executable, "-m", "maskpredict.cli"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}

Filter = Callable[..., str]


@pytest.fixture
def translate(cmlm_folder: Path) -> Filter:
    """Runs `maskpredict translate` with some input, quickly, and gives what it wrote."""

    def run(text: str | bytes, *options: str) -> str:
        arguments = ["translate", "--model", str(cmlm_folder), "--iterations", "2", *options]
        result = CliRunner().invoke(app, arguments, input=text, catch_exceptions=False)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    return run


def fails(*arguments: object, input: str | bytes = "luri.\n") -> str:
    """Runs the command line, which must end with code 2, and gives its one sentence."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=input, catch_exceptions=False)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", 0),
        ("\n", 1),
        ("luri tisa.\n", 1),
        ("luri tisa.", 1),
        ("luri.\n\n\ntisa.\n", 4),
        ("  \t \nluri.\n", 2),
        ("luri.\r\ntisa.\r\n", 2),
        ("🙂 luri 🙃\nשלום עולם\nمرحبا luri\n", 3),
        ("luri\x00tisa.\n\x00\n", 2),
        ("luri\u2028tisa\u0085bane\x0bkoke.\n", 1),
        ("luri tisa. " * 100 + "\n", 1),
    ],
    ids=[
        "0 bytes", "one empty line", "a line", "no trailing newline", "empty lines", "whitespace only", "CRLF",
        "emoji and right-to-left", "NUL", "other line separators", "too long for the model",
    ],
)  # fmt: skip
@pytest.mark.parametrize("format", ["text", "jsonl"])
def test_every_line_gets_exactly_one_line(translate: Filter, text: str, lines: int, format: str) -> None:
    written = translate(text.encode(), "--format", format)
    assert written.count("\n") == lines
    assert len(written.split("\n")) == lines + 1


def test_empty_lines_stay_empty_in_their_places(translate: Filter) -> None:
    first, second, third, fourth, end = translate("\nluri.\n  \ntisa.\n").split("\n")
    assert (first, third, end) == ("", "", "")
    assert second
    assert fourth


def test_a_carriage_return_at_the_end_changes_nothing(translate: Filter) -> None:
    assert translate(b"luri tisa.\r\n") == translate(b"luri tisa.\n")


def test_a_line_of_a_hundred_thousand_characters_is_one_line(translate: Filter) -> None:
    written = translate("lu ri" * 20_000 + "\nluri.\n", "--iterations", "1", "--length-candidates", "1")
    assert written.count("\n") == 2


def test_the_command_and_the_library_agree(translate: Filter, cmlm_folder: Path, sentences: list[str]) -> None:
    written = translate("".join(f"{sentence}\n" for sentence in sentences))
    own = Translator(cmlm_folder).translate(sentences, iterations=2)
    assert written.splitlines() == [translation.text for translation in own]


def test_jsonl_says_all_there_is_to_say(translate: Filter) -> None:
    record = json.loads(translate("luri tisa.\n", "--format", "jsonl", "--num-hypotheses", "2"))
    assert record.keys() == {"text", "score", "tokens", "log_probs", "passes", "lengths", "hypotheses"}
    assert len(record["hypotheses"]) == 2


def test_trace_holds_every_pass(translate: Filter) -> None:
    record = json.loads(translate("luri tisa.\n", "--format", "trace", "--iterations", "3"))
    assert record["source"] == "luri tisa."
    assert len(record["trace"]["candidates"]) == 5
    assert [len(candidate["passes"]) for candidate in record["trace"]["candidates"]] == [3] * 5


def test_the_trace_of_a_split_line_is_in_its_parts(translate: Filter) -> None:
    record = json.loads(translate("luri tisa. " * 40 + "\n", "--format", "trace"))
    assert len(record["parts"]) == 40
    assert all(part["trace"] for part in record["parts"])


def test_play_shows_the_passes(translate: Filter) -> None:
    lines = translate("luri tisa.\n", "--play").splitlines()
    assert lines[0] == "source  luri tisa."
    assert [line.split("  ")[0] for line in lines[1:4]] == ["t = 0", "t = 1", "t = 2"]


def test_iterations_may_be_n(translate: Filter) -> None:
    record = json.loads(translate("luri tisa.\n", "--iterations", "N", "--format", "jsonl"))
    assert record["passes"] == len(record["tokens"])


def test_a_pin_is_in_every_line(translate: Filter) -> None:
    assert all("IROK" in line for line in translate("luri.\nbane koke.\n", "--pin", "IROK").splitlines())
    assert all(line.startswith("IROK") for line in translate("luri.\nbane.\n", "--pin", "IROK@0").splitlines())


def test_gold_length_is_the_references(translate: Filter, tmp_path: Path, cmlm_folder: Path) -> None:
    (tmp_path / "references").write_text("IRUL\nIRUL ASIT ENAB.\n")
    written = translate(
        "luri.\nluri.\n", "--gold-length", "--reference", str(tmp_path / "references"), "--format", "jsonl"
    )
    target = Translator(cmlm_folder).tokenizers.target
    lengths = [len(target.encode(text)) + 1 for text in ("IRUL", "IRUL ASIT ENAB.")]
    assert [len(json.loads(line)["tokens"]) for line in written.splitlines()] == lengths


def test_score_gives_back_the_score_of_translate(translate: Filter, cmlm_folder: Path, sentences: list[str]) -> None:
    source = Translator(cmlm_folder).tokenizers.source
    pieces = [" ".join(source.pieces(source.encode(sentence))) for sentence in sentences[:20]]
    written = translate("".join(f"{line}\n" for line in pieces), "--pretokenized", "--format", "jsonl")
    own = [json.loads(line) for line in written.splitlines()]
    pairs = "".join(f"{line}\t{' '.join(t['tokens'])}\n" for line, t in zip(pieces, own, strict=True))
    arguments = ["score", "--model", str(cmlm_folder), "--pretokenized", "--iterations", "2"]
    result = CliRunner().invoke(app, arguments, input=pairs, catch_exceptions=False)
    assert [float(line) for line in result.stdout.splitlines()] == [t["score"] for t in own]


def test_score_reads_two_files(cmlm_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.xx").write_text("luri.\n\n")
    (tmp_path / "a.yy").write_text("IRUL.\nENAB\n")
    arguments = ["score", "-m", str(cmlm_folder), str(tmp_path / "a.xx"), str(tmp_path / "a.yy"), "--format", "jsonl"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert [json.loads(line)["text"] for line in result.stdout.splitlines()] == ["IRUL.", "ENAB"]


def test_an_impossible_target_scores_null_in_json(cmlm_folder: Path) -> None:
    arguments = ["score", "-m", str(cmlm_folder), "--pretokenized", "--format", "jsonl"]
    result = CliRunner().invoke(app, arguments, input="▁lu\t<mask> </s>\n", catch_exceptions=False)
    assert json.loads(result.stdout)["score"] is None


def test_fill_keeps_what_is_given(cmlm_folder: Path) -> None:
    arguments = ["fill", "--model", str(cmlm_folder)]
    result = CliRunner().invoke(app, arguments, input="luri tisa.\tIRUL ___.\n", catch_exceptions=False)
    assert result.stdout.startswith("IRUL ")
    assert result.stdout.endswith(".\n")


def test_a_file_is_translated_into_a_file(translate: Filter, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("luri.\ntisa.\n")
    assert translate("", str(tmp_path / "in"), "--output", str(tmp_path / "out")) == ""
    assert (tmp_path / "out").read_text() == translate("luri.\ntisa.\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
def test_files_may_be_compressed(translate: Filter, tmp_path: Path, ending: str) -> None:
    text = "luri tisa.\nkofu.\n"
    (tmp_path / f"in{ending}").write_bytes(compress(text.encode(), ending))
    translate("", str(tmp_path / f"in{ending}"), "--output", str(tmp_path / f"out{ending}"))
    assert list(read_lines(tmp_path / f"out{ending}")) == translate(text).splitlines()


def test_a_failure_leaves_an_earlier_output_untouched(cmlm_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("earlier\n")
    fails("translate", "--model", cmlm_folder, "--output", out, input=b"luri.\n\xff\xfe\n")
    assert out.read_text() == "earlier\n"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--beam-size", "4"], "beam_size is not a setting of cmlm models; they have iterations"),
        (["--iterations", "some"], "--iterations is 'some'; give a number, or N"),
        (["--iterations", "0"], "iterations is 0"),
        (["--strategy", "guess"], "there is no strategy 'guess'; choose one of mask_predict"),
        (["--strategy", "easy_first", "--threshold", "0.5"], "threshold is for mask_predict"),
        (["--gold-length"], "--gold-length and --reference go together"),
        (["--device", "abacus"], "'abacus' cannot be used here"),
        (["--threads", "0"], "intra_threads is 0"),
        (["--batch-tokens", "0"], "max_batch_size is 0"),
        (["--pin", " "], "has no text"),
        (["no-such-file"], "no-such-file cannot be read: No such file or directory"),
        (["--output", "/no/such/folder/out"], "cannot be written: No such file or directory"),
    ],
)
def test_an_impossible_wish_gets_one_sentence(cmlm_folder: Path, options: list[str], sentence: str) -> None:
    assert sentence in fails("translate", "--model", cmlm_folder, *options)


def test_pinning_with_an_autoregressive_model_gets_one_sentence(autoregressive_folder: Path) -> None:
    assert "use a CMLM" in fails("translate", "--model", autoregressive_folder, "--pin", "IROK")


def test_text_that_is_not_utf_8_gets_one_sentence(cmlm_folder: Path) -> None:
    assert "Line 2" in fails("translate", "--model", cmlm_folder, input=b"luri.\n\xff\n")


def test_references_of_another_length_get_one_sentence(cmlm_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "short").write_text("IRUL\n")
    options = ["--gold-length", "--reference", tmp_path / "short"]
    assert "as many lines" in fails("translate", "-m", cmlm_folder, *options, input="luri.\ntisa.\n")


@pytest.mark.parametrize("verb", ["fill", "score"])
def test_a_line_without_a_tab_gets_one_sentence(cmlm_folder: Path, verb: str) -> None:
    assert "tab-separated" in fails(verb, "--model", cmlm_folder)


def test_a_template_without_a_gap_gets_one_sentence_with_its_line(cmlm_folder: Path) -> None:
    sentence = fails("fill", "--model", cmlm_folder, input="luri.\tIRUL ___\nluri.\tIRUL\n")
    assert "line 2: the template 'IRUL' has no gap" in sentence


# The real thing, as a shell runs it.


def test_it_is_a_process_that_reads_and_writes_pipes(cmlm_folder: Path, translate: Filter) -> None:
    done = subprocess.run(
        [*COMMAND, "translate", "-m", cmlm_folder, "--iterations", "2"],
        input=b"luri tisa.\n\nkoke\n",
        capture_output=True,
        env={**ENVIRONMENT, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
    )
    assert done.returncode == 0
    assert done.stdout.decode() == translate("luri tisa.\n\nkoke\n")
    assert done.stderr == b""


def test_a_mistake_exits_with_code_2_and_one_sentence(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "translate", "-m", tmp_path / "nowhere"], input=b"", capture_output=True, env=ENVIRONMENT
    )
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.decode().startswith("error: there is no model")
    assert done.stderr.count(b"\n") == 1


def test_a_closed_pipe_ends_it_quietly(cmlm_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("luri tisa.\n" * 3_000)
    options = ["--iterations", "1", "--length-candidates", "1", "--format", "jsonl"]
    process = subprocess.Popen(
        [*COMMAND, "translate", "-m", cmlm_folder, tmp_path / "in", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141
    process.stderr.close()


@pytest.mark.parametrize("to_stdout", [True, False])
def test_a_full_disk_gets_one_sentence(cmlm_folder: Path, to_stdout: bool) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "translate", "-m", cmlm_folder, *([] if to_stdout else ["--output", "/dev/full"])],
            input=b"luri.\n",
            stdout=full if to_stdout else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
        )
    assert done.returncode == 2
    assert done.stderr.decode() == "error: there is no room left to write the output; free some disk space.\n"


def test_an_interrupt_ends_it_quietly(cmlm_folder: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [*COMMAND, "translate", "-m", cmlm_folder, pipe],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    writing = _opened_by_its_reader(pipe, process)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate()
    os.close(writing)
    assert process.returncode == 130
    assert output == errors == b""


def _opened_by_its_reader(pipe: Path, process: subprocess.Popen[bytes]) -> int:
    """The writing end, as soon as the process has loaded its model and asks for input."""
    while process.poll() is None:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads yet
            time.sleep(0.05)
    raise AssertionError("the process ended before it read anything")


def test_starting_up_does_not_load_torch() -> None:
    code = "import sys; from maskpredict.cli import app; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT).returncode == 0


def test_a_judge_chooses(
    translate: Filter, autoregressive_folder: Path, cmlm_folder: Path, sentences: list[str]
) -> None:
    text = "".join(f"{sentence}\n" for sentence in sentences)
    judged = translate(text, "--judge", str(autoregressive_folder))
    translator = Translator(cmlm_folder, judge=autoregressive_folder)
    assert judged.splitlines() == [found.text for found in translator.translate(sentences, iterations=2)]
    assert judged != translate(text)

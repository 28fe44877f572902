"""Options that several verbs share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import maskpredict
from maskpredict.errors import UserError

if TYPE_CHECKING:
    from maskpredict.runtime.translator import Translator

_DECODING = "Decoding"
_COMPUTING = "Computing"

Config = Annotated[Path, typer.Argument(help="YAML file, or the name of a shipped recipe.", show_default=False)]
Overrides = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Values that override the file.")]
Model = Annotated[
    str, typer.Option("--model", "-m", help="Model or run folder, name of a shipped model, or hf:owner/name.")
]
OutputFile = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="File to write instead of standard output; .gz, .bz2, .xz or .zst compresses."),
]
Pretokenized = Annotated[bool, typer.Option(help="Input and output are subwords separated by spaces.")]

Iterations = Annotated[
    str | None, typer.Option(help="Decoder passes T, or N for one per target token.", rich_help_panel=_DECODING)
]
LengthCandidates = Annotated[
    int | None, typer.Option(help="Target lengths to decode in parallel.", rich_help_panel=_DECODING)
]
Strategy = Annotated[
    str | None,
    typer.Option(
        help="mask_predict, one_shot, easy_first, left_to_right, random_order or refine.", rich_help_panel=_DECODING
    ),
]
StopWhenStable = Annotated[
    bool | None, typer.Option(help="Stop when a pass changes nothing.", rich_help_panel=_DECODING)
]
Threshold = Annotated[
    float | None, typer.Option(help="Do not mask tokens with a higher probability again.", rich_help_panel=_DECODING)
]
LengthThreshold = Annotated[
    float | None,
    typer.Option(help="Drop lengths less likely than this share of the likeliest.", rich_help_panel=_DECODING),
]
LengthWeight = Annotated[
    float | None,
    typer.Option(help="Weight of the probability of a length in the choice.", rich_help_panel=_DECODING),
]
Shortlist = Annotated[
    bool | None,
    typer.Option(
        help="Score only the words of the model's shortlist, if it has one: faster on a CPU.",
        rich_help_panel=_DECODING,
    ),
]
PruneCandidates = Annotated[
    int | None, typer.Option(help="Length candidates to keep after the first pass.", rich_help_panel=_DECODING)
]
Speed = Annotated[
    str | None,
    typer.Option(help="Preset of these options: fast, balanced or best.", rich_help_panel=_DECODING),
]
NumHypotheses = Annotated[int | None, typer.Option(help="Translations per line, in jsonl.", rich_help_panel=_DECODING)]
BeamSize = Annotated[
    int | None, typer.Option(help="Beam size of an autoregressive model; 1 is greedy.", rich_help_panel=_DECODING)
]
LengthPenalty = Annotated[
    float | None, typer.Option(help="Power of the length by which beam scores are divided.", rich_help_panel=_DECODING)
]
Judge = Annotated[
    str | None,
    typer.Option(help="Autoregressive model that rescores the candidates.", rich_help_panel=_DECODING),
]

BatchTokens = Annotated[
    int | None,
    typer.Option(help="Padded tokens per batch; limits memory, not the result.", rich_help_panel=_COMPUTING),
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.", rich_help_panel=_COMPUTING)]
ComputeType = Annotated[
    str, typer.Option(help="auto, float32, bfloat16, float16, or int8 on a CPU.", rich_help_panel=_COMPUTING)
]
Engine = Annotated[
    str, typer.Option(help="auto, onnxruntime, cuda, int8 or torch; auto is the fastest.", rich_help_panel=_COMPUTING)
]
Threads = Annotated[int | None, typer.Option(help="CPU threads.", rich_help_panel=_COMPUTING)]

_MACHINES = "Many machines"
Shard = Annotated[
    str | None,
    typer.Option(
        metavar="I/N", help="Make every N-th shard from the I-th on, for job arrays.", rich_help_panel=_MACHINES
    ),
]
Ray = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Work on a Ray cluster: auto, HOST:PORT, or local to start one here.",
        rich_help_panel=_MACHINES,
    ),
]

Text = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="Lines, or .tsv, .jsonl, .parquet, or a folder; plain or compressed; - reads standard input; repeatable.",
    ),
]


class OutputFormat(StrEnum):
    """Format of a line of output."""

    text = "text"
    jsonl = "jsonl"


class TranslateFormat(StrEnum):
    """Format of a line of output of `translate`."""

    text = "text"
    jsonl = "jsonl"
    trace = "trace"


def config_path(path: Path) -> Path:
    """The file, or the shipped recipe of that name."""
    recipes = Path(maskpredict.__file__).parent / "recipes"
    shipped = recipes / f"{path.name.removesuffix('.yaml')}.yaml"
    return shipped if not path.exists() and path.parent == Path() and shipped.exists() else path


def settings_from(**given: Any) -> dict[str, Any]:
    """The decoding settings that are not None."""
    settings = {name: value for name, value in given.items() if value is not None}
    if "iterations" in settings and settings["iterations"] != "N":
        try:
            settings["iterations"] = int(settings["iterations"])
        except ValueError:
            raise UserError(f"--iterations is {settings['iterations']!r}; give a number, or N.") from None
    return settings


def machines(shard: str | None, ray: str | None) -> list[str]:
    """The overrides that --shard and --ray stand for."""
    return [*([f"shard={shard}"] if shard else []), *([f"ray.address={ray}"] if ray else [])]


def open_translator(
    model: str, device: str, compute_type: str, engine: str, threads: int | None, judge: str | None = None
) -> Translator:
    """Load a model."""
    from maskpredict.runtime.translator import Translator

    return Translator(
        model, device=device, compute_type=compute_type, engine=engine, intra_threads=threads, judge=judge
    )

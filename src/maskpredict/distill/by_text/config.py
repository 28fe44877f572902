"""Configuration of a distillation by text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from maskpredict.bounds import Bounds, FiniteFloat, NonNegativeFloat, NonNegativeInt, PositiveInt
from maskpredict.config import check_bounds
from maskpredict.distill.teachers.base import TeacherConfig
from maskpredict.errors import UserError


@dataclass(frozen=True)
class TextConfig:
    """Sources to translate: a file of lines, or parallel text whose targets are references.

    Files may be plain or compressed (.gz, .bz2, .xz, .zst). `*` in the name of a file stands for all such files, each a
    text of its own.
    """

    name: str = ""
    """Name of the distilled files and in reports; empty takes the name of the file."""
    source: Path | None = None
    """File of source sentences, one a line."""
    target: Path | None = None
    """File of reference translations, aligned with `source`; none for monolingual text."""
    tsv: Path | None = None
    """File of lines `source` or `source TAB reference`, instead; `-` reads standard input."""
    jsonl: Path | None = None
    """File of JSON objects, one a line, instead."""
    parquet: Path | None = None
    """Parquet or Arrow file, or folder of such files, such as a Hugging Face dataset, instead; needs pyarrow."""
    columns: tuple[str, ...] = ("source",)
    """Key or column of the sources; a second one is that of the references."""
    folder: Path | None = None
    """Folder of pairs of files NAME.LANGUAGE, as OpusCleaner and mtdata leave them; a text each pair."""

    def __post_init__(self) -> None:
        if len(self.columns) not in (1, 2):
            raise UserError("columns has one entry, for sources, or two, for sources and references.")


@dataclass(frozen=True)
class FilterConfig:
    """Filters of the teacher's translations; each counts what it drops."""

    max_characters: PositiveInt = 2_000
    """Drop a longer source before it is translated."""
    drop_duplicates: bool = True
    """Translate every source once."""
    max_ratio: Annotated[float, Bounds(at_least=1)] = 3.0
    """Drop a pair whose longer side has more than this many times the bytes of the shorter, in UTF-8."""
    ratio_from: NonNegativeInt = 40
    """Apply `max_ratio` only if the longer side has at least this many bytes; short pairs vary freely."""
    max_repeats: PositiveInt = 4
    """Drop a translation that says something more often in a row than this, unless the source does, too."""
    drop_copies: bool = True
    """Drop a translation that equals its source and has ten letters or more."""
    wrong_language: bool = False
    """Drop a translation that py3langid takes for another language; takes longer than all other filters together."""
    min_score: FiniteFloat | None = None
    """Drop a translation to which the teacher gives a lower score, such as -1.0; none keeps all."""
    reverse: str = ""
    """Model of the opposite direction that scores the source given the translation; written like `teacher`."""
    min_backward_score: FiniteFloat | None = None
    """Drop a translation for which the model `reverse` gives a lower mean log-probability."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if bool(self.reverse) != (self.min_backward_score is not None):
            raise UserError("filters.reverse and filters.min_backward_score go together; give both or neither.")
        if self.reverse.startswith("command:"):
            raise UserError("a command has no scores; give another model as filters.reverse.")


@dataclass(frozen=True)
class RayConfig:
    """Workers on a Ray cluster, each with the teacher."""

    address: str = "auto"
    """Cluster to join: auto for the one this machine is part of, HOST:PORT, or local to start one here."""
    workers: PositiveInt | None = None
    """Workers at a time; none: as many as the cluster has room for, also when that changes."""
    cpus: PositiveInt = 1
    """CPUs of each worker."""
    gpus: NonNegativeFloat = 0.0
    """GPUs of each worker; 0.5 lets two share one."""

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True, kw_only=True)
class TextDistillConfig(TeacherConfig):
    """A distillation by text: sources, teacher, filters, and the translations to keep."""

    out: Path
    """Folder to make: aligned compressed files, or with `data` a data folder; until then, shards are in OUT.shards."""
    data: Path | None = None
    """Data folder whose training sources to translate, with its vocabulary; instead of `text`."""
    text: tuple[TextConfig, ...] = ()
    """Text whose sources to translate."""
    choose: Literal["best", "n_best", "closest"] = "best"
    """The teacher's best translation, its n best (each a pair), or that of its n best that is closest to the reference.

    Closeness is sentence chrF.
    """
    every_line: bool = False
    """Write a line for every line of the text, as for a translation of it: nothing is filtered or left out.

    The translation of an empty line is empty, and so is that of a line that the teacher cannot translate.
    """
    filters: FilterConfig = field(default_factory=FilterConfig)
    """Filters of sources and translations."""
    compression: Literal["zst", "gz", "xz"] = "zst"
    """Compression of the distilled files."""
    shard_lines: PositiveInt = 20_000
    """Sources per shard; an interruption loses at most one shard of each process."""
    shard: str = ""
    """I/N, such as 0/8: make every N-th shard from the I-th on. Without it all that are missing are made and merged."""
    processes: PositiveInt | None = None
    """Processes on one device; none is two for our teachers on a GPU, and one for others."""
    ray: RayConfig | None = None
    """Workers on a Ray cluster instead of processes on this machine."""
    seconds: NonNegativeFloat | None = None
    """Time limit; finished shards are kept, and the same call continues. None is no limit."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.text) == (self.data is not None):
            raise UserError("a distillation by text needs either `text` or `data`: --text FILE, or --data FOLDER.")
        if self.data is None and not (self.source_language and self.target_language):
            raise UserError("give the languages of the text: source_language and target_language, such as -s de -t en.")
        if self.n is not None and self.choose == "best":
            raise UserError("n has no effect with choose=best; set choose to n_best or closest, or leave n out.")
        if self.filters.min_score is not None and self.kind == "command":
            raise UserError("a command has no scores; leave filters.min_score out.")
        if self.every_line and (self.data is not None or self.choose != "best" or self.filters != FilterConfig()):
            raise UserError("every_line is for `text` with choose=best and without filters; leave the others out.")
        if self.ray is not None and self.processes is not None:
            raise UserError("processes are those of this machine; with ray, set ray.workers instead.")
        if self.shard and not self._is_shard():
            raise UserError(f"shard is {self.shard!r}; write it as I/N with I below N, such as 0/8.")

    @property
    def hypotheses(self) -> int:
        """Translations of each source that the teacher searches for."""
        if self.choose == "best":
            return 1
        return self.n or (self.beam_size if self.temperature is None else 1)

    @property
    def first_and_job_count(self) -> tuple[int, int]:
        """Number of the first shard of this call, and the number of calls that share the shards."""
        if not self.shard:
            return 0, 1
        first, jobs = self.shard.split("/")
        return int(first), int(jobs)

    def _is_shard(self) -> bool:
        if not re.fullmatch(r"\d+/\d+", self.shard):
            return False
        first, jobs = self.first_and_job_count
        return first < jobs

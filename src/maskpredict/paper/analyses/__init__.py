"""All analyses, in the order of the report. A new analysis is a new file and a line here."""

from __future__ import annotations

from typing import Any

from maskpredict.paper.analyses import (
    calibration,
    changed_tokens,
    check_list,
    distillation,
    early_exit,
    figure1,
    int8,
    length_buckets,
    length_candidates,
    length_head,
    main_table,
    repetitions,
    speed_quality,
)
from maskpredict.paper.analysis import Analysis

ANALYSES: dict[str, Analysis[Any]] = {
    module.ANALYSIS.name: module.ANALYSIS
    for module in (
        main_table,
        speed_quality,
        repetitions,
        length_buckets,
        length_candidates,
        distillation,
        figure1,
        calibration,
        changed_tokens,
        early_exit,
        int8,
        length_head,
        check_list,
    )
}
"""Analyses by name: the seven of the paper, then further ones."""

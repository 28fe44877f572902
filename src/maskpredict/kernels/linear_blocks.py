"""Block sizes of the fused linear layer, chosen by the number of rows, inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import triton

from maskpredict.kernels.matmul import inputs_per_step

PROCESSORS = 132
"""Streaming multiprocessors of a large GPU; on a smaller one, programs take turns."""
TILES, COLUMNS = (16, 32), (16, 32, 64, 128)
"""Possible rows and outputs of a program. The matrix units take no fewer than 16 rows."""
WARPS = 8
"""Warps of a program, and split-K slices. The same for any number of rows, because it fixes the order of the sums."""
STEP = 512
"""Inputs loaded at once if a row has more than fit; fixes the order of the sums, too."""
MAX_INPUT_TILE, MAX_WEIGHT_TILE = 16_384, 65_536
"""Inputs and weights that a program may hold in registers."""
MAX_BYTES_IN_FLIGHT = 204_800
"""Bytes of pending loads of a program: the shared memory of a multiprocessor, less some for sums."""


@dataclass(frozen=True)
class Blocks:
    """Block sizes of a launch."""

    tile: int
    """Rows of a program."""
    columns: int
    """Outputs of a program."""
    warps: int = WARPS
    step: int = STEP
    split_k: bool = True
    """True if the warps split the inputs, False if they split the outputs."""


MANY_ROWS = Blocks(64, 64, split_k=False)
"""Block sizes for many rows."""
MAX_MANY_ROWS_TILE = 32_768
"""Inputs, and weights, that a program with `MANY_ROWS` may hold."""


@cache
def choose_blocks(rows: int, inputs: int, outputs: int, *, whole: bool, dividing: int = 0) -> Blocks:
    """Return the blocks with which the busiest multiprocessor loads least; `dividing` is 0 or a multiple of columns."""
    step = inputs_per_step(inputs, STEP, whole=whole)

    def loaded(blocks: Blocks) -> int:
        programs = triton.cdiv(rows, blocks.tile) * triton.cdiv(outputs, blocks.columns)
        return int(triton.cdiv(programs, PROCESSORS)) * (blocks.tile + blocks.columns)

    tiles = [tile for tile in TILES if tile * step <= MAX_INPUT_TILE] or TILES[:1]
    # With several steps, the weights of the next are loaded while those of one are multiplied.
    most = MAX_WEIGHT_TILE if step >= inputs else MAX_WEIGHT_TILE // 2
    columns = [count for count in COLUMNS if count * step <= most and dividing % count == 0] or COLUMNS[:1]
    options = [Blocks(tile, count) for tile in tiles for count in columns]
    if (
        step >= inputs
        and max(MANY_ROWS.tile, MANY_ROWS.columns) * step <= MAX_MANY_ROWS_TILE
        and dividing % MANY_ROWS.columns == 0
    ):
        options.append(MANY_ROWS)
    return min(options, key=loaded)


def choose_stages(blocks: Blocks, inputs: int, step: int, bytes_each: int) -> int:
    """Return the number of pipeline stages: enough to load all steps at once, if they fit."""
    fitting = MAX_BYTES_IN_FLIGHT // ((blocks.tile + blocks.columns) * step * bytes_each)
    return 1 + max(1, min(int(triton.cdiv(inputs, step)), fitting))

"""The functions of `kernels/reference.py` as one GPU kernel each. Needs Triton, so import it only with a GPU."""

from maskpredict.kernels.cross_attention import cross_attend
from maskpredict.kernels.embedding import add_words, embed
from maskpredict.kernels.linear import linear, linear_into, scores
from maskpredict.kernels.row_attention import attend
from maskpredict.kernels.row_attention import row_attention as attend_seen
from maskpredict.kernels.vocabulary import block_bests

__all__ = [
    "add_words",
    "attend",
    "attend_seen",
    "block_bests",
    "cross_attend",
    "embed",
    "linear",
    "linear_into",
    "scores",
]

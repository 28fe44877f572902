"""The functions of `fused_ops.py` as one GPU kernel each. Imported where there is a GPU only, since it needs Triton."""

from maskpredict.model.gpu_cross_attention import cross_attend
from maskpredict.model.gpu_embedding import embed
from maskpredict.model.gpu_linear import linear, linear_into, scores
from maskpredict.model.gpu_vocabulary import block_bests
from maskpredict.model.row_attention import attend
from maskpredict.model.row_attention import row_attention as attend_seen

__all__ = ["attend", "attend_seen", "block_bests", "cross_attend", "embed", "linear", "linear_into", "scores"]

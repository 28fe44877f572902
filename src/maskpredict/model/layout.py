"""The layout of a batch's sentences in a tensor, and attention within them.

Everything in a transformer except attention and positions is per token, so the layers take tensors of shape [..., D],
and one of two layouts has the boundaries of sentences:

- `Padded`: one row per sentence, padded on the right. [B, T, D]. For decoding and CPU training.
- `Packed`: sentences concatenated without padding in between. [N, D]. One fixed shape for every batch of a training
  run, so a GPU can replay one captured step and spends nothing on padding.

Shape letters: B rows (sentences), T positions, N tokens of a packed batch, H heads, K head size.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Padded:
    """Rows of one width, padded on the right."""

    lengths_B: Tensor
    valid_BT: Tensor
    """True for tokens, False for padding."""

    @classmethod
    def of(cls, lengths_B: Tensor, width: int) -> Padded:
        """Return the layout of rows with these lengths, padded to `width`."""
        return cls(lengths_B, torch.arange(width, device=lengths_B.device) < lengths_B[:, None])

    @property
    def max_length(self) -> int:
        """Width of the rows."""
        return self.valid_BT.shape[1]

    @property
    def valid(self) -> Tensor:
        """True for tokens, False for padding, in the shape of the ids."""
        return self.valid_BT

    @property
    def valid_rows(self) -> Tensor:
        """True for rows that are sentences."""
        return torch.ones_like(self.lengths_B, dtype=torch.bool)

    @property
    def positions(self) -> Tensor:
        """Place of each token in its sentence, from 0."""
        return torch.arange(self.valid_BT.shape[1], device=self.valid_BT.device).expand_as(self.valid_BT)

    @property
    def rows(self) -> Tensor:
        """Row of each token."""
        return torch.arange(self.valid_BT.shape[0], device=self.valid_BT.device)[:, None].expand_as(self.valid_BT)

    def firsts(self, x: Tensor) -> Tensor:
        """Return the vector at the first position of every sentence."""
        return x[:, 0]

    def without_firsts(self, x: Tensor) -> tuple[Tensor, Padded]:
        """Return the sentences without their first position; padding keeps the width (see `model.padding.ROWS`)."""
        width = x.shape[1]
        return F.pad(x[:, 1:], (0, 0, 0, 1)), Padded.of(self.lengths_B - 1, width)

    def repeat(self, times: int) -> Padded:
        """Return each row `times` times in succession, for beams and length candidates."""
        return Padded(self.lengths_B.repeat_interleave(times, 0), self.valid_BT.repeat_interleave(times, 0))

    def select(self, index: Tensor) -> Padded:
        """Return the rows at `index`."""
        return Padded(self.lengths_B[index], self.valid_BT[index])

    def stretched(self, times: int) -> Padded:
        """Return the layout of the same sentences with every position repeated `times` times."""
        return Padded.of(self.lengths_B * times, self.valid_BT.shape[1] * times)

    def spread(self, x: Tensor) -> Tensor:
        """Return x as rows [B, T, ...], which it is already."""
        return x

    def compacted(self, kept: Tensor) -> tuple[Padded, Tensor]:
        """Return the layout of the kept tokens, moved to the left, and each token's flat index into it.

        The index of a token that is not kept is that of the next kept one of its sentence.
        """
        kept_BT = kept & self.valid_BT
        before_BT = kept_BT.cumsum(1) - kept_BT.long()
        width = self.valid_BT.shape[1]
        return Padded.of(kept_BT.sum(1), width), (self.rows * width + before_BT).flatten()

    def with_empty_rows(self) -> Padded:
        """Return the layout itself; see `Packed`."""
        return self


@dataclass(frozen=True)
class Packed:
    """Concatenated sentences. Rows after the first `real_rows` are padding, so that every token has a row."""

    starts: Tensor
    """Start of each row, then the end of the last one; int32 [B + 1]."""
    max_length: int
    """Upper limit of the rows' lengths."""
    rows: Tensor
    """Row of each token."""
    positions: Tensor
    """Place of each token in its sentence, from 0."""
    valid: Tensor
    """True for tokens, False for padding."""
    valid_rows: Tensor
    """True for rows that are sentences."""

    @classmethod
    def of(cls, starts: Tensor, real_rows: Tensor, tokens: int, max_length: int) -> Packed:
        """Return the layout of `tokens` tokens with rows at `starts`, of which the first `real_rows` are sentences."""
        # Counting the starts up to each token gives its row. (torch.searchsorted is more direct, but its compiled GPU
        # version in PyTorch 2.11 is suspected of misreading slices.)
        begins = torch.zeros(tokens + 1, dtype=torch.long, device=starts.device)
        begins.scatter_add_(0, starts[1:-1].long(), torch.ones_like(starts[1:-1], dtype=torch.long))
        rows = begins[:tokens].cumsum(0)
        index = torch.arange(tokens, device=starts.device)
        valid_rows = torch.arange(len(starts) - 1, device=starts.device) < real_rows
        return cls(starts, max_length, rows, (index - starts[rows]).long(), valid_rows[rows], valid_rows)

    @property
    def lengths_B(self) -> Tensor:
        """Length of each row."""
        return (self.starts[1:] - self.starts[:-1]).long()

    def firsts(self, x: Tensor) -> Tensor:
        """Return the vector at the first position of every sentence."""
        return x.index_select(0, self.starts[:-1])

    def without_firsts(self, x: Tensor) -> tuple[Tensor, Packed]:
        """Return the sentences without their first position; every row must have one."""
        rows = len(self.starts) - 1
        starts = self.starts - torch.arange(rows + 1, device=x.device, dtype=torch.int32)
        layout = Packed.of(starts, self.valid_rows.sum(), x.shape[0] - rows, self.max_length)
        return x.index_select(0, torch.arange(x.shape[0] - rows, device=x.device) + layout.rows + 1), layout

    def stretched(self, times: int) -> Packed:
        """Return the layout of the same sentences with every position repeated `times` times."""
        return Packed.of(self.starts * times, self.valid_rows.sum(), len(self.rows) * times, self.max_length * times)

    def compacted(self, kept: Tensor) -> tuple[Packed, Tensor]:
        """Return the layout of the kept tokens, moved to the front, and each token's index into it.

        The index of a token that is not kept is that of the next kept one of its sentence. The number of tokens stays
        the same, for CUDA graphs. So there are as many rows of padding behind the rows of the sentences: each has the
        room of the tokens that its sentence has lost.
        """
        kept_N = kept & self.valid
        counts_B = torch.zeros_like(self.lengths_B).index_add_(0, self.rows, kept_N.long())
        ends = torch.cat([counts_B, self.lengths_B - counts_B]).cumsum(0)
        starts = torch.cat([torch.zeros_like(ends[:1]), ends]).int()
        layout = Packed.of(starts, self.valid_rows.sum(), len(self.rows), self.max_length)
        return layout, kept_N.cumsum(0) - kept_N.long()

    def with_empty_rows(self) -> Packed:
        """Return the layout with as many empty rows behind its own, for the rows of padding of `compacted`."""
        starts = torch.cat([self.starts, self.starts[-1:].expand(len(self.starts) - 1)])
        return Packed.of(starts, self.valid_rows.sum(), len(self.rows), self.max_length)

    def spread(self, x: Tensor) -> Tensor:
        """Return x [N, ...] as rows [B, T, ...], arbitrary beyond a row's length."""
        place = torch.arange(self.max_length, device=x.device)
        return x[(self.starts[:-1, None] + place).clamp(max=max(x.shape[0] - 1, 0))]


Layout = Padded | Packed


def attend(q: Tensor, k: Tensor, v: Tensor, queries: Layout, keys: Layout, *, causal: bool = False) -> Tensor:
    """Return scaled dot-product attention [..., H, K] within each sentence; q, k, v are [..., H, K]."""
    if isinstance(queries, Packed):
        assert isinstance(keys, Packed)
        return _attend_packed(q, k, v, queries, keys, causal)
    assert isinstance(keys, Padded)
    # With padding on the right only, a causal mask already hides it from every valid query.
    mask = None if causal else keys.valid_BT[:, None, None, :]
    return _attend_rows(q, k, v, mask, causal)


def attend_seen(q: Tensor, k: Tensor, v: Tensor, seen_BTS: Tensor) -> Tensor:
    """Return attention of each query to the keys of its row where `seen_BTS`; q, k, v are [B, T or S, H, K]."""
    return _attend_rows(q, k, v, seen_BTS[:, None], causal=False)


def _attend_rows(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    queries = q.shape[1]
    if mask is not None and _suits_row_attention(q):
        from maskpredict.kernels.row_attention import row_attention

        return row_attention(q, k, v, mask[:, 0])
    if queries < 8 and not q.is_cuda:
        # With fewer than eight queries, the rounding of PyTorch's CPU kernel depends on the threads.
        q = torch.cat([q, q[:, :1].expand(-1, 8 - queries, -1, -1)], 1)
        if mask is not None and mask.shape[2] > 1:
            mask = torch.cat([mask, mask[:, :, :1].expand(-1, -1, 8 - queries, -1)], 2)
    out = F.scaled_dot_product_attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=mask, is_causal=causal
    )
    return out.transpose(1, 2)[:, :queries]


def _suits_row_attention(q: Tensor) -> bool:
    half = q.dtype in (torch.bfloat16, torch.float16)
    return q.is_cuda and half and q.shape[1] <= 128 and not torch.is_grad_enabled()


def _attend_packed(q: Tensor, k: Tensor, v: Tensor, queries: Packed, keys: Packed, causal: bool) -> Tensor:
    if q.is_cuda and q.dtype in (torch.bfloat16, torch.float16):
        from maskpredict.kernels.packed_attention import attend_on_gpu

        return attend_on_gpu(q, k, v, queries.starts, keys.starts, queries.max_length, keys.max_length, causal)
    # There is no packed kernel here: pad, attend, and pack again.
    k_rows, v_rows, q_rows = keys.spread(k), keys.spread(v), queries.spread(q)
    mask = (torch.arange(keys.max_length, device=k.device) < keys.lengths_B[:, None])[:, None, None, :]
    if causal:
        mask = mask & torch.ones(mask.shape[-1], mask.shape[-1], dtype=torch.bool, device=q.device).tril()
    out = _attend_rows(q_rows, k_rows, v_rows, mask, causal=False)
    return out[queries.rows, queries.positions].nan_to_num()  # a row of padding may have no key

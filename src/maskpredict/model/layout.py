"""How the sentences of a batch lie in a tensor, and how they attend to each other there.

Everything in a transformer except attention and positions treats each token alone, so the layers are written for
tensors of shape [..., D] and one of two layouts says where sentences begin and end:

- `Padded`: one row per sentence, filled up at the right. [B, T, D]. What decoding and CPU training use.
- `Packed`: sentences laid end to end, no filling in between. [N, D]. One fixed shape for every batch of a training
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
    """Rows of one width; what lies beyond a row's length is filling."""

    lengths_B: Tensor
    valid_BT: Tensor
    """True where a real token stands."""

    @classmethod
    def of(cls, lengths_B: Tensor, width: int) -> Padded:
        """The layout of rows with these lengths, padded to `width`."""
        return cls(lengths_B, torch.arange(width, device=lengths_B.device) < lengths_B[:, None])

    @property
    def max_length(self) -> int:
        """No row is longer."""
        return self.valid_BT.shape[1]

    @property
    def valid(self) -> Tensor:
        """True where a real token stands, in the shape of the ids."""
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
        """The vector at the first position of every sentence."""
        return x[:, 0]

    def without_firsts(self, x: Tensor) -> tuple[Tensor, Padded]:
        """The same sentences with their first position taken away; filling keeps the width (see `model.batch.ROWS`)."""
        width = x.shape[1]
        return F.pad(x[:, 1:], (0, 0, 0, 1)), Padded.of(self.lengths_B - 1, width)

    def repeat(self, times: int) -> Padded:
        """Each row `times` times in succession, for beams and length candidates."""
        return Padded(self.lengths_B.repeat_interleave(times, 0), self.valid_BT.repeat_interleave(times, 0))

    def select(self, index: Tensor) -> Padded:
        """The rows at `index`."""
        return Padded(self.lengths_B[index], self.valid_BT[index])

    def stretched(self, times: int) -> Padded:
        """The layout of the same sentences with every position `times` times."""
        return Padded.of(self.lengths_B * times, self.valid_BT.shape[1] * times)

    def spread(self, x: Tensor) -> Tensor:
        """x [B, T, ...] row by row, which it is already."""
        return x


@dataclass(frozen=True)
class Packed:
    """Sentences laid end to end. Rows after the first `real_rows` hold the filling, so that every token has a row."""

    starts: Tensor
    """Where each row starts, and after it where the last one ends; int32 [B + 1]."""
    max_length: int
    """No row is longer."""
    rows: Tensor
    """Row of each token."""
    positions: Tensor
    """Place of each token in its sentence, from 0."""
    valid: Tensor
    """True where a real token stands."""
    valid_rows: Tensor
    """True for rows that are sentences."""

    @classmethod
    def of(cls, starts: Tensor, real_rows: Tensor, tokens: int, max_length: int) -> Packed:
        """The layout of `tokens` tokens whose rows begin at `starts`; only the first `real_rows` are sentences."""
        # Counting the starts up to each token gives its row. (torch.searchsorted says the same more directly, but its
        # compiled GPU version in PyTorch 2.11 is suspected of misreading slices.)
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
        """The vector at the first position of every sentence."""
        return x.index_select(0, self.starts[:-1])

    def without_firsts(self, x: Tensor) -> tuple[Tensor, Packed]:
        """The same sentences with their first position taken away; every row must have one."""
        rows = len(self.starts) - 1
        starts = self.starts - torch.arange(rows + 1, device=x.device, dtype=torch.int32)
        rest = Packed.of(starts, self.valid_rows.sum(), x.shape[0] - rows, self.max_length)
        return x.index_select(0, torch.arange(x.shape[0] - rows, device=x.device) + rest.rows + 1), rest

    def stretched(self, times: int) -> Packed:
        """The layout of the same sentences with every position `times` times."""
        return Packed.of(self.starts * times, self.valid_rows.sum(), len(self.rows) * times, self.max_length * times)

    def spread(self, x: Tensor) -> Tensor:
        """x [N, ...] as rows [B, T, ...]; what lies beyond a row's length is anything."""
        place = torch.arange(self.max_length, device=x.device)
        return x[(self.starts[:-1, None] + place).clamp(max=max(x.shape[0] - 1, 0))]


Layout = Padded | Packed


def attend(q: Tensor, k: Tensor, v: Tensor, queries: Layout, keys: Layout, *, causal: bool = False) -> Tensor:
    """Scaled dot-product attention within each sentence; q, k, v are [..., H, K] and so is the answer."""
    if isinstance(queries, Packed):
        assert isinstance(keys, Packed)
        return _attend_packed(q, k, v, queries, keys, causal)
    assert isinstance(keys, Padded)
    # With filling on the right only, a causal mask already hides it from every real query.
    mask = None if causal else keys.valid_BT[:, None, None, :]
    return _attend_rows(q, k, v, mask, causal)


def attend_seen(q: Tensor, k: Tensor, v: Tensor, seen_BTS: Tensor) -> Tensor:
    """Attention of each query to the keys of its row that it sees; q, k, v are [B, T or S, H, K]."""
    return _attend_rows(q, k, v, seen_BTS[:, None], causal=False)


def _attend_rows(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    queries = q.shape[1]
    if mask is not None and _suits_row_attention(q):
        from maskpredict.kernels.row_attention import row_attention

        return row_attention(q, k, v, mask[:, 0])
    if queries < 8 and not q.is_cuda:
        # PyTorch's CPU kernel rounds a few queries differently in different threads, eight of them alike.
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
    # No packed kernel here: spread the tokens over rows, attend, and gather them again.
    k_rows, v_rows, q_rows = keys.spread(k), keys.spread(v), queries.spread(q)
    mask = (torch.arange(keys.max_length, device=k.device) < keys.lengths_B[:, None])[:, None, None, :]
    if causal:
        mask = mask & torch.ones(mask.shape[-1], mask.shape[-1], dtype=torch.bool, device=q.device).tril()
    out = _attend_rows(q_rows, k_rows, v_rows, mask, causal=False)
    return out[queries.rows, queries.positions].nan_to_num()  # a row of filling may have no key at all

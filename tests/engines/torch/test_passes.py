"""Decoder passes that leave finished drafts behind."""

from __future__ import annotations

import torch

from maskpredict.engines.torch.passes import Encoded, passes_over
from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Padded
from maskpredict.model.transformer import Transformer


@torch.inference_mode()
def test_rows_that_leave_do_not_change_those_that_stay() -> None:
    torch.manual_seed(4)
    config = ModelConfig(width=16, hidden=32, heads=2, encoder_layers=1, decoder_layers=2, max_positions=32)
    transformer = Transformer(config, 13, 13).eval()
    source, layout = Padded.of(torch.tensor([5, 8, 3]), 8), Padded.of(torch.tensor([16, 9, 12, 11]), 16)
    memory = transformer.memory(transformer.encode(torch.randint(5, 13, (3, 8)), source))
    passes = passes_over(transformer, Encoded(memory, source, torch.empty(0)), [0, 1, 1, 2], layout)
    ids = torch.randint(5, 13, (4, 16))
    everywhere = torch.zeros(4, 16, 13)
    everywhere[layout.valid] = torch.cat(list(passes.logits(ids, layout.valid, ())))
    for staying in ([0, 1, 2, 3], [1, 3], [2], [0, 2, 3]):
        wanted = torch.zeros_like(layout.valid)
        wanted[staying, 1:7] = True
        (logits,) = passes.logits(ids, wanted, ())
        assert torch.equal(logits, everywhere[wanted])
        found = passes.predict(ids, wanted, (5, 6), ids)
        expected = logits.index_fill(1, torch.tensor([5, 6]), float("-inf")).log_softmax(1)
        assert torch.equal(found.tokens_M, expected.argmax(1))
        torch.testing.assert_close(found.log_probs_M, expected.amax(1))
        torch.testing.assert_close(found.given_log_probs_M, expected.gather(1, ids[wanted][:, None])[:, 0])

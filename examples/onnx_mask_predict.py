"""Mask-predict on a model that `maskpredict export onnx` wrote, with onnxruntime, sentencepiece and numpy alone.

python onnx_mask_predict.py FOLDER [PASSES [LENGTHS]] < sources.txt > translations.txt
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from sentencepiece import SentencePieceProcessor


class OnnxTranslator:
    def __init__(self, folder: Path) -> None:
        self.encoder = onnxruntime.InferenceSession(folder / "encoder.onnx")
        self.decoder = onnxruntime.InferenceSession(folder / "decoder.onnx")
        joint = (folder / "tokenizer.model").exists()
        self.source, self.target = (
            SentencePieceProcessor(model_file=str(folder / f"{'tokenizer' if joint else side}.model"))
            for side in ("source", "target")
        )
        self.description = json.loads((folder / "onnx.json").read_text(encoding="utf-8"))
        self.eos, self.mask = (self.description["special"][name] for name in ("eos", "mask"))

    def translate(self, text: str, passes: int = 10, candidates: int = 5) -> list[int]:
        """Ids of all target positions."""
        source = np.array([[*self.source.encode(text), self.eos]])
        source_lengths = np.array([source.shape[1]])
        memory, length_log_probs = self.encoder.run(None, {"source_ids": source, "source_lengths": source_lengths})
        likeliest = np.argsort(-length_log_probs[0], kind="stable")[:candidates]
        lengths = np.array(list(dict.fromkeys(likeliest.clip(2, self.description["max_positions"] - 1).tolist())))
        rows = {"target_lengths": lengths, "memory": memory.repeat(len(lengths), 0)}
        rows["source_lengths"] = source_lengths.repeat(len(lengths))
        real = np.arange(lengths.max()) < lengths[:, None]
        tokens, log_probs = np.full(real.shape, self.mask), np.zeros(real.shape, dtype=np.float32)
        for t in range(passes):
            confidence = np.where(real, log_probs, np.inf)
            rank = confidence.argsort(1, kind="stable").argsort(1)  # 0 is the least sure, the leftmost of equals
            masked = real & (rank < np.maximum(1, lengths * (passes - t) // passes)[:, None])
            (logits,) = self.decoder.run(None, {"target_ids": np.where(masked, self.mask, tokens), **rows})
            best = logits.max(-1)
            norm = best + np.log(np.exp(logits - best[..., None]).sum(-1))
            tokens = np.where(masked, logits.argmax(-1), tokens)
            log_probs = np.where(masked, best - norm, log_probs)
        winner = ((log_probs * real).sum(1) / lengths).argmax()
        return tokens[winner, : lengths[winner]].tolist()

    def text(self, ids: list[int]) -> str:
        return self.target.decode(ids[: ids.index(self.eos)] if self.eos in ids else ids)


if __name__ == "__main__":
    translator, settings = OnnxTranslator(Path(sys.argv[1])), [int(value) for value in sys.argv[2:]]
    for line in sys.stdin:
        print(translator.text(translator.translate(line, *settings)) if line.strip() else "", flush=True)

"""An alignment model that `maskpredict export onnx` wrote, with onnxruntime, sentencepiece and numpy alone.

python onnx_alignment.py FOLDER [PASSES] < sources.txt > translations.txt
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
        description = json.loads((folder / "onnx.json").read_text(encoding="utf-8"))
        self.eos, self.mask, self.blank = (description["special"][name] for name in ("eos", "mask", "bos"))
        self.positions = description["positions"]

    def translate(self, text: str, passes: int = 1) -> list[int]:
        """Ids of the target, the end mark included."""
        source = np.array([[*self.source.encode(text), self.eos]])
        lengths = {"source_lengths": np.array([source.shape[1]])}
        (memory,) = self.encoder.run(None, {"source_ids": source, **lengths})
        count = self.positions * source.shape[1]
        rows = {"target_lengths": np.array([count]), "memory": memory, **lengths}
        tokens, log_probs = np.full(count, self.mask), np.zeros(count, dtype=np.float32)
        for t in range(passes):
            masked = np.full(count, t == 0)
            for kind in (tokens != self.blank, tokens == self.blank) if t else ():
                rank = np.where(kind, log_probs, np.inf).argsort(kind="stable").argsort()  # 0 is the least sure
                masked |= kind & (rank < max(1, kind.sum() * (passes - t) // passes))
            (logits,) = self.decoder.run(None, {"target_ids": np.where(masked, self.mask, tokens)[None], **rows})
            best, logits = logits[0].argmax(-1), logits[0]
            chosen = logits.max(-1)
            norm = chosen + np.log(np.exp(logits - chosen[:, None]).sum(-1))
            tokens = np.where(masked, np.where(best == self.mask, self.blank, best), tokens)
            log_probs = np.where(masked, chosen - norm, log_probs)
        is_new = np.append(True, tokens[1:] != tokens[:-1])
        return tokens[is_new & (tokens != self.blank)].tolist()

    def text(self, ids: list[int]) -> str:
        return self.target.decode(ids[: ids.index(self.eos)] if self.eos in ids else ids)


if __name__ == "__main__":
    translator, settings = OnnxTranslator(Path(sys.argv[1])), [int(value) for value in sys.argv[2:]]
    for line in sys.stdin:
        print(translator.text(translator.translate(line, *settings)) if line.strip() else "", flush=True)

"""Tiny models of transformers of each family, with real tokenizers trained on the toy language of conftest.py."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers as typed_transformers
from transformers.models.m2m_100 import tokenization_m2m_100
from transformers.models.nllb import tokenization_nllb

from tests.conftest import toy_sentences, toy_translation

transformers: Any = typed_transformers
SOURCES = toy_sentences(300, seed=1)
TARGETS = [toy_translation(source) for source in SOURCES]
SHAPE = {
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "dropout": 0.0,
    "max_position_embeddings": 64,
}
SPREAD, TRAINABLE_SPREAD = 0.4, 0.15
"""Standard deviation of random weights: large enough for translations that differ, and good to learn from."""


def learn_pieces(lines: Sequence[str], path: Path, size: int, kind: str = "bpe", **options: Any) -> list[str]:
    """Write a SentencePiece model; returns its subwords."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        model_type=kind,
        vocab_size=size,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    path.write_bytes(model.getvalue())
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return [processor.id_to_piece(index) for index in range(processor.vocab_size())]


def marian(folder: Path, *, codes: Sequence[str] = (), steps: int = 0) -> Path:
    """A MarianMT model; `steps` of training teach it the toy language."""
    folder.mkdir(parents=True)
    pieces = [
        piece
        for lines, name in ((SOURCES, "source.spm"), (TARGETS, "target.spm"))
        for piece in learn_pieces(lines, folder / name, 60, "unigram")
    ]
    tokens = dict.fromkeys(["</s>", "<unk>", *codes, *(piece for piece in pieces if piece != "<s>")])
    vocabulary = {token: index for index, token in enumerate([*tokens, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    files = (str(folder / name) for name in ("source.spm", "target.spm", "vocab.json"))
    tokenizer = transformers.MarianTokenizer(*files)
    pad, end = vocabulary["<pad>"], vocabulary["</s>"]
    config = transformers.MarianConfig(
        vocab_size=len(vocabulary),
        pad_token_id=pad,
        eos_token_id=end,
        forced_eos_token_id=end,
        decoder_start_token_id=pad,
        scale_embedding=True,
        activation_function="swish",
        **SHAPE,
    )
    model = randomized(transformers.MarianMTModel, config, spread=TRAINABLE_SPREAD if steps else SPREAD)
    if steps:
        _train(model, tokenizer, steps)
    model.generation_config = transformers.GenerationConfig(
        decoder_start_token_id=pad,
        pad_token_id=pad,
        eos_token_id=end,
        forced_eos_token_id=end,
        bad_words_ids=[[pad]],
        num_beams=4,
        max_length=512,
    )
    return saved(folder, model, tokenizer)


def m2m100(folder: Path) -> Path:
    """An M2M100 model, with the codes of a hundred languages."""
    folder.mkdir(parents=True)
    pieces = learn_pieces([*SOURCES, *TARGETS], folder / "sentencepiece.bpe.model", 90)
    tokens = ["<s>", "<pad>", "</s>", "<unk>", *pieces[3:]]
    (folder / "vocab.json").write_text(json.dumps({token: index for index, token in enumerate(tokens)}))
    files = (str(folder / name) for name in ("vocab.json", "sentencepiece.bpe.model"))
    codes = [f"__{code}__" for code in tokenization_m2m_100.FAIRSEQ_LANGUAGE_CODES["m2m100"]]
    tokenizer = transformers.M2M100Tokenizer(*files, additional_special_tokens=codes)
    size = len(tokenizer) + tokenizer.num_madeup_words
    config = transformers.M2M100Config(vocab_size=size, **_many_languages(tokenizer))
    unlikely = range(len(tokens), size)
    return saved(folder, randomized(transformers.M2M100ForConditionalGeneration, config, unlikely), tokenizer)


def nllb(folder: Path) -> Path:
    """A model of NLLB-200, with the codes of two hundred languages."""
    folder.mkdir(parents=True)
    learn_pieces([*SOURCES, *TARGETS], folder / "sentencepiece.bpe.model", 90)
    codes = tokenization_nllb.FAIRSEQ_LANGUAGE_CODES
    tokenizer = transformers.NllbTokenizer.from_pretrained(folder, extra_special_tokens=codes)
    config = transformers.M2M100Config(vocab_size=len(tokenizer), **_many_languages(tokenizer))
    unlikely = tokenizer.convert_tokens_to_ids(codes)
    return saved(folder, randomized(transformers.M2M100ForConditionalGeneration, config, unlikely), tokenizer)


def mbart50(folder: Path) -> Path:
    """A model of mBART-50."""
    folder.mkdir(parents=True)
    learn_pieces([*SOURCES, *TARGETS], folder / "sentencepiece.bpe.model", 90, "unigram")
    tokenizer = transformers.MBart50Tokenizer.from_pretrained(folder, bos_token="<s>")
    config = transformers.MBartConfig(
        vocab_size=len(tokenizer),
        normalize_before=True,
        normalize_embedding=True,
        **_many_languages(tokenizer),
    )
    unlikely = list(tokenizer.lang_code_to_id.values())
    saved(folder, randomized(transformers.MBartForConditionalGeneration, config, unlikely), tokenizer)
    # transformers 5 does not write it; the published models have it, and CTranslate2's converter looks for it.
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**content, "tokenizer_class": "MBart50Tokenizer"}))
    return folder


def t5(folder: Path, *, codes: Sequence[str] = ()) -> Path:
    """A T5 model; with `codes` such as <2en>, a MADLAD one."""
    folder.mkdir(parents=True)
    options = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1, "user_defined_symbols": list(codes)}
    learn_pieces([*SOURCES, *TARGETS], folder / "spiece.model", 90, "unigram", **options)
    tokenizer = transformers.T5Tokenizer.from_pretrained(folder, extra_ids=0)
    config = transformers.T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=1,
        num_heads=2,
        dropout_rate=0.0,
        feed_forward_proj="gated-gelu",
        decoder_start_token_id=0,
    )
    return saved(folder, randomized(transformers.T5ForConditionalGeneration, config), tokenizer)


def _many_languages(tokenizer: Any) -> dict[str, Any]:
    end = tokenizer.eos_token_id
    ids = {"bos_token_id": tokenizer.bos_token_id, "pad_token_id": tokenizer.pad_token_id, "eos_token_id": end}
    return {**SHAPE, **ids, "decoder_start_token_id": end, "forced_eos_token_id": end, "scale_embedding": True}


def randomized(
    model_type: Callable[[Any], Any], config: Any, unlikely: Sequence[int] = (), *, spread: float = SPREAD
) -> Any:
    """A model with random weights, which hardly ever writes the `unlikely` tokens."""
    torch.manual_seed(1)
    model = model_type(config)
    for parameter in model.parameters():
        if parameter.ndim > 1 and parameter.requires_grad:  # Marian's sinusoidal positions stay as they are
            torch.nn.init.normal_(parameter, std=spread)
    with torch.no_grad():
        model.get_input_embeddings().weight[config.pad_token_id] = 0.0  # as in trained models
        model.get_input_embeddings().weight[list(unlikely)] *= 0.1
    return model.eval()


def saved(folder: Path, model: Any, tokenizer: Any) -> Path:
    """Write model and tokenizer into the folder."""
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


def _train(model: Any, tokenizer: Any, steps: int) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=8e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / 50) * (1 - 0.8 * step / steps)
    )
    for step in range(steps):
        sources = toy_sentences(32, seed=step)
        targets = [toy_translation(source) for source in sources]
        batch = tokenizer(sources, text_target=targets, return_tensors="pt", padding=True)
        batch["labels"][batch["labels"] == tokenizer.pad_token_id] = -100
        model(**batch).loss.backward()
        optimizer.step()
        model.get_input_embeddings().weight.data[tokenizer.pad_token_id] = 0.0  # which starts a translation
        schedule.step()
        optimizer.zero_grad()
    model.eval()

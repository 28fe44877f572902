"""onnxruntime on a CPU, in int8 or float32, without PyTorch: the fastest engine for systems that decode in passes.

Each draft is computed by itself without padding, so a translation does not depend on the batch.

Shape letters: B rows, T positions, M masked positions, L lengths, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from maskpredict.decoding.engine import Engine, Prediction, Query, split_groups
from maskpredict.engines.onnxruntime.fairseq_lengths import fairseq_length_log_probs
from maskpredict.engines.onnxruntime.graph import Arrays
from maskpredict.engines.onnxruntime.graphs import LENGTH_TABLE, decoder_graph, memory_names, source_graph
from maskpredict.engines.onnxruntime.program import Program
from maskpredict.errors import UserError
from maskpredict.model.folder import ModelFolder
from maskpredict.model.parameter_shapes import ALIGNMENT_SYSTEMS

Tokens = npt.NDArray[np.int64]


class OnnxruntimeEngine(Engine):
    """A model as two ONNX graphs: the encoder, and one pass of the decoder."""

    name = "onnxruntime"

    def __init__(self, contents: ModelFolder, compute_type: str, threads: int) -> None:
        contents.check_weights()
        self.system, self.config, self.special = contents.system, contents.config, contents.tokenizers.target.special
        self.device, self.compute_type, self.threads = "cpu", compute_type, threads
        self.vocabulary = contents.tokenizers.target.vocab_size
        self.has_slot = contents.system in ("cmlm", "refinement")
        self.has_states = contents.system in ALIGNMENT_SYSTEMS
        self.shows_tokens = contents.system != "ctc"
        self.begins_with_bos = contents.system.startswith("fairseq")
        self.length_table = contents.weights[LENGTH_TABLE] if self.begins_with_bos else None
        pool = ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="maskpredict")
        int8 = compute_type == "int8"
        source = partial(source_graph, contents.config, contents.weights, slot=self.has_slot, int8=int8)
        hidden = self.special.mask if contents.system == "alignment" else None
        decoder = partial(decoder_graph, contents.config, contents.weights, hidden=hidden, int8=int8)
        few = partial(decoder, shortlist=True)
        self.source_program, self.decoder_program, self.shortlist_program = (
            Program(build, pool, threads) for build in (source, decoder, few)
        )
        self.shortlist = contents.shortlist
        self.memory = [name for depth in range(contents.config.decoder_layers) for name in memory_names(depth)]

    def encode(self, sources: Sequence[Sequence[int]]) -> EncodedEach:
        """As in `Engine`."""
        before = [self.special.bos] if self.begins_with_bos else []
        inputs: list[Arrays] = [{"ids": np.array([*before, *ids])} for ids in sources]
        results = self.source_program.run(inputs, self._source_outputs(), parallel=len(sources) > 1)
        return EncodedEach(self, [self._source(one, ids) for one, ids in zip(results, sources, strict=True)])

    def _source_outputs(self) -> list[str]:
        outputs = list(self.memory)
        if self.has_slot:
            outputs.append("length_log_probs")
        if self.has_states:
            outputs.append("states")
        if self.begins_with_bos:
            outputs.append("encoded")
        return outputs

    def _source(self, results: Arrays, ids: Sequence[int]) -> Source:
        memory = {name: results[name] for name in self.memory}
        candidates = None if self.shortlist is None else self.shortlist.candidates(ids)
        if self.has_states:
            states = results["states"]
            return Source({**memory, "states": states}, positions=states.shape[1], candidates_V=candidates)
        if self.has_slot:
            return Source(memory, results["length_log_probs"][0], candidates_V=candidates)
        assert self.length_table is not None
        relative = self.system == "fairseq_cmlm_relative"
        log_probs_L = fairseq_length_log_probs(
            results["encoded"][0], self.length_table, self.config.max_positions, relative=relative
        )
        return Source(memory, log_probs_L, candidates_V=candidates)


@dataclass(frozen=True)
class Source:
    """A sentence after the encoder."""

    inputs: Arrays
    """Inputs of the decoder graph that depend on the source alone."""
    length_log_probs_L: npt.NDArray[np.float32] | None = None
    positions: int | None = None
    candidates_V: Tokens | None = None
    """What the model's shortlist allows in the target, in ascending order; None without a shortlist."""


@dataclass(frozen=True)
class EncodedEach:
    """Sources after the encoder."""

    engine: OnnxruntimeEngine
    sources: list[Source]

    @property
    def length_log_probs_BL(self) -> npt.NDArray[np.float32]:
        """As in `Encoded`."""
        rows = [source.length_log_probs_L for source in self.sources if source.length_log_probs_L is not None]
        if not rows:
            raise UserError(f"{self.engine.system} models do not predict target lengths.")
        return np.stack(rows)

    @property
    def positions(self) -> list[int]:
        """As in `Encoded`."""
        return [source.positions for source in self.sources if source.positions is not None]

    def groups(self, lengths: Sequence[int]) -> list[list[int]]:
        """As in `Encoded`: as many drafts as one pass may take."""
        return split_groups([list(range(len(lengths)))], lengths)

    def passes(self, owner: Sequence[int], lengths: Sequence[int]) -> OnnxruntimePasses:
        """As in `Encoded`."""
        return OnnxruntimePasses(self.engine, [self.sources[row] for row in owner], lengths)


class OnnxruntimePasses:
    """Passes over drafts: a run of the decoder graph for each draft."""

    def __init__(self, engine: OnnxruntimeEngine, sources: list[Source], lengths: Sequence[int]) -> None:
        self.engine, self.sources, self.lengths = engine, sources, lengths

    def array(self, rows: Sequence[Sequence[int]], fill: int) -> Tokens:
        """As in `Passes`."""
        width = max(map(len, rows))
        return np.array([[*row, *[fill] * (width - len(row))] for row in rows], dtype=np.int64)

    def predict(self, tokens_BT: Tokens, masked_BT: npt.NDArray[np.bool_], query: Query) -> Prediction:
        """As in `Passes`."""
        tokens = np.zeros(tokens_BT.shape, np.int64)
        log_probs = np.zeros(tokens_BT.shape, np.float32)
        given_log_probs = None if query.given_BT is None else np.zeros(tokens_BT.shape, np.float32)
        candidates = self._candidates(query)
        parts = list(self._parts(masked_BT, query))
        inputs = [self._inputs(row, tokens_BT, places_M, barred, candidates[row]) for row, places_M, barred in parts]
        outputs = ["token", "log_prob"]
        if query.given_BT is not None:
            outputs.append("given_log_prob")
            for one, (row, places_M, _) in zip(inputs, parts, strict=True):
                one["given"] = _places(query.given_BT[row, places_M, None], candidates[row])
        whole = all(ids_V is None for ids_V in candidates)
        program = self.engine.decoder_program if whole else self.engine.shortlist_program
        answers = program.run(inputs, outputs, parallel=len(self.sources) > 1)
        for (row, places_M, _), answer in zip(parts, answers, strict=True):
            tokens[row, places_M] = _tokens(answer["token"][:, 0], candidates[row])
            log_probs[row, places_M] = answer["log_prob"][:, 0]
            if given_log_probs is not None:
                given_log_probs[row, places_M] = answer["given_log_prob"][:, 0]
        return Prediction(tokens, log_probs, given_log_probs)

    def log_probs(self, tokens_BT: Tokens, query: Query) -> npt.NDArray[np.float32]:
        """As in `Passes`."""
        inputs = self._inputs(0, tokens_BT, np.arange(self.lengths[0]), query.suppress, None)
        (answer,) = self.engine.decoder_program.run([inputs], ["log_probs"], parallel=False)
        return answer["log_probs"]

    def _candidates(self, query: Query) -> list[Tokens | None]:
        """Return the target subwords to score for each draft, in ascending order; None for all of the vocabulary."""
        if not query.shortlist:
            return [None] * len(self.sources)
        candidates = [source.candidates_V for source in self.sources]
        if query.given_BT is None:
            return candidates
        given = [given_T[:length] for given_T, length in zip(query.given_BT, self.lengths, strict=True)]
        return [None if V is None else np.union1d(V, T) for V, T in zip(candidates, given, strict=True)]

    def _parts(self, masked_BT: npt.NDArray[np.bool_], query: Query) -> Iterator[tuple[int, Tokens, tuple[int, ...]]]:
        """Yield rows, masked positions and the tokens suppressed there, barred end marks among them."""
        for row in range(len(masked_BT)):
            if query.no_end_BT is None:
                parts = [(masked_BT[row], query.suppress)]
            else:
                no_end = (*query.suppress, self.engine.special.eos)
                barred_T = query.no_end_BT[row]
                parts = [(masked_BT[row] & ~barred_T, query.suppress), (masked_BT[row] & barred_T, no_end)]
            for chosen_T, suppressed in parts:
                (places_M,) = chosen_T.nonzero()
                if len(places_M):
                    yield row, places_M, suppressed

    def _inputs(
        self, row: int, tokens_BT: Tokens, places_M: Tokens, suppressed: tuple[int, ...], candidates_V: Tokens | None
    ) -> Arrays:
        inputs = {**self.sources[row].inputs, "wanted": places_M}
        inputs["penalties"] = penalties(suppressed, self.engine.vocabulary)
        if candidates_V is not None:
            inputs["candidates"], inputs["penalties"] = candidates_V, inputs["penalties"][candidates_V]
        if self.engine.shows_tokens:
            inputs["ids"] = tokens_BT[row, : self.lengths[row]]
        return inputs


def _places(tokens: Tokens, candidates_V: Tokens | None) -> Tokens:
    return tokens if candidates_V is None else np.searchsorted(candidates_V, tokens)


def _tokens(places: Tokens, candidates_V: Tokens | None) -> Tokens:
    return places if candidates_V is None else candidates_V[places]


@lru_cache(maxsize=16)
def penalties(suppressed: tuple[int, ...], vocabulary: int) -> npt.NDArray[np.float32]:
    """Return an addend for logits [V]: -inf for suppressed tokens, 0 for all others."""
    penalties_V = np.zeros(vocabulary, np.float32)
    penalties_V[list(suppressed)] = -np.inf
    return penalties_V

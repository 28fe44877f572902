"""A step of beam search in three launches instead of forty: two over the rows, one over the sentences (Triton).

The host side is `engines/cuda/fused_search.py`.
"""

from __future__ import annotations

import triton
import triton.language as tl

from maskpredict.kernels.pdl import allow_next_kernel, wait_for_previous_kernel

MAX_BEAMS = 16
"""Largest beam size: a program holds all continuations of a sentence, twice the square of this."""


@triton.jit(do_not_specialize=["vocabulary", "groups", "eos"])
def best_of_groups(  # type: ignore[no-untyped-def]
    LOGITS, HIGHEST, NORM, LOG_PROBS, TOKENS, END, stride, vocabulary, groups, eos,
    COUNT: tl.constexpr, GROUP: tl.constexpr, GROUPS: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Find the COUNT best tokens of a row, one by one: each is in the group with the highest maximum."""
    row = tl.program_id(0).to(tl.int64)
    group, place = tl.arange(0, GROUPS), tl.arange(0, GROUP)
    wait_for_previous_kernel(PDL)
    allow_next_kernel(PDL)
    highest = tl.load(HIGHEST + row * groups + group, mask=group < groups, other=float("-inf"))
    norm = tl.load(NORM + row)
    last_value = tl.full((GROUPS,), float("inf"), tl.float32)  # the last logit and token found in each group
    last_token = tl.full((GROUPS,), -1, tl.int32)
    for number in range(COUNT):
        best_group = tl.argmax(highest, 0)
        is_best = group == best_group
        value = tl.min(tl.where(is_best, last_value, float("inf")), 0)
        token = tl.max(tl.where(is_best, last_token, -1), 0)
        tokens = best_group * GROUP + place
        x = tl.load(LOGITS + row * stride + tokens, mask=tokens < vocabulary, other=float("-inf")).to(tl.float32)
        x = tl.where((x < value) | ((x == value) & (tokens > token)), x, float("-inf"))
        best, chosen = tl.max(x, 0), best_group * GROUP + tl.argmax(x, 0)
        highest = tl.where(is_best, tl.max(tl.where(tokens == chosen, float("-inf"), x), 0), highest)
        last_value, last_token = tl.where(is_best, best, last_value), tl.where(is_best, chosen, last_token)
        tl.store(LOG_PROBS + row * COUNT + number, best - norm)
        tl.store(TOKENS + row * COUNT + number, tl.minimum(chosen, vocabulary - 1).to(tl.int64))
    tl.store(END + row, tl.load(LOGITS + row * stride + eos).to(tl.float32) - norm)


@triton.jit
def _continuations(  # type: ignore[no-untyped-def]
    TOP_LOG_PROBS, TOP_TOKENS, END, SCORES, number, first, at_limit, eos, BEAMS: tl.constexpr, COUNT: tl.constexpr,
):  # fmt: skip
    """Return log-probability, token and score of every continuation of every beam; EOS alone at the length limit."""
    row, rank, valid = first + number // COUNT, number % COUNT, number < BEAMS * COUNT
    log_prob = tl.load(TOP_LOG_PROBS + first * COUNT + number, mask=valid, other=float("-inf"))
    token = tl.load(TOP_TOKENS + first * COUNT + number, mask=valid, other=0)
    only_end = tl.where(rank == 0, tl.load(END + row, mask=valid, other=float("-inf")), float("-inf"))
    log_prob, token = tl.where(at_limit, only_end, log_prob), tl.where(at_limit, eos, token)
    return log_prob, token, tl.load(SCORES + row, mask=valid, other=float("-inf")) + log_prob


@triton.jit
def _pop_best(total, token, log_prob, number, COUNT: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return score, beam, token and log-probability of the best continuation, and the scores without it."""
    score, best = tl.max(total, 0), tl.argmax(total, 0)
    is_best = number == best
    best_token, best_log_prob = tl.sum(tl.where(is_best, token, 0), 0), tl.sum(tl.where(is_best, log_prob, 0.0), 0)
    return score, best // COUNT, best_token, best_log_prob, tl.where(is_best, float("-inf"), total)


@triton.jit
def _extend_beam(  # type: ignore[no-untyped-def]
    TOKENS, LOG_PROBS, NEW_TOKENS, NEW_LOG_PROBS, old_row, new_row, token, log_prob, is_alive, place, time, width
):
    """Copy a beam with one more token, if it is alive."""
    old, new, copied = old_row * width + place, new_row * width + place, place < tl.where(is_alive, width, 0)
    tokens = tl.load(TOKENS + old, mask=copied, other=0)
    log_probs = tl.load(LOG_PROBS + old, mask=copied, other=0.0)
    tl.store(NEW_TOKENS + new, tl.where(place == time, token, tokens), mask=copied)
    tl.store(NEW_LOG_PROBS + new, tl.where(place == time, log_prob, log_probs), mask=copied)


@triton.jit
def _clear_unused_beams(NEW_TOKENS, NEW_LOG_PROBS, first, alive, place, width, eos, BEAMS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Fill the beams from `alive` on with EOS."""
    for beam in range(BEAMS):
        empty = place < tl.where(alive <= beam, width, 0)
        row_place = (first + beam) * width + place
        tl.store(NEW_TOKENS + row_place, tl.zeros_like(place).to(tl.int64) + eos, mask=empty)
        tl.store(NEW_LOG_PROBS + row_place, tl.zeros_like(place).to(tl.float32), mask=empty)


@triton.jit
def _merge_finished(  # type: ignore[no-untyped-def]
    TOKENS, LOG_PROBS, DONE_TOKENS, DONE_LOG_PROBS, NEW_DONE_SCORES, NEW_DONE_TOKENS, NEW_DONE_LOG_PROBS,
    entry, entry_score, entry_beam, entry_token, entry_log_prob, first, place, time, width, BEAMS: tl.constexpr,
):  # fmt: skip
    """Keep the best of the finished hypotheses and those that end now, and return the lowest score kept."""
    inside = place < width
    higher = entry_score[None, :] > entry_score[:, None]
    earlier_equal = (entry_score[None, :] == entry_score[:, None]) & (entry[None, :] < entry[:, None])
    rank = tl.sum((higher | earlier_equal).to(tl.int32), 1)
    score = float("-inf")
    for beam in range(BEAMS):
        is_ranked = rank == beam
        source, origin = tl.sum(tl.where(is_ranked, entry, 0), 0), tl.sum(tl.where(is_ranked, entry_beam, 0), 0)
        ended_now = source >= BEAMS
        done, continued = (first + tl.minimum(source, BEAMS - 1)) * width + place, (first + origin) * width + place
        tokens = tl.where(
            ended_now,
            tl.load(TOKENS + continued, mask=inside, other=0),
            tl.load(DONE_TOKENS + done, mask=inside, other=0),
        )
        log_probs = tl.where(
            ended_now,
            tl.load(LOG_PROBS + continued, mask=inside, other=0.0),
            tl.load(DONE_LOG_PROBS + done, mask=inside, other=0.0),
        )
        now = ended_now & (place == time)
        tokens = tl.where(now, tl.sum(tl.where(is_ranked, entry_token, 0), 0), tokens)
        log_probs = tl.where(now, tl.sum(tl.where(is_ranked, entry_log_prob, 0.0), 0), log_probs)
        row_place = (first + beam) * width + place
        tl.store(NEW_DONE_TOKENS + row_place, tokens, mask=inside)
        tl.store(NEW_DONE_LOG_PROBS + row_place, log_probs, mask=inside)
        score = tl.max(tl.where(is_ranked, entry_score, float("-inf")), 0)
        tl.store(NEW_DONE_SCORES + first + beam, score)
    return score


@triton.jit(do_not_specialize=["time", "width", "eos"])
def continue_beams(  # type: ignore[no-untyped-def]
    TOP_LOG_PROBS, TOP_TOKENS, END, LIMITS, SCORES, TOKENS, LOG_PROBS, DONE_SCORES, DONE_TOKENS, DONE_LOG_PROBS,
    NEW_SCORES, NEW_TOKENS, NEW_LOG_PROBS, NEW_DONE_SCORES, NEW_DONE_TOKENS, NEW_DONE_LOG_PROBS, FINISHED, LAST, ORIGIN,
    time, width, eos, norm,
    BEAMS: tl.constexpr, COUNT: tl.constexpr, CANDIDATES: tl.constexpr, ALL: tl.constexpr, ENTRIES: tl.constexpr,
    WIDTH: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Continue the beams of a sentence with their best tokens, and collect the hypotheses that end."""
    first = tl.program_id(0) * BEAMS
    number, entry, place = tl.arange(0, ALL), tl.arange(0, ENTRIES), tl.arange(0, WIDTH)
    wait_for_previous_kernel(PDL)
    allow_next_kernel(PDL)
    at_limit = tl.load(LIMITS + tl.program_id(0)) <= time + 1
    log_prob, token, total = _continuations(
        TOP_LOG_PROBS, TOP_TOKENS, END, SCORES, number, first, at_limit, eos, BEAMS, COUNT
    )
    # Entries are the finished hypotheses, then the best continuations, best first.
    entry_score = tl.load(DONE_SCORES + first + entry, mask=entry < BEAMS, other=float("-inf"))
    full = tl.max(tl.where(entry == BEAMS - 1, entry_score, float("-inf")), 0) > float("-inf")
    entry_beam, entry_token = tl.zeros((ENTRIES,), tl.int32), tl.zeros((ENTRIES,), tl.int64)
    entry_log_prob = tl.zeros((ENTRIES,), tl.float32)
    # The new beams; at the length limit there are none, and their scores stay -inf.
    new_score = tl.full((ENTRIES,), float("-inf"), tl.float32)
    last, origin = tl.zeros((ENTRIES,), tl.int64) + eos, first + entry
    alive = tl.full((), 0, tl.int32)
    for candidate in range(CANDIDATES):
        score, beam, best_token, best_log_prob, total = _pop_best(total, token, log_prob, number, COUNT)
        is_entry, ends = entry == BEAMS + candidate, best_token == eos
        counts = is_entry & (entry < 2 * BEAMS) & ends & (full == 0)  # an end outside the first K does not count
        entry_score = tl.where(counts, score / norm, entry_score)
        entry_beam, entry_token = tl.where(is_entry, beam, entry_beam), tl.where(is_entry, best_token, entry_token)
        entry_log_prob = tl.where(is_entry, best_log_prob, entry_log_prob)
        is_alive = (ends == 0) & (alive < BEAMS)
        _extend_beam(
            TOKENS, LOG_PROBS, NEW_TOKENS, NEW_LOG_PROBS, first + beam, first + alive, best_token, best_log_prob,
            is_alive, place, time, width,
        )  # fmt: skip
        is_new = (entry == alive) & is_alive
        new_score, last = tl.where(is_new, score, new_score), tl.where(is_new, best_token, last)
        origin = tl.where(is_new, first + beam, origin)
        alive += is_alive.to(tl.int32)
    _clear_unused_beams(NEW_TOKENS, NEW_LOG_PROBS, first, alive, place, width, eos, BEAMS)
    tl.store(NEW_SCORES + first + entry, new_score, mask=entry < BEAMS)
    tl.store(LAST + first + entry, last, mask=entry < BEAMS)
    tl.store(ORIGIN + first + entry, origin.to(tl.int64), mask=entry < BEAMS)
    worst = _merge_finished(
        TOKENS, LOG_PROBS, DONE_TOKENS, DONE_LOG_PROBS, NEW_DONE_SCORES, NEW_DONE_TOKENS, NEW_DONE_LOG_PROBS,
        entry, entry_score, entry_beam, entry_token, entry_log_prob, first, place, time, width, BEAMS,
    )  # fmt: skip
    tl.store(FINISHED + tl.program_id(0), ((worst > float("-inf")) | at_limit).to(tl.uint8))

"""A step of beam search in three launches instead of some forty: two for the rows, one for the sentences (Triton).

The host side is `engines/cuda/fused_search.py`.
"""

from __future__ import annotations

import triton
import triton.language as tl

from maskpredict.kernels.pdl import let_the_next_kernel_start, wait_for_the_kernel_before

MOST_BEAMS = 16
"""All continuations of a sentence are held at once: twice the square of this."""


@triton.jit(do_not_specialize=["vocabulary", "groups", "eos"])
def best_of_groups(  # type: ignore[no-untyped-def]
    LOGITS, HIGHEST, NORM, LOG_PROBS, TOKENS, END, stride, vocabulary, groups, eos,
    COUNT: tl.constexpr, GROUP: tl.constexpr, GROUPS: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    """The best COUNT tokens of a row, one after the other: each is in the group whose highest is the highest."""
    row = tl.program_id(0).to(tl.int64)
    group, place = tl.arange(0, GROUPS), tl.arange(0, GROUP)
    wait_for_the_kernel_before(AHEAD)
    let_the_next_kernel_start(AHEAD)
    highest = tl.load(HIGHEST + row * groups + group, mask=group < groups, other=float("-inf"))
    norm = tl.load(NORM + row)
    last_value = tl.full((GROUPS,), float("inf"), tl.float32)  # what was taken of each group so far
    last_token = tl.full((GROUPS,), -1, tl.int32)
    for number in range(COUNT):
        best_group = tl.argmax(highest, 0)
        own = group == best_group
        value, token = tl.min(tl.where(own, last_value, float("inf")), 0), tl.max(tl.where(own, last_token, -1), 0)
        tokens = best_group * GROUP + place
        x = tl.load(LOGITS + row * stride + tokens, mask=tokens < vocabulary, other=float("-inf")).to(tl.float32)
        x = tl.where((x < value) | ((x == value) & (tokens > token)), x, float("-inf"))
        best, chosen = tl.max(x, 0), best_group * GROUP + tl.argmax(x, 0)
        highest = tl.where(own, tl.max(tl.where(tokens == chosen, float("-inf"), x), 0), highest)
        last_value, last_token = tl.where(own, best, last_value), tl.where(own, chosen, last_token)
        tl.store(LOG_PROBS + row * COUNT + number, best - norm)
        tl.store(TOKENS + row * COUNT + number, tl.minimum(chosen, vocabulary - 1).to(tl.int64))
    tl.store(END + row, tl.load(LOGITS + row * stride + eos).to(tl.float32) - norm)


@triton.jit
def _continuations(  # type: ignore[no-untyped-def]
    TOP_LOG_PROBS, TOP_TOKENS, END, SCORES, number, first, at_limit, eos, BEAMS: tl.constexpr, COUNT: tl.constexpr,
):  # fmt: skip
    """Log-probability, token and score of every continuation of every beam; at its limit a sentence can only end."""
    row, which, there = first + number // COUNT, number % COUNT, number < BEAMS * COUNT
    log_prob = tl.load(TOP_LOG_PROBS + first * COUNT + number, mask=there, other=float("-inf"))
    token = tl.load(TOP_TOKENS + first * COUNT + number, mask=there, other=0)
    only_end = tl.where(which == 0, tl.load(END + row, mask=there, other=float("-inf")), float("-inf"))
    log_prob, token = tl.where(at_limit, only_end, log_prob), tl.where(at_limit, eos, token)
    return log_prob, token, tl.load(SCORES + row, mask=there, other=float("-inf")) + log_prob


@triton.jit
def _empty_the_rest(NEW_TOKENS, NEW_LOG_PROBS, first, alive, place, width, eos, BEAMS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Nothing goes on in the beams from `alive` on."""
    for beam in range(BEAMS):
        empty = place < tl.where(alive <= beam, width, 0)
        row_place = (first + beam) * width + place
        tl.store(NEW_TOKENS + row_place, tl.zeros_like(place).to(tl.int64) + eos, mask=empty)
        tl.store(NEW_LOG_PROBS + row_place, tl.zeros_like(place).to(tl.float32), mask=empty)


@triton.jit
def _keep_the_best(  # type: ignore[no-untyped-def]
    TOKENS, LOG_PROBS, DONE_TOKENS, DONE_LOG_PROBS, NEW_DONE_SCORES, NEW_DONE_TOKENS, NEW_DONE_LOG_PROBS,
    entry, entry_score, entry_beam, entry_token, entry_log_prob, first, place, time, width, BEAMS: tl.constexpr,
):  # fmt: skip
    """Of what was done before and what ends now, the best are done; the score of the last of them."""
    inside = place < width
    higher = entry_score[None, :] > entry_score[:, None]
    earlier_equal = (entry_score[None, :] == entry_score[:, None]) & (entry[None, :] < entry[:, None])
    rank = tl.sum((higher | earlier_equal).to(tl.int32), 1)
    score = float("-inf")
    for beam in range(BEAMS):
        own = rank == beam
        source, own_beam = tl.sum(tl.where(own, entry, 0), 0), tl.sum(tl.where(own, entry_beam, 0), 0)
        ended_now = source >= BEAMS
        done, continued = (first + tl.minimum(source, BEAMS - 1)) * width + place, (first + own_beam) * width + place
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
        tokens = tl.where(now, tl.sum(tl.where(own, entry_token, 0), 0), tokens)
        log_probs = tl.where(now, tl.sum(tl.where(own, entry_log_prob, 0.0), 0), log_probs)
        row_place = (first + beam) * width + place
        tl.store(NEW_DONE_TOKENS + row_place, tokens, mask=inside)
        tl.store(NEW_DONE_LOG_PROBS + row_place, log_probs, mask=inside)
        score = tl.max(tl.where(own, entry_score, float("-inf")), 0)
        tl.store(NEW_DONE_SCORES + first + beam, score)
    return score


@triton.jit(do_not_specialize=["time", "width", "eos"])
def continue_beams(  # type: ignore[no-untyped-def]
    TOP_LOG_PROBS, TOP_TOKENS, END, LIMITS, SCORES, TOKENS, LOG_PROBS, DONE_SCORES, DONE_TOKENS, DONE_LOG_PROBS,
    NEW_SCORES, NEW_TOKENS, NEW_LOG_PROBS, NEW_DONE_SCORES, NEW_DONE_TOKENS, NEW_DONE_LOG_PROBS, FINISHED, LAST, ORIGIN,
    time, width, eos, norm,
    BEAMS: tl.constexpr, COUNT: tl.constexpr, CANDIDATES: tl.constexpr, ALL: tl.constexpr, ENTRIES: tl.constexpr,
    WIDTH: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    """What becomes of the hypotheses of a sentence: the best continuations go on, and those that end are done."""
    first = tl.program_id(0) * BEAMS
    number, entry, place = tl.arange(0, ALL), tl.arange(0, ENTRIES), tl.arange(0, WIDTH)
    wait_for_the_kernel_before(AHEAD)
    let_the_next_kernel_start(AHEAD)
    at_limit = tl.load(LIMITS + tl.program_id(0)) <= time + 1
    log_prob, token, total = _continuations(
        TOP_LOG_PROBS, TOP_TOKENS, END, SCORES, number, first, at_limit, eos, BEAMS, COUNT
    )
    # Entries are what is done already, and after it the best continuations, best first.
    entry_score = tl.load(DONE_SCORES + first + entry, mask=entry < BEAMS, other=float("-inf"))
    full = tl.max(tl.where(entry == BEAMS - 1, entry_score, float("-inf")), 0) > float("-inf")
    entry_beam = tl.zeros((ENTRIES,), tl.int32)
    entry_token = tl.zeros((ENTRIES,), tl.int64)
    entry_log_prob = tl.zeros((ENTRIES,), tl.float32)
    # What goes on; at its limit a sentence has no continuation, and the places stay empty.
    new_score = tl.full((ENTRIES,), float("-inf"), tl.float32)
    last = tl.zeros((ENTRIES,), tl.int64) + eos
    origin = first + entry
    alive = tl.full((), 0, tl.int32)
    for candidate in range(CANDIDATES):
        score, best = tl.max(total, 0), tl.argmax(total, 0)
        own, here = number == best, entry == BEAMS + candidate
        own_beam, own_token = best // COUNT, tl.sum(tl.where(own, token, 0), 0)
        own_log_prob = tl.sum(tl.where(own, log_prob, 0.0), 0)
        total = tl.where(own, float("-inf"), total)
        ends = own_token == eos
        counts = here & (entry < 2 * BEAMS) & ends & (full == 0)  # an end outside the first K does not
        entry_score = tl.where(counts, score / norm, entry_score)
        entry_beam, entry_token = tl.where(here, own_beam, entry_beam), tl.where(here, own_token, entry_token)
        entry_log_prob = tl.where(here, own_log_prob, entry_log_prob)

        goes_on = (ends == 0) & (alive < BEAMS)
        old, new = (first + own_beam) * width + place, (first + alive) * width + place
        copied = place < tl.where(goes_on, width, 0)
        tokens = tl.load(TOKENS + old, mask=copied, other=0)
        log_probs = tl.load(LOG_PROBS + old, mask=copied, other=0.0)
        tl.store(NEW_TOKENS + new, tl.where(place == time, own_token, tokens), mask=copied)
        tl.store(NEW_LOG_PROBS + new, tl.where(place == time, own_log_prob, log_probs), mask=copied)
        taken = (entry == alive) & goes_on
        new_score, last = tl.where(taken, score, new_score), tl.where(taken, own_token, last)
        origin = tl.where(taken, first + own_beam, origin)
        alive += goes_on.to(tl.int32)
    _empty_the_rest(NEW_TOKENS, NEW_LOG_PROBS, first, alive, place, width, eos, BEAMS)
    tl.store(NEW_SCORES + first + entry, new_score, mask=entry < BEAMS)
    tl.store(LAST + first + entry, last, mask=entry < BEAMS)
    tl.store(ORIGIN + first + entry, origin.to(tl.int64), mask=entry < BEAMS)
    worst = _keep_the_best(
        TOKENS, LOG_PROBS, DONE_TOKENS, DONE_LOG_PROBS, NEW_DONE_SCORES, NEW_DONE_TOKENS, NEW_DONE_LOG_PROBS,
        entry, entry_score, entry_beam, entry_token, entry_log_prob, first, place, time, width, BEAMS,
    )  # fmt: skip
    tl.store(FINISHED + tl.program_id(0), ((worst > float("-inf")) | at_limit).to(tl.uint8))

"""Questions to the worker of an exported page, and its answers."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

from tests.conformance import Answer, Step


def ask(page: Page, *questions: tuple[str, dict[str, Any]]) -> list[Any]:
    """What the page's worker answers to questions, one after the other."""
    script = """async (questions) => {
        const { createEngine } = await import(new URL("page/engine.js", document.baseURI));
        const quiet = { onLoading() {}, onReady() {}, onFailed(sentence) { throw new Error(sentence); } };
        const engine = createEngine(quiet);
        const answers = [];
        for (const [verb, given] of questions) {
            answers.push(await new Promise((onAnswer, refuse) => {
                engine.ask(verb, given, { onAnswer, onTrouble: (sentence) => refuse(new Error(sentence)) });
            }));
        }
        return answers;
    }"""
    answers: list[Any] = page.evaluate(script, questions)
    return answers


def text_of(sentences: list[str]) -> str:
    """Sentences as a text that is split into the same ones."""
    return "\n".join(sentences)


def answer_of(found: dict[str, Any]) -> Answer:
    """A sentence of the page's answer."""
    candidates = [
        [Step(step["masked"], step["tokens"]) for step in one["passes"]] for one in found["trace"]["candidates"]
    ]
    chosen = found["trace"]["chosen"]
    tokens = candidates[chosen][-1].tokens
    return Answer(tokens, found["score"], found["passes"], found["lengths"], chosen, candidates)

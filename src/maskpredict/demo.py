"""Demonstration of the shipped models: German and English translations, played pass by pass in the terminal.

    demo()

It takes seconds on a CPU. `toy_demo.py` is the demonstration of the toy language.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from maskpredict.errors import UserError
from maskpredict.player import play
from maskpredict.runtime.find_model import default_models
from maskpredict.runtime.translator import Translator

ITERATIONS = 4
LENGTH_CANDIDATES = 3
SECONDS_A_PASS = 0.1
"""Pause between passes in a terminal; elsewhere there is none."""
LEGEND = "Each line is the translation after a pass; the next pass predicts the words in [brackets] again."
NEXT = (
    "Next: maskpredict translate -m de-en-shallow for your own sentences, maskpredict serve for the same on a web page."
)


@dataclass(frozen=True)
class Scene:
    """Sentences for one model to translate."""

    title: str
    model: str | Path
    """Name of a default model, or the folder of any."""
    sentences: tuple[str, ...]


SCENES = (
    Scene(
        "German to English",
        "de-en-shallow",
        (
            "Die Kinder haben den ganzen Nachmittag am Fluss gespielt und sind jetzt müde.",
            "Herr Präsident, wir sollten über diesen Vorschlag erst nach der Aussprache abstimmen.",
            "Ein Mann mit einem gelben Regenschirm wartet neben einem Fahrrad auf den Bus.",
            "Ich wollte dich gestern anrufen, aber ich habe deine neue Nummer nicht gefunden.",
            "Die Kommission muss endlich erklären, warum die Mittel noch nicht ausgezahlt worden sind.",
        ),
    ),
    Scene(
        "English to German",
        "en-de",
        (
            "My sister moved to the coast because she wanted to live by the sea.",
            "We welcome this agreement, but it does not go far enough to protect small farmers.",
            "Two girls in red jackets are building a snowman in front of a house.",
            "If the train is late again, we will have to take a taxi home.",
            "The report that the committee adopted last week contains several important changes.",
        ),
    ),
)


def demo(scenes: Sequence[Scene] = SCENES, *, console: Console | None = None) -> None:
    """Play the translation of every sentence and suggest what to try next."""
    console = console or Console()
    _check_models(scenes)  # before anything is played
    console.print(Text(LEGEND), end="\n\n", soft_wrap=True)
    for scene in scenes:
        console.print(Text(f"{scene.title}, model {Path(scene.model).name}", "bold"), end="\n\n", soft_wrap=True)
        _play_scene(scene, console)
    console.print(Text(NEXT), soft_wrap=True)


def _check_models(scenes: Sequence[Scene]) -> None:
    for model in (scene.model for scene in scenes):
        if str(model) not in default_models() and not Path(model).exists():
            raise UserError(
                f"the model {model} did not come with this copy of maskpredict; get a whole one, "
                "or watch a model that is trained here: maskpredict demo --toy."
            )


def _play_scene(scene: Scene, console: Console) -> None:
    translator = Translator(scene.model, device="cpu")
    for source in scene.sentences:
        (translation,) = translator.translate(
            [source], iterations=ITERATIONS, length_candidates=LENGTH_CANDIDATES, trace=True
        )
        if translation.trace is not None:
            play(translation.trace, source, console, SECONDS_A_PASS)

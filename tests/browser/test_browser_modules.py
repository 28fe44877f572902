"""The modules of an exported page that need no model, run where they will run: in the browser."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from playwright.sync_api import BrowserContext, Page

from maskpredict.export import browser_folder
from maskpredict.export.browser_vocabulary import vocabulary
from maskpredict.runtime.lines import clean
from maskpredict.tokenizer import SentencePieceTokenizer

# Of our own writing, in many scripts.
TEXTS = [
    'The quick kettle whistles; nobody gets up, "not yet", they say.',
    "Für 3,50 € gab’s früher zwei Brötchen – heute (2024) nur noch eins!",
    "Ein Fluß, drei Straßen, 17 Äpfel und ½ Pfund Käse.",
    "Œuvre à l’été : où va-t-on, cœur naïf ?",
    "¿Mañana? ¡Sí, señor! El niño comió piñones.",
    "Zażółć gęślą jaźń; příliš žluťoučký kůň; İstanbul’da ılık çay.",
    "Старый чайник свистит, а ёжик спит под ёлкой.",
    "Ο γάτος κοιμάται στον κήπο, γιατί βρέχει.",
    "חתול קטן ישן בגינה כי יורד גשם.",
    "القطة الصغيرة تنام في الحديقة لأن المطر ينزل.",
    "बिल्ली बगीचे में सोती है क्योंकि बारिश हो रही है।",
    "แมวตัวเล็กนอนในสวนเพราะฝนตก",
    "小猫今天在花园里睡觉，因为下雨了。",
    "小さな猫が今日は庭で寝ています。ｶﾀｶﾅ と カタカナ。",
    "작은 고양이가 오늘 정원에서 자요.",
    "Ｆｕｌｌ\u3000ｗｉｄｔｈ, ﬁgure ①②③, x² + y₁ ≠ ㎏, №5, ℃, …",
    "🐈\u200d⬛ schläft 😴😴 im 🏡, 👩🏽\u200d🚀🇩🇪 1️⃣!",
    "<mask> </s> <unk> <s> <pad> <0x41> ▁ @@",
]
ODD_SPACES = ["", "   ", "\t", "\u00a0", "\u3000", "\u2009", "\u200b", "\ufeff", "\u00ad", "\r\n", "\u2028", "\x00"]


@pytest.fixture(scope="module")
def url(host: Callable[[Path], str]) -> str:
    return host(Path(browser_folder.__file__).parent / "browser_page")


@pytest.fixture
def page(url: str, new_context: Callable[..., BrowserContext]) -> Page:
    """A page that may import the modules."""
    page = new_context().new_page()
    page.goto(f"{url}sentencepiece.js")
    return page


def learned(**options: Any) -> bytes:
    """A SentencePiece file with subwords of the texts."""
    content = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 3),
        model_writer=content,
        model_type="bpe",
        vocab_size=700,
        pad_id=0,
        bos_id=1,
        eos_id=2,
        unk_id=3,
        pad_piece="<pad>",
        control_symbols=["<mask>"],
        minloglevel=2,
        **options,
    )
    return content.getvalue()


def mixtures(count: int) -> list[str]:
    """The texts, words of them in any order with odd spaces between, and characters from everywhere."""
    chance = random.Random(1)
    words = [word for text in TEXTS for word in text.split()]
    anything = [chr(code) for code in range(0x20, 0x30000) if not 0xD800 <= code < 0xE000]
    made = list(TEXTS)
    while len(made) < count:
        parts = chance.choices(words, k=chance.randint(0, 9)) + chance.choices(anything, k=chance.randint(0, 4))
        chance.shuffle(parts)
        made.append("".join(part + chance.choice([" ", " ", *ODD_SPACES]) for part in parts))
    return made


@pytest.mark.parametrize(
    "options",
    [{}, {"byte_fallback": True}, {"normalization_rule_name": "identity"}],
    ids=["nmt_nfkc", "bytes", "identity"],
)
def test_text_is_cut_into_the_same_subwords_as_in_python(page: Page, tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(learned(**options))
    tokenizer, texts, chance = SentencePieceTokenizer.load(path), mixtures(600), random.Random(2)
    rows = [chance.choices(range(tokenizer.vocab_size), k=chance.randint(0, 9)) for _ in range(300)]
    script = """async ([vocabulary, texts, rows]) => {
        const { createTokenizer } = await import("/sentencepiece.js");
        const tokenizer = createTokenizer(vocabulary);
        return [texts.map(tokenizer.encode), rows.map(tokenizer.decode)];
    }"""
    encoded, decoded = page.evaluate(script, [vocabulary(path), texts, rows])
    assert encoded == [tokenizer.encode(clean(text)) for text in texts]
    assert decoded == [clean(tokenizer.decode(row)) for row in rows]


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        (
            "de",
            "Es regnet. Wir bleiben, z. B. hier! Am 3. Mai",
            ["Es regnet.", "Wir bleiben, z. B. hier!", "Am 3. Mai"],
        ),
        ("de", "Dr. Huber kam um 8.\nEr ging.", ["Dr. Huber kam um 8.", "Er ging."]),
        ("en", "It was 1999. Mr. Hill left. I did, too.", ["It was 1999.", "Mr. Hill left.", "I did, too."]),
        ("en", "  One?\n\n --- 12 ---\r\nTwo! ", ["One?", "Two!"]),
        ("zh", "小猫睡了。下雨了！", ["小猫睡了。", "下雨了！"]),
        ("my_own", "Ene. Mene.", ["Ene.", "Mene."]),
        ("en", "", []),
    ],
)
def test_running_text_becomes_sentences_and_nothing_is_lost(
    page: Page, language: str, text: str, sentences: list[str]
) -> None:
    script = 'async (given) => (await import("/splitting.js")).segments(...given)'
    parts = page.evaluate(script, [text, language])
    assert "".join(part["text"] for part in parts) == text
    assert [part["text"] for part in parts if part["isSentence"]] == sentences

"""Languages are recognised from a few words."""

from __future__ import annotations

import pytest

from maskpredict.serve.queue.detection import LanguageDetector

GERMAN = """
Wo ist hier der Bahnhof?
Der Zug kommt heute zehn Minuten später.
Ich hätte gern zwei Brötchen und einen Kaffee.
Gestern hat es den ganzen Tag geregnet.
Kannst du mir bitte das Salz geben?
Unsere Nachbarn sind letzte Woche umgezogen.
Das Fenster lässt sich nicht öffnen.
Wie lange dauert die Fahrt nach Leipzig?
Meine Schwester lernt seit einem Jahr Geige.
Bitte schließen Sie die Tür leise.
Auf dem Tisch liegt ein altes Buch.
Die Kinder spielen im Garten hinter dem Haus.
Er wollte eigentlich schon längst zu Hause sein.
Morgen fahren wir ans Meer.
Niemand wusste, wer den Brief geschrieben hatte.
Die Vorlesung fällt am Donnerstag aus.
Mein Fahrrad hat einen Platten.
Im Winter wird es früh dunkel.
Sie arbeitet als Ärztin in einer kleinen Klinik.
Der Rat stimmt morgen über den Haushalt ab.
Das Konzert beginnt um acht Uhr abends.
Hast du den Schlüssel gefunden?
Wir brauchen dringend neue Stühle.
Der Fluss trat nach dem Gewitter über die Ufer.
Die Preise sind schon wieder gestiegen.
Kein Mensch glaubt diese Geschichte.
Ein Hund schläft vor dem Ofen.
Zum Frühstück gibt es Müsli mit Äpfeln.
Welche Farbe hat dein neues Auto?
Das Museum bleibt montags geschlossen.
Ohne Brille kann ich nichts lesen.
Vielleicht komme ich später noch vorbei.
Die Sitzung wurde auf Freitag verschoben.
Sein Großvater war Schuster.
Im Wald riecht es nach Pilzen.
Es lohnt sich, früh aufzustehen.
Die Suppe ist noch zu heiß.
Guten Morgen!
Danke schön.
Wie geht es dir?
Regenschirm
"""
ENGLISH = """
Where is the nearest station?
The train will be ten minutes late today.
I would like two rolls and a cup of coffee.
Yesterday it rained all day long.
Could you pass me the salt, please?
Our neighbours moved away last week.
This window cannot be opened.
How long does it take to get to Leeds?
My sister has been learning the violin for a year.
Please close the door quietly.
There is an old book on the table.
The children are playing in the garden behind the house.
He should have been home long ago.
Tomorrow we are driving to the sea.
Nobody knew who had written the letter.
The lecture on Thursday has been cancelled.
My bicycle has a flat tyre.
It gets dark early in winter.
She works as a doctor in a small hospital.
The council votes on the budget tomorrow.
The concert starts at eight in the evening.
Have you found the key?
We urgently need new chairs.
After the storm the river broke its banks.
Prices have gone up once again.
No one believes that story.
A dog is sleeping in front of the stove.
There is porridge with apples for breakfast.
What colour is your new car?
The museum is closed on Mondays.
I can't read anything without my glasses.
Perhaps I will drop by later.
The meeting was put off until Friday.
His grandfather was a shoemaker.
The forest smells of mushrooms.
It pays to get up early.
The soup is still too hot.
Good morning!
Thank you.
How are you?
Raincoat
"""


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


@pytest.fixture(scope="module")
def detector() -> LanguageDetector:
    return LanguageDetector(["de", "en"])


@pytest.mark.parametrize(("code", "text"), [("de", GERMAN), ("en", ENGLISH)])
def test_sentences_are_recognised(detector: LanguageDetector, code: str, text: str) -> None:
    found = {line: detector.detect(line)[0].language for line in lines(text)}
    assert len(found) > 40
    assert [line for line, language in found.items() if language != code] == []


@pytest.mark.parametrize(("code", "text"), [("de", GERMAN), ("en", ENGLISH)])
def test_most_sentences_are_recognised_surely(detector: LanguageDetector, code: str, text: str) -> None:
    sure = [line for line in lines(text) if detector.detect(line)[0].confidence >= 90]
    assert len(sure) >= 0.8 * len(lines(text))


def test_every_language_gets_a_whole_number_and_the_likeliest_comes_first(detector: LanguageDetector) -> None:
    found = detector.detect("Das Wetter wird am Wochenende besser.")
    assert [one.language for one in found] == ["de", "en"]
    assert found[0].confidence > 95
    assert all(isinstance(one.confidence, int) and 0 <= one.confidence <= 100 for one in found)


def test_capitals_and_curly_apostrophes_do_not_matter(detector: LanguageDetector) -> None:
    assert detector.detect("WE DON’T KNOW")[0] == detector.detect("we don't know")[0]


@pytest.mark.parametrize("text", ["", "   ", "1234 + 5", "!?", "\n"])
def test_nothing_is_known_of_a_text_without_words(detector: LanguageDetector, text: str) -> None:
    assert {one.confidence for one in detector.detect(text)} == {0}


@pytest.mark.parametrize("text", ["今天下雨，我们在家。", "Сегодня идёт дождь", "xqz vrtk plmw"])
def test_a_text_in_neither_language_is_not_claimed(detector: LanguageDetector, text: str) -> None:
    assert max(one.confidence for one in detector.detect(text)) < 30


def test_a_huge_text_takes_no_longer_than_its_beginning(detector: LanguageDetector) -> None:
    assert detector.detect("der Hund " * 200_000)[0].language == "de"


def test_a_language_that_the_library_does_not_know_is_never_found() -> None:
    detector = LanguageDetector(["xx", "de"])
    assert [one.language for one in detector.detect("Der Hund schläft.")] == ["de", "xx"]


def test_a_region_does_not_matter() -> None:
    assert LanguageDetector(["pt-BR", "en"]).detect("O cachorro dorme no jardim.")[0].language == "pt-BR"

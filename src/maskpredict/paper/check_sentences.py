"""Sentences of the check-list, written for this package, and what their translations must keep.

What must be kept is a regular expression each. It allows for the ways in which a careful translator might write it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CheckSentence:
    """A sentence, and what its translation must keep."""

    kind: str
    """Numbers, dates, ...; a row of the check-list."""
    source: str
    kept: tuple[str, ...]
    """Regular expressions, each of which must match somewhere in the translation."""


def _of(kind: str, *sentences: tuple[str, ...]) -> tuple[CheckSentence, ...]:
    return tuple(CheckSentence(kind, source, tuple(kept)) for source, *kept in sentences)


_NOT_EN = r"(?i)\b(?:not|no|never|nobody|nothing|none|neither|without|cannot)\b|n['’]t\b"
_NOT_DE = r"(?i)\b(?:nicht|kein\w*|nie|niemals|niemand\w*|nichts|weder|ohne)\b"

GERMAN_TO_ENGLISH = (
    *_of(
        "numbers",
        ("Die Firma verkaufte im letzten Jahr 3.917 Fahrräder.", r"3[.,]?917"),
        ("Der Tank fasst 48,5 Liter.", r"48[.,]5"),
        ("Rufen Sie uns unter 0721 448290 an.", "0721", "448290"),
        ("Von 1.250.000 Stimmen waren 12,7 Prozent ungültig.", r"1[.,]?250[.,]?000|1\.25 million", r"12[.,]7"),
        ("Das Zimmer 4076 liegt im 19. Stock.", "4076", "19|nineteenth"),
        ("Der Kurs fiel von 86 auf 73 Punkte.", "86", "73"),
    ),
    *_of(
        "dates and times",
        ("Der Vertrag wurde am 14. März 1997 unterschrieben.", "14", "March", "1997"),
        ("Die Frist endet am 30.06.2031.", "30", r"\b0?6\b|June", "2031"),
        ("Wir treffen uns am Donnerstag um 17:45 Uhr.", "Thursday", r"17[:.]45|5[:.]45"),
        ("Zwischen Oktober 1872 und Mai 1874 wurde die Brücke gebaut.", "October", "1872", "May", "1874"),
    ),
    *_of(
        "names",
        ("Frau Brandstetter wohnt in Oberammergau.", "Brandstetter", "Oberammergau"),
        ("Gestern traf Jonas Wiechert seine Kollegin Aylin Özdemir.", "Jonas Wiechert", "Aylin", "[ÖO]zdemir"),
        ("Die Reederei Kallmorgen hat ihren Sitz in Cuxhaven.", "Kallmorgen", "Cuxhaven"),
        ("Doktor Nguyen Thi Lan arbeitet am Klinikum in Pforzheim.", "Nguyen", "Pforzheim"),
        ("Der Roman handelt von Severin und Hedwig Talbach.", "Severin", "Hedwig", "Talbach"),
    ),
    *_of(
        "negation",
        ("Ich habe den Schlüssel nicht gefunden.", _NOT_EN),
        ("Niemand wollte die Rechnung bezahlen.", _NOT_EN),
        ("Wir haben keine Milch mehr.", r"(?i)\b(?:no|not|out of)\b|n['’]t\b"),
        ("Er ist noch nie mit dem Zug gefahren.", _NOT_EN),
        ("Das Gesetz gilt nicht für Landwirte.", _NOT_EN),
        ("Weder der Wirt noch der Koch war da.", _NOT_EN),
    ),
    *_of(
        "capitals",
        ("ACHTUNG: DIE TÜR BLEIBT GESCHLOSSEN!", "(?i)door", "(?i)clos|shut"),
        ("BITTE NICHT RAUCHEN.", "(?i)smok", _NOT_EN),
        ("ALLE ZÜGE NACH BERLIN FALLEN HEUTE AUS.", "(?i)train", "(?i)berlin", "(?i)today"),
        ("WICHTIGE MITTEILUNG AN ALLE GÄSTE", "(?i)important", "(?i)guest|visitor"),
    ),
    *_of(
        "very short",
        ("Ja.", r"(?i)^\W*yes\W*$"),
        ("Nein.", r"(?i)^\W*no\W*$"),
        ("Danke!", r"(?i)^\W*(?:thank you|thanks)\W*$"),
        ("Warum?", r"(?i)^\W*why\W*$"),
        ("Hunde", r"(?i)^\W*(?:the )?dogs\W*$"),
        ("Guten Morgen", r"(?i)^\W*good morning\W*$"),
    ),
    *_of(
        "very long",
        (
            "Auf ihrer Reise, die im Frühjahr in Lissabon begann, kam die kleine Gruppe zuerst nach Madrid, wo "
            "sie drei Tage blieb, dann über Lyon, dessen Märkte ihr besonders gut gefielen, nach Mailand und "
            "Wien, von dort mit dem Schiff nach Budapest, und nachdem sie in Warschau neue Schuhe gekauft und in "
            "Riga einen alten Freund besucht hatte, fuhr sie mit der Fähre nach Stockholm, aß in Kopenhagen Fisch "
            "und kehrte schließlich, müde, aber zufrieden, über Hamburg nach Brüssel zurück, wo im Herbst die "
            "Arbeit auf sie wartete.",
            *("Lisbon", "Madrid", "Lyon", "Milan", "Vienna", "Budapest", "Warsaw", "Riga", "Stockholm", "Copenhagen"),
            *("Hamburg", "Brussels", "(?i)autumn|fall"),
        ),
        (
            "Erstens brauchen die Dörfer am Fluss bessere Straßen, damit die Kinder sicher zur Schule kommen, "
            "zweitens fehlt es den Krankenhäusern an Ärzten, obwohl seit Jahren davon geredet wird, drittens "
            "müssen die Bauern ihr Wasser zu gerechten Preisen erhalten, viertens soll die alte Brücke endlich "
            "repariert werden, bevor der nächste Winter kommt, und fünftens wünschen sich alle, die hier leben, "
            "dass jemand ihre Briefe liest.",
            *("(?i)first", "(?i)second", "(?i)third", "(?i)fourth", "(?i)fifth", "(?i)bridge", "(?i)letters"),
        ),
    ),
    *_of(
        "placeholders and addresses",
        ("Hallo {name}, Ihre Bestellung ist unterwegs.", r"\{name\}"),
        ("Die Datei %s wurde gelöscht.", "%s"),
        ("Klicken Sie auf <b>Weiter</b>.", "<b>", "</b>"),
        ("Schreiben Sie an hilfe@beispiel.org.", r"hilfe@beispiel\.org"),
        ("Mehr dazu steht auf https://www.beispiel.org/hilfe.", r"https://www\.beispiel\.org/hilfe"),
        ("Setzen Sie $HOME auf /usr/local/share.", r"\$HOME", "/usr/local/share"),
    ),
)

ENGLISH_TO_GERMAN = (
    *_of(
        "numbers",
        ("The company sold 3,917 bicycles last year.", r"3[.,]?917"),
        ("The tank holds 48.5 litres.", r"48[.,]5"),
        ("Call us on 0721 448290.", "0721", "448290"),
        ("Of 1,250,000 votes, 12.7 percent were invalid.", r"1[.,]?250[.,]?000|1,25 Million", r"12[.,]7"),
        ("Room 4076 is on floor 19.", "4076", "19"),
        ("The price fell from 86 to 73 points.", "86", "73"),
    ),
    *_of(
        "dates and times",
        ("The contract was signed on 14 March 1997.", "14", "März", "1997"),
        ("The deadline is 30 June 2031.", "30", "Juni", "2031"),
        ("We meet on Thursday at 17:45.", "Donnerstag", r"17[:.]45"),
        ("The bridge was built between October 1872 and May 1874.", "Oktober", "1872", "Mai", "1874"),
    ),
    *_of(
        "names",
        ("Mrs Brandstetter lives in Oberammergau.", "Brandstetter", "Oberammergau"),
        ("Yesterday Jonas Wiechert met his colleague Aylin Özdemir.", "Jonas Wiechert", "Aylin", "[ÖO]zdemir"),
        ("The shipping company Kallmorgen has its seat in Cuxhaven.", "Kallmorgen", "Cuxhaven"),
        ("Doctor Nguyen Thi Lan works at the hospital in Pforzheim.", "Nguyen", "Pforzheim"),
        ("The novel is about Severin and Hedwig Talbach.", "Severin", "Hedwig", "Talbach"),
    ),
    *_of(
        "negation",
        ("I have not found the key.", _NOT_DE),
        ("Nobody wanted to pay the bill.", _NOT_DE),
        ("We have no milk left.", _NOT_DE),
        ("He has never travelled by train.", _NOT_DE),
        ("The law does not apply to farmers.", _NOT_DE),
        ("Neither the host nor the cook was there.", _NOT_DE),
    ),
    *_of(
        "capitals",
        ("ATTENTION: THE DOOR REMAINS CLOSED!", "(?i)tür", "(?i)geschlossen|zu"),
        ("PLEASE DO NOT SMOKE.", "(?i)rauch", _NOT_DE),
        ("ALL TRAINS TO BERLIN ARE CANCELLED TODAY.", "(?i)z[üu]g", "(?i)berlin", "(?i)heute"),
        ("IMPORTANT NOTICE TO ALL GUESTS", "(?i)wichtig", "(?i)gäste|besucher"),
    ),
    *_of(
        "very short",
        ("Yes.", r"(?i)^\W*ja\W*$"),
        ("No.", r"(?i)^\W*nein\W*$"),
        ("Thanks!", r"(?i)^\W*(?:danke|vielen dank)\W*$"),
        ("Why?", r"(?i)^\W*(?:warum|weshalb|wieso)\W*$"),
        ("Dogs", r"(?i)^\W*(?:die )?hunde\W*$"),
        ("Good morning", r"(?i)^\W*guten morgen\W*$"),
    ),
    *_of(
        "very long",
        (
            "On its journey, which began in Lisbon in spring, the little group first came to Madrid, stayed for "
            "three days, then by way of Lyon, whose markets it liked best of all, to Milan and Vienna, from there "
            "by boat to Budapest, and after it had bought new shoes in Warsaw and visited an old friend in Riga, "
            "it took the ferry to Stockholm, ate fish in Copenhagen and finally returned, tired but content, by "
            "way of Hamburg to Brussels, where its work was waiting in autumn.",
            *("Lissabon", "Madrid", "Lyon", "Mailand", "Wien", "Budapest", "Warschau", "Riga", "Stockholm"),
            *("Kopenhagen", "Hamburg", "Brüssel", "Herbst"),
        ),
        (
            "First, the villages by the river need better roads so that the children get to school safely, "
            "second, the hospitals lack doctors, although this has been talked about for years, third, the "
            "farmers must get their water at fair prices, fourth, the old bridge should at last be repaired "
            "before the next winter comes, and fifth, all who live here wish that somebody would read their "
            "letters.",
            *("(?i)erst", "(?i)zweit", "(?i)dritt", "(?i)viert", "(?i)fünft", "(?i)brücke", "(?i)briefe"),
        ),
    ),
    *_of(
        "placeholders and addresses",
        ("Hello {name}, your order is on its way.", r"\{name\}"),
        ("The file %s was deleted.", "%s"),
        ("Click on <b>Next</b>.", "<b>", "</b>"),
        ("Write to help@example.org.", r"help@example\.org"),
        ("More about this is at https://www.example.org/help.", r"https://www\.example\.org/help"),
        ("Set $HOME to /usr/local/share.", r"\$HOME", "/usr/local/share"),
    ),
)

CHECK_SENTENCES = {("de", "en"): GERMAN_TO_ENGLISH, ("en", "de"): ENGLISH_TO_GERMAN}
"""Sentences by source and target language."""

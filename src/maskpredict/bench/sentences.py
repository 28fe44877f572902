"""Forty German and English sentence pairs, written for this file, for races and demos without a test set.

They have 27 subwords on average with a vocabulary of 16,000, end mark included. Forty sentences are enough to see that
something is broken, but too few to compare good systems by BLEU.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SentencePair:
    """A sentence in German and English."""

    de: str
    en: str


_GERMAN_AND_ENGLISH = """\
Guten Morgen, haben Sie gut geschlafen?
Good morning, did you sleep well?
Der Zug nach Bremen hat heute leider vierzig Minuten Verspätung, sodass wir unseren Anschluss nicht mehr erreichen \
werden und vermutlich am Bahnhof übernachten müssen.
The train to Bremen is unfortunately forty minutes late today, so we will not reach our connection any more and will \
probably have to spend the night at the station.
Wo kann ich hier eine Fahrkarte kaufen?
Where can I buy a ticket here?
Mein Bruder arbeitet seit drei Jahren in einem kleinen Krankenhaus auf dem Land, obwohl er in der Stadt fast doppelt \
so viel verdienen könnte.
My brother has been working in a small hospital in the countryside for three years, although he could earn almost \
twice as much in the city.
Das Wasser kocht.
The water is boiling.
Bitte schließen Sie die Fenster, bevor Sie das Haus verlassen.
Please close the windows before you leave the house.
Sie hat den Brief zweimal gelesen und ihn dann wortlos ins Feuer geworfen.
She read the letter twice and then threw it into the fire without a word.
Wenn es morgen nicht regnet, gehen wir mit den Kindern an den See und nehmen ein Boot.
If it does not rain tomorrow, we will go to the lake with the children and take a boat.
Ein alter Mann mit einem grauen Hut sitzt auf einer Bank und füttert die Tauben.
An old man with a grey hat is sitting on a bench and feeding the pigeons.
Zwei Frauen tragen einen schweren Tisch über die Straße, während ein Hund ihnen bellend folgt.
Two women carry a heavy table across the street while a dog follows them barking.
Die Regierung hat am Dienstag angekündigt, dass die Steuern auf Strom im nächsten Jahr gesenkt werden sollen.
The government announced on Tuesday that the taxes on electricity are to be lowered next year.
Niemand weiß genau, warum die Bienen in diesem Frühjahr so spät zurückgekommen sind, aber die Obstbauern fürchten, \
dass sie im Herbst nur halb so viele Äpfel ernten werden wie sonst.
Nobody knows exactly why the bees came back so late this spring, but the fruit growers fear that in autumn they will \
harvest only half as many apples as usual.
Der Ausschuss wird seinen Bericht vorlegen, sobald alle Mitglieder Gelegenheit hatten, sich dazu zu äußern.
The committee will present its report as soon as all members have had the opportunity to comment on it.
Ich habe den Schlüssel heute Morgen auf den Küchentisch gelegt, aber jetzt ist er nicht mehr da, und außer der Katze \
war den ganzen Tag niemand in der Wohnung.
I put the key on the kitchen table this morning, but now it is no longer there, and apart from the cat nobody was in \
the flat all day.
Trotz der Kälte standen hunderte Menschen die ganze Nacht vor dem Theater, um eine der letzten Karten zu bekommen.
Despite the cold, hundreds of people stood in front of the theatre all night to get one of the last tickets.
Die neue Brücke ist zwar länger als die alte, sie hat jedoch weniger gekostet, weil man sie aus Holz gebaut hat.
The new bridge is longer than the old one, but it cost less because it was built of wood.
Können Sie mir sagen, welche Unterlagen ich für den Antrag brauche und bis wann ich sie einreichen muss?
Can you tell me which documents I need for the application and by when I have to submit them?
Herr Präsident, ich möchte den Kolleginnen und Kollegen für ihre Arbeit an diesem schwierigen Vorschlag danken.
Mr President, I would like to thank my colleagues for their work on this difficult proposal.
Nachdem der Arzt die Bilder gesehen hatte, riet er ihr, mindestens sechs Wochen lang nicht zu laufen.
After the doctor had seen the pictures, he advised her not to run for at least six weeks.
Das Programm bricht ab, wenn die Datei größer ist als der Speicher, den das Gerät zur Verfügung hat, und sagt in einem \
einzigen Satz, was man stattdessen tun kann.
The program stops if the file is larger than the memory that the device has available, and says in a single sentence \
what one can do instead.
Er spricht fünf Sprachen, doch am Telefon versteht man ihn in keiner davon, weil er so schnell redet, als müsste er \
für jede einzelne Minute des Gesprächs bezahlen.
He speaks five languages, but on the phone you cannot understand him in any of them, because he talks as fast as if he \
had to pay for every single minute of the conversation.
Auf dem Markt gab es frische Kirschen, Käse aus den Bergen und so viel Lärm, dass wir bald wieder nach Hause gingen.
At the market there were fresh cherries, cheese from the mountains and so much noise that we soon went home again.
Die Forscher vermuten, dass der Fluss vor etwa zehntausend Jahren einen ganz anderen Weg zum Meer genommen hat.
The researchers suspect that about ten thousand years ago the river took quite a different way to the sea.
Wer zu spät kommt, muss hinten sitzen, und von dort sieht man zwar die Decke des Saales, aber kaum die Bühne.
Whoever comes late has to sit at the back, and from there you can see the ceiling of the hall but hardly the stage.
Wir bedauern sehr, dass Ihre Bestellung nicht rechtzeitig angekommen ist, und werden Ihnen den Preis erstatten.
We very much regret that your order did not arrive in time, and we will refund you the price.
In den ersten Tagen nach dem Sturm gab es weder Strom noch Wasser, und die meisten Straßen waren gesperrt, weil \
umgestürzte Bäume und abgerissene Leitungen auf ihnen lagen.
In the first days after the storm there was neither electricity nor water, and most of the roads were closed because \
fallen trees and torn power lines lay on them.
Meine Großmutter backte jeden Sonntag einen Kuchen, dessen Rezept sie niemandem verraten wollte, nicht einmal uns.
Every Sunday my grandmother baked a cake whose recipe she did not want to reveal to anyone, not even to us.
Die Mannschaft verlor das Spiel in der letzten Minute, obwohl sie fast eine Stunde lang mit zwei Toren geführt hatte.
The team lost the match in the last minute, although it had been leading by two goals for almost an hour.
Es ist wichtig, dass die Mitgliedstaaten ihre Zusagen einhalten und die Mittel bereitstellen, die sie versprochen haben.
It is important that the Member States keep their commitments and provide the funds that they have promised.
Ein Junge in einem roten Pullover springt von einem Felsen in das klare Wasser, während seine Freunde ihm zusehen.
A boy in a red sweater jumps from a rock into the clear water while his friends watch him.
Als wir endlich den Gipfel erreichten, war der Nebel so dicht, dass wir nicht einmal das Kreuz sehen konnten.
When we finally reached the summit, the fog was so thick that we could not even see the cross.
Das Museum bleibt bis Ende März geschlossen, weil das Dach erneuert wird und einige Räume neue Fenster bekommen.
The museum will remain closed until the end of March because the roof is being renewed and some rooms are getting \
new windows.
Man sollte einem Kind nicht verbieten, Fragen zu stellen, auch wenn man auf die meisten davon selbst keine Antwort hat.
One should not forbid a child to ask questions, even if one does not have an answer to most of them oneself.
Ob sich das Verfahren in der Praxis bewährt, wird sich erst zeigen, wenn es unter ungünstigen Bedingungen über \
mehrere Jahre hinweg erprobt worden ist.
Whether the method proves itself in practice will only become clear when it has been tested under unfavourable \
conditions over several years.
Die Stadt will in den kommenden zehn Jahren mehr als zweihundert Kilometer neue Radwege bauen, doch viele Einwohner \
bezweifeln, dass das Geld dafür reichen wird.
The city wants to build more than two hundred kilometres of new cycle paths in the coming ten years, but many \
residents doubt that there will be enough money for it.
Nach langen Verhandlungen haben sich beide Seiten darauf geeinigt, die Löhne in zwei Schritten zu erhöhen und im \
Gegenzug auf weitere Streiks bis zum Ende des Jahres zu verzichten.
After long negotiations, both sides have agreed to raise wages in two steps and, in return, to refrain from further \
strikes until the end of the year.
Weil der Hersteller die alten Teile nicht mehr liefert, muss die Werkstatt sie selbst anfertigen, was nicht nur teurer \
ist, sondern auch fast einen Monat länger dauert als früher.
Because the manufacturer no longer supplies the old parts, the workshop has to make them itself, which is not only \
more expensive but also takes almost a month longer than before.
Wir sind der Meinung, dass diese Richtlinie zwar einen Schritt in die richtige Richtung darstellt, dass sie aber ohne \
wirksame Kontrollen und ohne klare Fristen kaum etwas an der Lage der Betroffenen ändern wird.
We are of the opinion that this directive is indeed a step in the right direction, but that without effective controls \
and without clear deadlines it will hardly change anything about the situation of those affected.
Am Abend, als die Gäste gegangen waren und das Geschirr gespült war, setzte sie sich ans Fenster, schaute auf die \
dunkle Straße hinunter und dachte an den Sommer, in dem alles angefangen hatte.
In the evening, when the guests had left and the dishes were washed, she sat down at the window, looked down at the \
dark street and thought of the summer in which everything had begun.
Wer eine Wohnung mietet, sollte vor dem Einzug jedes Zimmer fotografieren, alle Schäden schriftlich festhalten und \
sich vom Vermieter bestätigen lassen, dass sie schon vorher vorhanden waren.
Anyone who rents a flat should photograph every room before moving in, record all damage in writing and have the \
landlord confirm that it was already there before.
"""

_LINES = _GERMAN_AND_ENGLISH.splitlines()
SENTENCES = tuple(SentencePair(de, en) for de, en in zip(_LINES[::2], _LINES[1::2], strict=True))
"""The sentence pairs."""

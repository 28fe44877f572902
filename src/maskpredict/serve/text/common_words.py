"""Common words of the languages that the detector has a profile of."""

from __future__ import annotations

COMMON_WORDS = {
    "de": """
    aber alle allem allen aller alles als also alt am an andere anderen auch auf aus außer bald bei beim bekommen
    besser bin bis bist bitte bleiben böse brauchen brauchst da dabei dafür damit danach danke dann daran darauf
    darf das dass davon dazu dein deine deinem deinen dem den denn der deren des deshalb dich die dies diese diesem
    diesen dieser dieses dir doch dort drei drüben du durch dürfen eben ein eine einem einen einer eines einfach
    einmal er erst es essen etwas euch euer fahren falsch fast finden frage frau freund früh für fünf ganz geben
    gegen gehe gehen gehst geht gemacht genau genug gern gestern gesund gewesen gibt ging glauben gleich groß große
    großen gut guten gutes habe haben hallo hat hatte hätte haus heißt helfen herr heute hier hinter hoch hund
    hören ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im immer in ins ist ja jahr jahre jede jeden jeder jemand
    jetzt junge kann kannst katze kaufen kein keine keinen kind kinder klein kleine kommen kommt könnte können kurz
    lang lange lassen laufen leben lesen leute lieber liegt links machen macht mädchen man manche mann mehr mein
    meine meinem meinen mensch menschen mich mir mit mittag mochte möchte mögen montag morgen muss musst müssen
    mutter nach nächste nacht name natürlich neben nehmen nein nicht nichts nie niemand noch nun nur ob oben oder
    oft ohne regen regnet rechts recht sache sagen sagt schlafen schlecht schnell schon schön schreiben schule
    schwarz sehen sehr sein seine seinem seinen seiner seit selbst sich sicher sie sieht sind sitzen so soll sollte
    sondern sonne spät sprechen stadt stehen stimmt straße stunde suchen tag tage teuer tun tür über uhr um und uns
    unser unsere unten unter vater vergessen verstehen viel viele vielleicht vier vom von vor wahr wann war waren
    warten warum was wasser weg wegen weil weiß weit welche welt wenig wenn wer werde werden wetter wichtig wie
    wieder will willst wir wird wirklich wo woche wochen wohl wohnen wollen wollte worden wort wurde wurden würde
    zeit zimmer zu zum zur zurück zusammen zwei zwischen ähnlich öffnen arbeiten bahnhof bedeutung entscheidung
    erklärung fahrrad fenster flughafen freundlich geschäft geschichte gesellschaft gesundheit hoffnung krankheit
    lehrer meinung möglich möglichkeit nachbar regierung schließen schlüssel schwester sprache tätigkeit verkaufen
    verschieden versuchen wahrscheinlich wirtschaft wissenschaft wohnung zeitung übung
    """,
    "en": """
    a about above across after again against ago all almost alone along already also although always am among an
    and another answer any anyone anything are around as ask asked at away back bad be beautiful because been
    before began behind being believe best better between big book both boy bring brought but buy by call called
    came can cannot change children city close cold come coming could country day days did different do does doing
    don't done door down during each early easy eat either else end enough even evening ever every everyone
    everything eyes face far father feel few find first five food for found four friend friends from gave get girl
    give go goes going gone good got great green had half hand happy hard has have having he head hear heard help
    her here herself high him himself his hold home hour house how however hundred i if important in inside into is
    it its itself just keep kind know known large last late later least leave left less let letter life light like
    little live long look looked looking made make man many may maybe me mean men might mind minute mine money
    month more morning most mother much must my myself name near need never new next nice night no nobody not
    nothing now number of off often old on once one only open or other our out over own part people perhaps place
    play please point put question quickly quite rain read ready really right room run said same saw say school see
    seen sell send set several shall she should show side since sit sky small so some someone something soon speak
    stand start still stop street such sun sure table take talk tell than thank that the their them themselves then
    there these they thing things think this those though thought three through time to today together told
    tomorrow too took tree true try turn two under understand until up upon us use very voice wait walk want wants
    was watch water way we week weather well went were what when where whether which while white who whole why will
    wish with within without woman word words work world would write year years yes yesterday yet you young your
    yours actually bicycle breakfast building business certainly decision development education environment
    following government happiness interesting kitchen knowledge language meeting movement neighbour opinion
    possible quality reading science sentence society station sudden teacher thousand through tradition umbrella
    usually window writing
    """,
}
"""Words of a language, separated by white space, by language code."""

"""Words that every text of a language has: they say nothing about what it is about, but they tell the language.

Chinese, Japanese, Korean and Thai are written without spaces, or with words that change, so they have none here: their
pairs of signs that every text has are told by how often an index holds them.
"""

import re
import unicodedata
from collections.abc import Collection

_ENGLISH = """a about above after again all also am an and any are as at be because been before being below between
both but by can could did do does doing down during each few for from further had has have having he her here hers him
his how i if in into is it its just know let like me more most my no nor not now of off on once only or other our out
over own please same say said she should so some such tell than that the their them then there these they this those
through to too under until up us very was we were what when where which while who whom why will with would you your
yours aren couldn d didn doesn don hadn hasn haven isn ll m re s shouldn t ve wasn weren wouldn many much"""
_GERMAN = """aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein deine dem den der des
dich die dies diese dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer für hab
habe haben hat hatte hier ich ihm ihn ihr ihre im in ist ja jetzt kann kein keine können man mehr mein meine mich mir
mit nach nicht noch nun nur ob oder ohne sag sehr sein seine sich sie sind so über um und uns unser unter vom von vor
war waren warum was wegen weil welche welcher wenn wer wie wieder wir wird wo zu zum zur"""
_FRENCH = """a ai alors as au aussi aux avait avec avez avons bien c ce ces cet cette comme comment d dans de des deux
donc du elle elles en encore entre est et été être eu fait il ils j je l la le les leur leurs lui m ma mais me même mes
moi mon n ne nos notre nous on ont ou où par pas peu peut plus pour pourquoi qu quand que quel quelle quelles quels qui
quoi s sa sans se ses si son sont sur t ta te tes toi ton tous tout très tu un une vos votre vous y"""
_SPANISH = """al algo así aunque bien cada como cómo con cual cuál cuales cuáles cuando cuanto cuánto cuándo de del
desde donde dónde dos el él ella ellas ellos en entre era eres es esa ese eso esta está estas este esto estos fue ha
hace hasta hay la las le les lo los más me mi mis mucho muy nada ni no nos nosotros o os otra otro para pero poco por
porque puede pues que qué quien quién se ser si sí sin sobre son soy su sus también te tiene todo todos tu tú tus un
una uno unos y ya yo"""
_ITALIAN = """a ad ai al alla alle allo anche ancora che chi ci come con cosa cui da dal dalla dalle dei del della
delle dello di dove e è ed era essere gli ha hai hanno ho i il in io la le lei li lo loro lui ma me mi mia mio molto ne
nei nel nella no noi non nostro o ogni per perché più può qual quale quali quando quanto quella quelle quelli quello
questa queste questi questo qui se sei si sì sia sono sta su sua sul sulla suo te ti tra tu tutti tutto un una uno vi
voi"""
_PORTUGUESE = """a ainda ao aos aquela aquele aqui as até com como da das de dela dele depois do dos e é ela elas ele
eles em entre era essa esse esta está este eu foi há isso isto já lhe mais mas me mesmo meu minha muito na não nas nem
no nos nós o onde os ou para pela pelo por porque qual quais quando quanto que quem são se sem ser seu seus só sobre
sua suas também te tem têm tenho teu tu tua um uma você vocês"""
_DUTCH = """aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een en er ge
geen had heb hebben heeft hem het hier hij hoe hun iets ik in is ja je jij jou kan kon kunnen maar me meer men met mij
mijn na naar niet niets nog nu of om omdat onder ons ook op over reeds te tegen toch toen tot u uit uw van veel voor
waar waarom wanneer want waren was wat we wel welke werd wie wij wil worden wordt zal ze zelf zich zij zijn zo zou"""
_RUSSIAN = """а без более бы был была были было быть в вам вас ведь во вот все всего всех вы где да даже для до его ее
её если есть еще ещё же за здесь и из или им их к как какая какие какой когда которая которые который кто ли между меня
мне может можно мой моя мы на над нам нас не него нее неё ней нет ни них но ну о об он она они оно от по под потому
почему при про с сам себя сейчас со так также там те тебя тем то тогда того тоже той только том ты у уже чего чем что
чтобы чья эта эти это этого этой этом этот я сколько"""
_ARABIC = """في من على إلى الى عن مع هل ما ماذا من متى أين اين كيف لماذا كم أي اي هو هي هم هذا هذه ذلك تلك التي الذي
الذين كان كانت يكون أن ان إن لا لم لن قد و أو او ثم بل لكن كل بعض غير بين عند بعد قبل حتى إذا اذا أنا انا أنت انت نحن
لي له لها لهم به بها فيه فيها عليه عليها منه منها وماذا وما وهل وكم وكيف ومتى وأين ولماذا"""
_HINDI = """का के की है हैं था थे थी हो होता होती होते में से को पर और या भी ही तो यह ये वह वे इस उस इन उन इसका इसकी
इसके उसका उसकी उसके क्या कौन कब कहाँ कहां कैसे क्यों कितना कितने कितनी कौनसा मैं मुझे मेरा हम आप तुम अपने एक कुछ जो जब
तक लिए ने नहीं कर करना करते किया गया गई रहा रही रहे साथ बारे"""
ENGLISH = "english"


def fold_accents(text: str) -> str:
    """Return a text as an index spells it: without accents."""
    return unicodedata.normalize("NFKC", re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", text)))


def _words(text: str) -> frozenset[str]:
    return frozenset((*text.split(), *fold_accents(text).split()))


BY_LANGUAGE = {
    ENGLISH: _words(_ENGLISH),
    "german": _words(_GERMAN),
    "french": _words(_FRENCH),
    "spanish": _words(_SPANISH),
    "italian": _words(_ITALIAN),
    "portuguese": _words(_PORTUGUESE),
    "dutch": _words(_DUTCH),
    "russian": _words(_RUSSIAN),
    "arabic": _words(_ARABIC),
    "hindi": _words(_HINDI),
}
"""The words of each language by itself: "die" and "war" are stop words in German, and something else in English."""
STOP_WORDS = frozenset().union(*(BY_LANGUAGE[name] for name in (ENGLISH, "german", "french", "spanish")))
"""Words of the languages that are most often mixed: what is none of them says something."""
_BEFORE = 6
"""How many words a conversation counts as that has nothing but common words of one language."""
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_ARABIC_SCRIPT = re.compile("[\u0600-\u06ff]")
_DEVANAGARI = re.compile("[\u0900-\u097f]")


def language_of(words: Collection[str], before: Collection[str] = ()) -> str:
    """Return the language that most of the words are common in; what was said before counts as a few words more.

    Where nothing tells, it is the language of the script, which is English for the Latin one.
    """
    known, said = frozenset(words), frozenset(before)
    found = {
        name: len(listed & known) + _BEFORE * len(listed & said) / (len(said) or 1)
        for name, listed in BY_LANGUAGE.items()
    }
    likely = max(found, key=lambda name: found[name])
    if found[likely]:
        return likely
    text = " ".join(words)
    scripts = {"russian": _CYRILLIC, "arabic": _ARABIC_SCRIPT, "hindi": _DEVANAGARI}
    return next((language for language, script in scripts.items() if script.search(text)), ENGLISH)

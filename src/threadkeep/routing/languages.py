"""Does a question in another language than English need the conversation before it?

Four kinds of words decide, in lists that can be read and corrected: those that point back, those that may ("weak"),
those that a continuation begins with, and the beginnings of those that say little by themselves (price, weight, to
cost). A question points back, or begins as a continuation, or names nothing else: then it needs the conversation.
Chinese and Japanese are not written in words, so there the same lists are looked for in the text.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from threadkeep.text.stop_words import BY_LANGUAGE, ENGLISH, fold_accents, language_of


class Language(NamedTuple):
    """The words of a language, without accents."""

    points: frozenset[str]
    weak: frozenset[str]
    begins: tuple[str, ...]
    general: tuple[str, ...]


def _language(points: str, weak: str, begins: str, general: str) -> Language:
    pointing, perhaps = (frozenset(fold_accents(words).split()) for words in (points, weak))
    return Language(pointing, perhaps, tuple(fold_accents(begins).split("|")), tuple(fold_accents(general).split()))


_LANGUAGES = {
    "german": _language(
        "er ihn ihm dessen deren dieser dieses diesen diesem davon dazu damit daruber dafur daran darin beide beiden "
        "andere anderen denn welches welcher",
        "das die sie es ihr ihre sein seine dort da",
        "und|oder|aber|dann|was ist mit|wie ist es mit|wie ware es mit|nein|ich meine|noch",
        "preis kost koste wieg gewicht farb grosse gross lang kurz teuer billig gunstig vorteil nachteil unterschied grund "
        "beispiel akku garantie funktion besser schlechter schlecht gut schwer leicht alt neu dauer viel lange genau mehr "
        "erzahl zeig gibt alternativ wichtig weiter arbeit geht wasserdicht einfluss einwohner hoch halt hält zweite erste dritte",
    ),
    "french": _language(
        "celui celle ceux celles laquelle lequel lesquels lesquelles cela ca ci eux dernier premier deuxieme second autres autre",
        "il elle ils elles lui y en",
        "et|ou|mais|alors|qu en est il|non|je veux dire|pourquoi pas|plus de",
        "prix cout pes poids couleur taille grand petit long cher avantage inconvenient difference raison exemple batterie "
        "garantie fonction mieux meilleur pire bon lourd leger vieux nouveau dur temps combien plus dis montre parle "
        "important marche etanche principa habitant haut ecran peu dire exist depuis moins recent",
    ),
    "spanish": _language(
        "esto eso aquello ello ellos ellas este ese esta esa estos esos otro otra otros otras ambos ambas segundo segunda primero primera ultimo ultima",
        "ella le su sus ahi alli",
        "y|o|pero|entonces|que tal|que hay de|quiero decir|no|mas",
        "precio cuest cost pes peso color tama grande largo caro barat ventaj desventaj diferenci razon ejemplo bateria "
        "garanti funcion mejor peor buen bueno pesad liger viej nuev dur tiempo cuant mas dim muestr cuent importan sirv "
        "resistent agua habitant principal alto exist desde recient",
    ),
    "italian": _language(
        "questo questa questi queste quello quella quelli quelle cio esso essa loro entrambi altro altra altri altre "
        "secondo seconda primo prima ultimo ultima due ne",
        "lui lei suo sua suoi sue",
        "e|o|ma|allora|e se|che ne dici|no|invece|ancora",
        "prezz cost pes peso color grand lung car economic vantagg svantagg differenz ragion motiv esempi batteri garanzi "
        "funzion miglior peggior buon pesant legger vecchi nuov dur tempo quant piu dim mostr parl important serv resistent "
        "acqua abitant principal alt esist quando recent",
    ),
    "portuguese": _language(
        "isto isso aquilo este esta esse essa estes esses aquele aquela dele dela deles delas outro outra outros outras "
        "ambos ambas segundo segunda primeiro primeira ultimo ultima duas dois",
        "ele ela eles elas seu sua",
        "e|ou|mas|entao|que tal|quero dizer|nao|mais",
        "prec cust pes peso cor tamanh grand long car barat vantag desvantag diferenc raz motiv exempl bateri garanti func "
        "melhor pior bom pesad lev velh nov dur tempo quant mais dig mostr fal important serv resistent agua habitant "
        "principa alt exist desde recent",
    ),
    "dutch": _language(
        "deze hij hem ervan ermee erover daarvan daarmee daarover beide andere twee zij hen zulke",
        "dat die dit het ze er zijn haar",
        "en|of|maar|dan|hoe zit het met|wat dacht je van|nee|ik bedoel|nog",
        "prijs kost weeg gewicht kleur groot lang duur goedkoop voordel voordeel nadel nadeel verschil reden voorbeeld accu "
        "batterij garantie functie werkt beter slechter goed zwaar licht oud nieuw tijd veel meer vertel toon laat belangrijk "
        "mee gaat zien nieuwer waterdicht inwoner hoog tweede eerste",
    ),
    "russian": _language(
        "это этот эта эти этого этой этим этом этому он она они оно его ее её их ему ей им нем ней них тот та те того тех "
        "оба обе двух двое другой другие другая другое второй первый последний такой такие",
        "там туда",
        "а|и|или|но|тогда|как насчет|что насчет|нет|то есть|еще",
        "цен стои стоит вес цвет размер больш мал длин дорог дешев преимущест недостат разниц отлич причин пример батаре "
        "гарант функци работа лучш хуж хорош плох тяжел легк стар нов долг времен скольк подробн расска покаж важн "
        "водонепрониц насел жител высок главн когда",
    ),
    "arabic": _language(
        "هم هما واحدة واحد أيهما ايهما هذا هذه ذلك تلك هؤلاء منه منها عنه عنها فيه فيها له لها لهم به بها عليه عليها الثاني الثانية الأولى الأخرى الاخرى الآخر الاول الأول الأخير "
        "الاخير غيره غيرها كلاهما بينهما",
        "هو هي هناك",
        "و|أو|لكن|ماذا عن|وماذا عن|لا|أقصد|المزيد",
        "سعر تكلف يكلف تكلفت ثمن وزن يزن تزن لون حجم كبير صغير طول طويل غالي رخيص مزايا ميز عيوب فرق سبب مثال بطاري ضمان وظيف "
        "يعمل تعمل افضل أفضل اسوا أسوأ جيد ثقيل خفيف قديم جديد مد وقت اخبر أخبر اعطن أعطن المزيد مهم مقاوم ماء سكان اهم أهم ارخص أرخص الوان ألوان متوفر موجود أحدث احدث أكثر اكثر غال ارني أرني منذ مقارن بالمقارن وبالمقارن",
    ),
    "hindi": _language(
        "यह वह ये वे इस उस इन उन इसका इसकी इसके उसका उसकी उसके इसे उसे इसमें उसमें इनमें उनमें दोनों दूसरा दूसरी दूसरे पहला पहली "
        "आखिरी ऐसा ऐसे अन्य और सा सी",
        "वहाँ वहां",
        "और|या|लेकिन|तो|नहीं|मेरा मतलब",
        "कीमत दाम लागत वजन वज़न रंग आकार बड़ा बड़े बड़ी छोट लंब महंग सस्त फायद फ़ायद नुकसान अंतर फर्क फ़र्क कारण उदाहरण बैटरी "
        "वारंटी काम बेहतर खराब अच्छ भारी हल्क पुरान नय समय बता दिखा मुख्य महत्व जनसंख्या वाला वाली कोई ज्यादा ज़्यादा ऊंच",
    ),
    "korean": _language(
        "그 그것 그것은 그것의 그게 그거 그건 이것 이것은 이게 이거 이건 저것 저건 그중 그중에서 둘 둘의 둘은 다른 다른건 두번째 첫번째 "
        "그는 그녀는 그들은 거기 거기서 마지막",
        "",
        "그리고|그럼|그러면|아니|하지만|그런데|더",
        "가격 얼마 비용 무게 색 크기 큰 작은 길이 비싼 비싸 싼 싸 장점 단점 차이 이유 예 배터리 보증 기능 작동 더 나은 좋 나쁘 나쁜 "
        "무거 가벼 오래 새 시간 자세히 알려 보여 설명 말해 중요 방수 인구 높 추천 있 없 어떤 어느 무엇 뭐 뭔 왜 언제 어디 어떻게 "
        "누구 누가 몇 인가요 인가 인지 주세요 줘 해 되 하나요 입니까 이야 무슨",
    ),
    "chinese": _language(
        "它 他 她 这个 那个 这些 那些 这种 那种 其 前者 后者 第一 第二 最后一 另一 另外 其他 别的 两个 哪一个 哪个更 哪种更 上面 刚才 "
        "這個 那個 這些",
        "这 那 這 那里 那儿 哪个 哪些",
        "那么|那|还有|然后|但是|可是|为什么呢|再|不是|或者",
        "多少钱 价格 价钱 费用 成本 重量 多重 颜色 大小 尺寸 多大 多长 多久 贵 便宜 优点 缺点 区别 不同 原因 例子 电池 保修 功能 怎么用 "
        "更好 最好 好吗 更 详细 介绍 说明 告诉 重要 防水 人口 主要 多高 多少 什么 怎么样 怎么 为什么 如何 哪里 谁 什么时候 请 给我 看看 "
        "一下 一点 的 了 吗 呢 吧 是 有 在 和 与 我 你 您 能 可以 会 要 想 知道 说 讲 关于 时候 时间 续航 工作 支持 呀 啊 多",
    ),
    "japanese": _language(
        "それ これ あれ その この あの そっち こっち 彼 彼女 両方 二番目 一番目 最後の 2番目 1番目 他の ほかの 別の 前者 後者 そこ 同じ",
        "",
        "では|じゃあ|それで|そして|でも|あと|もっと|いや|なぜ？|どうして？",
        "値段 価格 費用 重さ 重量 色 大きさ 寸法 高い 安い 長所 短所 違い 差 理由 例 電池 バッテリー 保証 機能 使い方 良い 悪い 重い 軽い "
        "古い 新しい 時間 詳 詳細 教 説明 見 重要 防水 人口 主 何 誰 高 安 良 悪 長 短 重 軽 大 小 動作 一番 下 名前 種類 意味 方法",
    ),
}
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_KANA = re.compile("[\u3040-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7af]")
_UNSPACED_CONTENT = re.compile("[a-z0-9\u30a1-\u30fa\u30fc\u3400-\u9fff]+")
_PUNCTUATION = "?!.,;:\u2026\"'\u2019\u201c\u201d\u00ab\u00bb()[]\u060c\u061f\u061b\u0964\u00bf\u00a1\u3002\uff1f\uff01\u3001\uff0c"
_SPLIT = re.compile(r"[\s'\u2019\-/]+")


def needs_context(question: str, texts: Sequence[str]) -> tuple[bool, str] | None:
    """Judge a question after some texts, and say why; None if its language is English or none of those here."""
    text = fold_accents(question.lower())
    words = _words(text)
    if _KANA.search(text) or _HAN.search(text):
        language = _LANGUAGES["japanese" if _KANA.search(text) else "chinese"]
        points, weak = (any(word in text for word in listed) for listed in (language.points, language.weak))
        specific = _unspaced_content(text, language)
    else:
        name = "korean" if _HANGUL.search(text) else language_of(words, _words(fold_accents(" ".join(texts).lower())))
        if name == ENGLISH or name not in _LANGUAGES:
            return None
        language = _LANGUAGES[name]
        points, weak = (not listed.isdisjoint(words) for listed in (language.points, language.weak))
        stop_words = BY_LANGUAGE.get(name, frozenset()) | language.points | language.weak
        specific = [word for word in words if word not in stop_words and not _is_general(word, language)]
    begun = " ".join(words) + " "
    if any(begun.startswith(f"{start} ") or (len(start) > 1 and _starts(text, start)) for start in language.begins):
        return True, "it begins as a continuation"
    if points:
        return True, "it points back"
    if not specific:
        return True, "it names nothing by itself"
    if weak and len(specific) == 1:
        return True, "it names little by itself"
    return False, "it names what it is about"


def _words(text: str) -> list[str]:
    return [word for part in _SPLIT.split(text) if (word := part.strip(_PUNCTUATION))]


def _starts(text: str, start: str) -> bool:
    """Whether a text that is not written in words begins with something."""
    return not start.isascii() and _HAN.search(text + start) is not None and text.startswith(start)


def _is_general(word: str, language: Language) -> bool:
    if _HANGUL.search(word) and (len(word) == 1 or word.endswith(("요", "까", "줘", "죠"))):
        return True  # a particle, or the verb that a Korean question ends with
    bare = word.removeprefix("ال") if len(word) > 4 else word
    return word.startswith(language.general) or bare.startswith(language.general)


def _unspaced_content(text: str, language: Language) -> list[str]:
    """Return what is left of a text, between the words that say little: signs of words, not endings and particles."""
    # A sign alone is a word in Chinese; in Japanese it may as well be a part of a name.
    is_japanese = _KANA.search(text) is not None
    for word in sorted((*language.general, *language.points, *language.weak), key=len, reverse=True):
        text = text if is_japanese and len(word) == 1 else text.replace(word, " ")
    return [run for run in _UNSPACED_CONTENT.findall(text) if len(run) > 1 or run.isdigit()]

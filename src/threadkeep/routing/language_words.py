"""The words that detection knows of other languages than English, in lists to be read and corrected.

Words are compared without accents. Those that say little by themselves are given by their beginnings, for all their
forms: what something costs, how long it takes, where and when it is, what it is made of.
"""

from typing import NamedTuple

from threadkeep.text.stop_words import fold_accents


class Language(NamedTuple):
    """The words of a language: those that point back, those that may, and what a continuation begins with.

    `general` are beginnings of words that say little, `articles` stand before something as known, `defines` before what
    a question asks to be told about, `asks` before something that is true or not.
    """

    points: tuple[str, ...]
    weak: frozenset[str]
    begins: tuple[str, ...]
    goes_on: frozenset[str]
    general: tuple[str, ...]
    articles: frozenset[str]
    defines: tuple[str, ...]
    asks: tuple[str, ...]


def _language(points: str, begins: str, general: str, **others: str) -> Language:
    listed = {name: fold_accents(others.get(name, "")) for name in ("weak", "goes_on", "articles", "defines", "asks")}
    return Language(
        points=tuple(fold_accents(points).split()),
        weak=frozenset(listed["weak"].split()),
        begins=tuple(begins.split("|")),
        goes_on=frozenset(listed["goes_on"].split()),
        general=tuple(fold_accents(general).split()),
        articles=frozenset(listed["articles"].split()),
        defines=tuple(filter(None, listed["defines"].split("|"))),
        asks=tuple(filter(None, listed["asks"].split("|"))),
    )


LANGUAGES = {
    "german": _language(
        points="er ihn ihm dessen deren dieser dieses diese diesen diesem davon dazu daruber dafur daran darin dabei dagegen beide "
        "beiden welches welcher",
        weak="das die sie es ihr ihre sein seine seinen dort da damit denn",
        begins="und|oder|aber|dann|also|was ist mit|wie ist es mit|wie wäre es mit|wie sieht es mit|nein|ich meine|noch|mehr|wieso|warum nicht|auch",
        goes_on="andere anderen anderes anderer auch noch sonst ebenfalls stattdessen eigentlich einzeln",
        general="preis kost wieg gewicht farb gross lang kurz leb wohn teuer billig gunstig vorteil nachteil unterschied grund grunde beispiel "
        "akku garantie funktion besser schlecht gut schwer leicht alt alter neu dauer viel genau mehr erzahl zeig gibt alternativ "
        "wichtig weiter arbeit geht wasserdicht einfluss einwohner hoch hoh halt zweit erst dritt letzt liefer versand eintritt "
        "ticket fahrkart offn offen geschloss schliess uhr stund minut tag woch monat jahr morgen abend nacht heute winter sommer "
        "herbst fruhling qualitat geschwindig laut leise leistung speicher bildschirm kamera material zutat symptom neben wirkung "
        "behandl ursach risik gefahr regel voraussetz schritt method modell version nam bedeut problem losung ort platz foto bild "
        "kind anfang einsteig erwachsen start begin beginn end kauf zahl buch reservier stornier zuruck wiederhol benutz verwend "
        "brauch mach passier helf funktioniert nehm bekomm komm find seh sicher moglich vertrag rabatt grosser kleiner jung",
        articles="der die das den dem des",
        defines="was ist|was sind|was verursacht|was bedeutet|was heisst|wer ist|wer war|wer hat|wie funktioniert|wie entsteht|erklar|erklare",
        asks="ist|sind|hat|haben|gibt|kann|kann man|geht|war|wird|muss|darf|lohnt|passt",
    ),
    "french": _language(
        points="celui celle ceux celles laquelle lequel lesquels lesquelles cela ca eux celui-ci",
        weak="il elle ils elles lui y leur ses sa son ci",
        begins="et|ou|mais|alors|donc|qu en est il|non|je veux dire|pourquoi pas|plus de|ok|aussi|sinon",
        goes_on="autre autres aussi encore sinon plutot dernier premier deuxieme second meme",
        general="prix cout pes poids couleur taille grand petit long cher avantage inconvenient difference raison exemple batterie "
        "garantie fonction mieux meilleur pire bon lourd leger vieux nouveau dur temps combien plus dis montre parle important marche "
        "etanche vit vivent habit principa habitant haut ecran peu dire exist depuis moins recent entree billet ticket livraison reserv horaire ouv "
        "ferm heure minut jour semaine mois annee an ans matin soir nuit hiver ete automne printemps qualite vitesse bruit puissance "
        "memoire appareil photo matiere materiau ingredient symptome effet second traitement cause risque danger regle condition "
        "etape methode modele version nom signifi probleme solution lieu endroit image enfant debut adulte commenc fini achet payer paye "
        "annul rend repet utilis besoin fai arriv aid prend trouv voi sur possible contrat reduction celebre connu tableau jeune age",
        articles="le la les l du des au aux",
        defines="qu est ce que|qu est ce qu|que cause|c est quoi|qui est|qui a|qui etait|que signifie|que veut dire|comment fonctionne|explique",
        asks="est ce que|est ce qu|a t|y a t|peut on|on peut|peut|faut|est",
    ),
    "spanish": _language(
        points="esto eso aquello ello ellos ellas este ese esta esa estos esos estas esas ambos ambas",
        weak="ella le su sus ahi alli alla",
        begins="y|o|pero|entonces|que tal|y si|qué tal|qué hay de|quiero decir|no|más|también|además",
        goes_on="otro otra otros otras tambien ademas segundo segunda primero primera ultimo ultima antes mismo misma",
        general="precio cuest cost pes peso color tama grande largo caro car barat ventaj desventaj diferenci razon ejemplo bateria "
        "garanti funcion mejor peor buen bueno pesad liger viej nuev dur tiempo cuant mas dim muestr cuent importan sirv "
        "viv resistent agua habitant principal alto exist desde recient entrada billet boleto ticket envio entrega reserv horario abr cierr "
        "hora minuto dia semana mes ano anos manana tarde noche invierno verano otono primavera calidad velocidad ruido potencia memoria "
        "camara pantalla material ingredient sintoma efecto secundari tratamiento causa riesgo peligro regla requisito paso metodo "
        "modelo version nombre signific problema solucion lugar sitio foto imagen nino nina adult principiant empez comienz termin "
        "compr pag cancel devolv repet us necesit hac pas ayud pon tom consig pued llega ve segur posib contrato descuento famos",
        articles="el la los las al del",
        defines="que es|que son|que significa|que causa|que provoca|quien es|quien fue|como funciona|explica|explicame",
        asks="es|son|tiene|tienen|hay|puedo|puede|se puede|esta|fue|sirve|vale",
    ),
    "italian": _language(
        points="questo questa questi queste quello quella quelli quelle cio esso essa loro entrambi entrambe",
        weak="lui lei suo sua suoi sue ne ci li",
        begins="e|o|ma|allora|e se|che ne dici|no|invece|ancora|anche|poi",
        goes_on="altro altra altri altre secondo seconda primo prima ultimo ultima anche ancora invece stesso stessa",
        general="prezz cost pes peso color grand piccol lung car economic vantagg svantagg differenz ragion motiv esempi batteri "
        "garanzi funzion miglior meglio peggio buon pesant legger vecchi nuov dur tempo quant piu dim mostr parl important serv "
        "viv abit resistent acqua abitant principal alt esist quando recent bigliett ingress entrat consegn spedizion prenot orari apr chiu "
        "ora ore minut giorn settiman mes ann mattin sera notte inverno estate autunno primavera qualita velocita rumor potenz memori "
        "fotocamer schermo material ingredient sintom effett trattament cura caus rischi pericol regol requisit pass metod modell "
        "version nome signific problem soluzion luog posto foto immagin bambin adult principiant inizi comincia finisc part arriv "
        "compr pag annull restitu ripet us bisogn fa succed aiut prend trov vedere sicur possibil contratt scont famos convien port",
        articles="il lo la i gli le l del della dei delle al alla",
        defines="che cos|che cosa e|che cosa causa|cosa causa|cos|cosa significa|chi e|chi era|chi ha|come funziona|spiega|spiegami",
        asks="è|sono|ha|hanno|c|ci sono|si puo|ci si|posso|conviene|serve|vale",
    ),
    "portuguese": _language(
        points="isto isso aquilo este esta esse essa estes esses estas essas aquele aquela dele dela deles delas nele nela ambos ambas",
        weak="ele ela eles elas seu sua la lo las los",
        begins="e|ou|mas|então|que tal|quero dizer|não|mais|também|e se",
        goes_on="outro outra outros outras segundo segunda primeiro primeira ultimo ultima tambem algum alguma mais ainda mesmo mesma",
        general="prec cust pes peso cor tamanh grand long car barat vantag desvantag diferenc raz motiv exempl bateri garanti func "
        "melhor pior bom boa pesad lev velh nov dur tempo quant mais dig mostr fal important serv viv mora resistent agua habitant principa "
        "alt exist desde recent prova bilhete ingresso entrada entrega envio reserv horario abr fech hora minuto dia semana mes ano "
        "manha tarde noite inverno verao outono primavera qualidade velocidade ruido potencia memoria camara camera tela ecra material "
        "ingredient sintoma efeito secundari tratamento causa risco regra requisito passo metodo modelo versao nome signific problema "
        "solucao lugar local foto imagem crianc adult principiant comec termin acab compr pag cancel devolv repet us precis faz "
        "acontec ajud consig pode cheg ver segur possiv contrat descont famos das dois duas acrescent passar",
        articles="o a os as ao do da dos das",
        defines="o que e|o que sao|o que significa|o que causa|quem e|quem foi|como funciona|explica|explique",
        asks="é|são|tem|têm|ha|existe|existem|posso|pode|da para|vale|serve|esta",
    ),
    "dutch": _language(
        points="deze hij hem ervan ermee erover erin erbij daarvan daarmee daarover daar beide zij hen zulke",
        weak="dat die dit het ze er zijn haar hun",
        begins="en|of|maar|dan|dus|hoe zit het met|wat dacht je van|nee|ik bedoel|nog|meer|ook",
        goes_on="ook andere anders nog zelfde",
        general="prijs prijz kost weeg gewicht kleur groot grot lang duur goedkop voordel voordeel nadel nadeel verschil reden voorbeeld "
        "accu batterij garantie functie werkt beter slecht goed zwaar licht oud nieuw tijd veel meer vertel toon laat belangrijk "
        "leef leven woon mee gaat zien zie nieuwer waterdicht inwoner hoog tweede eerste laatste twee toegang ticket kaart lever bezorg reserv openings "
        "open dicht gesloten sluit uur minut dag dagen week maand jaar ochtend avond nacht winter zomer herfst lente kwaliteit snel "
        "geluid vermogen geheugen camera scherm materia ingredient symptom bijwerk effect behandel oorzaak risico gevaar regel eis "
        "stap method model versie naam beteken problem oploss plek plaats foto beeld kind volwassen begin eind koop betaal annuleer "
        "terug herhaal gebruik nodig doe maak help neem krijg kom vind zeker veilig mogelijk contract korting beroemd best precies",
        articles="de het",
        defines="wat is een|wat zijn|wat betekent|wie is|wie was|wie heeft|hoe werkt|leg uit",
        asks="is|zijn|heeft|hebben|kan|kun|kun je|kan je|mag|moet|was|werkt|past",
    ),
    "russian": _language(
        points="это этот эта эти этого этой этим этом этому он она они оно его ее их ему ей им нем ней них нему тот та те того тех "
        "оба обе двух двое",
        weak="там туда оттуда такой такая такие такое",
        begins="а|и|или|но|тогда|как насчет|что насчет|нет|то есть|еще|ещё|также|тоже",
        goes_on="другой другие другая другое других второй вторая первый первая последний также тоже еще кроме",
        general="цен стои вес цвет размер больш мал длин дорог дешев преимущест недостат разниц отлич причин пример батаре гарант "
        "функци работа лучш хуж хорош плох тяжел легк стар нов долг времен скольк подробн расска покаж важн водонепрониц жив насел жител "
        "высок главн когда билет вход достав брон часы час минут день дня дней недел месяц год лет утр вечер ноч зим лет осен весн "
        "качеств скорост шум мощност памят камер экран материал ингредиент состав симптом эффект побочн лечен риск опасн правил "
        "требован шаг метод модел верси назван имя знач проблем решен мест фото картин дет взросл начинающ начал конец закан куп "
        "плат отмен верн повтор использ нуж дела помо взять получ найти видеть добра доехать можн безопас возможн договор скидк "
        "известн чист",
        defines="что такое|кто такой|кто такая|кто написал|что значит|что означает|как работает|объясни",
        asks="есть|можно|это|был|была|нужно|стоит|а есть",
    ),
    "arabic": _language(
        points="هم هما واحدة واحد أيهما ايهما هذا هذه ذلك تلك هؤلاء منه منها عنه عنها فيه فيها له لها لهم به بها عليه عليها إليه إليها "
        "كلاهما بينهما غيره غيرها سعره سعرها ثمنه ثمنها وزنه وزنها لونه لونها حجمه حجمها",
        weak="هو هي هناك",
        begins="و|أو|لكن|ماذا عن|وماذا|وهل|وكم|وكيف|ومتى|وأين|ولماذا|وما|ومن|لا|أقصد|المزيد|أيضا",
        goes_on="آخر اخر أخرى اخرى الثاني الثانية الأولى الأخرى الاخرى الآخر الاول الأول الأخير الاخير أيضا كذلك",
        general="يعيش تعيش سعر تكلف يكلف ثمن وزن يزن تزن لون حجم كبير صغير طول طويل غالي رخيص مزايا ميز عيوب فرق سبب مثال بطاري ضمان وظيف "
        "يعمل تعمل افضل أفضل اسوا أسوأ جيد ثقيل خفيف قديم جديد مد وقت اخبر أخبر اعطن أعطن المزيد مهم مقاوم ماء سكان اهم أهم ارخص "
        "أرخص الوان ألوان متوفر موجود يوجد توجد أحدث احدث أكثر اكثر غال ارني أرني منذ مقارن بالمقارن وبالمقارن تذكر تذاكر دخول توصيل شحن "
        "حجز مواعيد يفتح يغلق ساع دقيق يوم أسبوع اسبوع شهر سن عام صباح مساء ليل شتاء صيف خريف ربيع جود سرع ضوضاء صوت قو ذاكر "
        "كاميرا شاش ماد مواد مكون أعراض اعراض آثار تأثير جانبي علاج خطر مخاطر قاعد شروط شرط خطو طريق طرق نموذج نسخ إصدار اسم معنى "
        "مشكل حل مكان صور طفل أطفال مبتدئ كبار يبدأ تبدأ ينتهي شراء اشتري أشتري دفع إلغاء ارجاع تكرار استخدم يستخدم أحتاج يحتاج أفعل "
        "يساعد أجد يصل تصل أرى آمن ممكن يمكن عقد خصم مشهور أسواق اسواق متى",
        defines="ما هو|ما هي|من هو|من هي|ما معنى|من كتب|من اخترع|اشرح",
        asks="هل",
    ),
    "hindi": _language(
        points="यह वह ये वे इस उस इन उन इसका इसकी इसके उसका उसकी उसके इसे उसे इसमें उसमें इनमें उनमें इनका इनकी इनके उनका उनकी उनके इससे "
        "उससे दोनों ऐसा ऐसे",
        weak="वहाँ वहां यहाँ यहां अंदर सा सी",
        begins="और|या|लेकिन|तो|नहीं|मेरा मतलब|फिर",
        goes_on="दूसरा दूसरी दूसरे पहला पहली आखिरी अन्य और भी",
        general="रह कीमत दाम लागत वजन वज़न रंग आकार बड़ा बड़े बड़ी छोट लंब महंग सस्त फायद फ़ायद नुकसान अंतर फर्क फ़र्क कारण उदाहरण बैटरी "
        "वारंटी काम बेहतर खराब अच्छ भारी हल्क पुरान नय समय बता दिखा मुख्य महत्व जनसंख्या वाला वाली कोई ज्यादा ज़्यादा ऊंच टिकट प्रवेश "
        "डिलीवरी बुकिंग खुल बंद घंट मिनट दिन हफ्त सप्ताह महीन साल सुबह शाम रात सर्द गर्म गुणवत्ता गति आवाज शक्ति मेमोरी कैमरा स्क्रीन "
        "सामग्री लक्षण असर प्रभाव इलाज उपचार खतर जोखिम नियम शर्त कदम तरीक मॉडल संस्करण नाम मतलब अर्थ समस्या समाधान हल जगह फोटो तस्वीर बच्च "
        "शुरू खत्म खरीद भुगतान रद्द वापस दोबारा इस्तेमाल उपयोग ज़रूर जरूर मदद मिल पहुँच पहुंच देख ले सक सुरक्षित संभव छूट प्रसिद्ध मशहूर लग कित तुलना",
        asks="क्या",
    ),
    "korean": _language(
        points="그 그것 그것은 그것의 그게 그거 그건 그걸 그걸로 이것 이것은 이게 이거 이건 저것 저건 그중 그중에서 둘 둘의 둘은 두번째 첫번째 번째 번째에 번째는 그는 그녀는 "
        "그들은 거기 거기서 거기에 거긴 마지막",
        begins="그리고|그럼|그러면|아니|하지만|그런데|더|또|혹시|근데",
        goes_on="다른 다른건 또 더 말고",
        general="가격 살 얼마 비용 무게 색 크기 큰 작은 길이 비싼 비싸 싼 싸 장점 단점 차이 이유 예 배터리 보증 기능 작동 더 나은 좋 나쁘 나쁜 "
        "무거 가벼 오래 새 시간 자세히 알려 보여 설명 말해 중요 방수 인구 높 추천 있 없 어떤 어느 무엇 뭐 뭔 왜 언제 어디 어떻게 "
        "누구 누가 몇 인가요 인가 인지 주세요 줘 해 되 하나요 입니까 이야 무슨 표 입장 배송 예약 영업 열 닫 분 일 날 주 달 년 아침 저녁 밤 "
        "겨울 여름 가을 봄 품질 속도 소음 소리 성능 메모리 카메라 화면 재료 증상 효과 부작용 치료 원인 위험 규칙 조건 단계 방법 모델 버전 이름 뜻 "
        "문제 해결 장소 곳 사진 아이 어린이 초보 시작 끝 사 살 구매 결제 취소 환불 반복 사용 쓰 필요 도움 받 찾 보 안전 가능 할인 유명 걸리 괜찮 비 오는 많이 많",
        defines="뜻|의미|란",
        asks="요|까|니|나요",
    ),
    "chinese": _language(
        points="它 他 她 这个 那个 这些 那些 这种 那种 其中 前者 后者 第一个 第二 最后一 另一 另外 其他 别的 两个 两者 哪一个 哪个更 哪种更 上面 刚才 "
        "這個 那個 這些 这款 那款 那里 那儿 这里 同样",
        weak="这 那 這",
        begins="那么|那|还有|然后|但是|可是|为什么呢|再|不是|或者|还|也",
        goes_on="还 也 更 再 另",
        general="多少钱 价格 价钱 费用 成本 重量 多重 颜色 大小 尺寸 多大 多长 多久 贵 便宜 优点 缺点 区别 不同 原因 例子 电池 保修 功能 怎么用 "
        "更好 最好 好吗 更 详细 介绍 说明 告诉 重要 防水 人口 主要 多高 多少 上市 什么 怎么样 怎么 为什么 如何 哪里 谁 什么时候 请 给我 看看 "
        "一下 一点 的 了 吗 呢 吧 是 有 在 和 与 我 你 您 能 可以 会 要 想 知道 说 讲 关于 时候 时间 续航 工作 支持 呀 啊 多 门票 票价 入场 "
        "送货 预订 预约 营业 开门 关门 小时 分钟 天 周 月 年 早上 晚上 冬天 夏天 秋天 春天 质量 速度 噪音 声音 性能 内存 摄像头 屏幕 材料 "
        "症状 效果 副作用 治疗 风险 危险 规则 条件 步骤 方法 型号 版本 名字 意思 问题 地方 照片 拍照 孩子 小孩 大人 初学者 开始 结束 买 付款 取消 "
        "退货 重复 使用 需要 帮助 安全 可能 优惠 打折 有名 适合 到 大 小 快 慢 好 坏 新 旧 远 近 吃 住",
        defines="是谁|是什么意思|什么是",
        asks="吗|呢|么",
    ),
    "japanese": _language(
        points="それ これ あれ その この あの そっち こっち 彼 彼女 両方 二番目 一番目 最後の 2番目 1番目 他の ほかの 別の 前者 後者 そこ 同じ もう一つ もうひとつ そちら",
        begins="では|じゃあ|じゃ|それで|そして|でも|あと|もっと|いや|なぜ？|どうして？|ほかに|他に|また",
        goes_on="もっと ほか 他に 別 また",
        general="値段 価格 費用 重さ 重量 色 大きさ 寸法 高い 安い 長所 短所 違い 差 理由 例 電池 バッテリー 保証 機能 使い方 良い 悪い 重い 軽い "
        "古い 新しい 時間 詳 詳細 教 説明 見 重要 防水 人口 主 何 誰 高 安 良 悪 長 短 重 軽 大 小 動作 一番 下 名前 種類 意味 方法 料金 入場 "
        "チケット 配送 予約 必要 営業 開 閉 何時 分 日 週 月 年 朝 夜 冬 夏 秋 春 品質 速度 音 性能 メモリ カメラ 画面 材料 症状 効果 副作用 治療 "
        "原因 危険 規則 条件 手順 モデル バージョン 問題 解決 場所 写真 子供 大人 初心者 始 終 買 支払 キャンセル 返品 繰 使 助 安全 可能 割引 有名 簡単 発売 方 比 住 行 来 出 着 作",
        defines="とは|って何|の意味",
        asks="か|の",
    ),
}

"""Words that every text has, in English, German, French and Spanish: they say nothing about what it is about."""

_ENGLISH = """a about above after again all also am an and any are as at be because been before being below between both
but by can could did do does doing down during each few for from further had has have having he her here hers him his
how i if in into is it its just know let like me more most my no nor not now of off on once only or other our out over
own please same say said she should so some such tell than that the their them then there these they this those through
to too under until up us very was we were what when where which while who whom why will with would you your yours
aren couldn d didn doesn don hadn hasn haven isn ll m re s shouldn t ve wasn weren wouldn many much"""
_GERMAN = """aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein deine dem den der des
dich die dies diese dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer für hab
habe haben hat hatte hier ich ihm ihn ihr ihre im in ist ja jetzt kann kein keine können man mehr mein meine mich mir
mit nach nicht noch nun nur ob oder ohne sag sehr sein seine sich sie sind so über um und uns unser unter vom von vor
war waren warum was wegen weil welche welcher wenn wer wie wieder wir wird wo zu zum zur"""
_FRENCH = """ai alors as au aussi aux avait avec avez avons bien c ce ces cet cette comme comment d dans de des deux
donc du elle elles en encore entre est et été être eu fait il ils j je l la le les leur leurs lui m ma mais me même mes
moi mon n ne nos notre nous on ont ou où par pas peu peut plus pour pourquoi qu quand que quel quelle quelles quels qui
quoi s sa sans se ses si son sont sur t ta te tes toi ton tous tout très tu un une vos votre vous y"""
_SPANISH = """al algo así aunque bien cada como cómo con cual cuál cuando cuándo de del desde donde dónde dos el él
ella ellas ellos en entre era eres es esa ese eso esta está estas este esto estos fue ha hace hasta hay la las le les lo
los más me mi mis mucho muy nada ni no nos nosotros o os otra otro para pero poco por porque puede pues que qué quien
quién se ser si sí sin sobre son soy su sus también te tiene todo todos tu tú tus un una uno unos y ya yo"""

BY_LANGUAGE = tuple(frozenset(words.split()) for words in (_ENGLISH, _GERMAN, _FRENCH, _SPANISH))
"""The words of each language by itself: "die" and "war" are stop words in German, and something else in English."""
STOP_WORDS = frozenset().union(*BY_LANGUAGE)

"""The words that detection knows: those that point back, those that go on, and those that say little by themselves.

They are lists on purpose, to be read and corrected. They are English, but for courtesies; other languages have their
lists in `languages`.
"""

from threadkeep.text.stems import stem


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


POINTING = _set(
    """it its it's itself they them their theirs themselves he she his her him hers this these those that's
    former latter"""
)
"""Words that stand for something that was named before."""

UNSAID = _set("any anything something")
"""Words that leave open of what there shall be one, at the beginning of what is no whole sentence."""

INTRODUCING = _set("a an my our about some many several two three")
"""Words before something that a question brings up itself."""

MANY = _set("they them their theirs")
"""Words that stand for several things."""

SINGLE = _set("it its he she his her him")
"""Words that stand for one thing, and not for several."""

INNER = _set("it its they them their he she his her him one ones this these there")
"""Of those, the ones that may stand for something in the same sentence: "What is taurine and is it safe?"."""

GOING_ON = _set("other others another else same similar too instead also both alternatives")
"""Words that compare with something that was named before, or add to it."""

BEGINNINGS = (
    "what about", "how about", "what else", "what if", "which one", "which ones", "why not", "why", "how so",
    "how come", "and", "or", "but", "then", "so", "no", "i mean", "i meant", "same for", "more", "tell me more",
    "more about",
)  # fmt: skip
"""How a question begins that goes on with something."""

ALONE = frozenset({"why", "no", "more"})
"""Beginnings that count only if nothing else, or a pause, follows: "Why?", "No, the first list"."""

POLITE = _set(
    "oh ok okay wow hmm well yes yeah thanks thank great nice cool good interesting sorry right please hi hello"
)
"""What may stand before a question without belonging to it."""

COURTESIES = _set(
    """thanks thank you very much so great nice cool hi hello hey bye goodbye cheers
    danke vielen dank tschüss hallo merci beaucoup au revoir bonjour gracias muchas adiós hola"""
)
"""A question of nothing but these asks nothing."""

QUESTION_WORDS = _set("who what when where why how which is are was were does do did can could")

AUXILIARIES = _set(
    "is are was were be been do does did can could will would should may might must has have had isn't aren't don't"
)

SMALL = _set(
    """what's who's where's how's there's i'm i'd i've we're you're don't doesn't didn't isn't aren't wasn't weren't
    can't couldn't won't ever yes ok okay oh wow thanks thank hi hello sorry mean really well meant one ones us many
    much something anything everything nothing"""
)
"""Words that say nothing, beside the stop words."""

_GENERAL = """
type kind sort form variety version class category style range series set unit piece
cause reason effect side symptom sign treatment treat cure cured treatable diagnosis risk benefit advantage disadvantage
pro con difference similarity relationship relation role impact influence importance significance implication purpose
function use usage used using useful example sample feature property characteristic component part element aspect factor
step stage phase process method way technique option alternative choice solution problem issue challenge source goal
objective application contribution opinion review rating score figure detail information info fact tip rule requirement
cost price fee salary pay paid value amount number total average size level rate percentage weight height width length
dimension colour color margin revenue warranty battery shipping delivery stock return availability sector
origin history background beginning start started begin began end ended founded established built build created create
developed develop development invented invent discovered discover published publish released release written write wrote
name term meaning definition idea concept theory argument criticism finding result outcome study test experiment
main major key basic general common popular famous important well-known known successful powerful typical
best better good bad worst worse great big bigger biggest large larger largest small smaller smallest long longer
longest short shorter shortest old older oldest new newer newest young younger youngest high higher highest low lower
lowest cheap cheaper cheapest expensive fast faster fastest slow slower easy easier easiest hard harder difficult strong
weak safe safety dangerous effective efficient reliable legal illegal free worth
first second third last next previous recent modern current original official traditional specific different related
special interesting possible available public private local global international national natural positive negative top
bottom nearby back due responsible
happen happened happening work worked working make made making get got take took taken come came go going went gone give
gave given find found keep need needed want help look live lived change changed compare compared comparison differ
describe explain show list mention mentioned talk think become became die died born married appear appeared play played
win won lose lost spread increase increased decrease improve prevent avoid affect affected add remove edit buy sell
order check
people person place thing time year day month week world age area region city town country system team group member
company author creator inventor founder leader owner character theme book movie film song band event activity project
model tool service product item brand material ingredient page file line row column popularity success failure often far
"""
GENERAL = frozenset(stem(word) for word in _GENERAL.split())
"""Words that say little without the thing that they belong to: types, symptoms, the cheapest. Compared as stems."""

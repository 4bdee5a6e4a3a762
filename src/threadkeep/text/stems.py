"""Words without their plural endings, so that "phones" in a question and "phone" in an answer are one word."""


def stem(word: str) -> str:
    """Return a word in lower case without an English plural or possessive ending; other words as they are."""
    word = word.lower().replace("\u2019", "'").removesuffix("'s")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word

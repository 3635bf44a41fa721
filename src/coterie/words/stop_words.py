"""English words that carry no topic: the only place where such lists are kept."""

from __future__ import annotations

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

# What is left of a contraction when it is split at the apostrophe: don't -> don, t.
_CONTRACTION_LEFTOVERS = frozenset({
    "ain", "aren", "couldn", "didn", "doesn", "don", "hadn", "hasn", "haven", "im", "isn", "ive", "ll", "mustn",
    "needn", "re", "shouldn", "ve", "wasn", "weren", "won", "wouldn",
})  # fmt: skip

STOP_WORDS: frozenset[str] = frozenset(ENGLISH_STOP_WORDS | _CONTRACTION_LEFTOVERS)
"""Words that vocabularies leave out: scikit-learn's list and the leftovers of contractions."""

FUNCTION_WORDS: frozenset[str] = frozenset({
    "a", "about", "above", "across", "after", "again", "against", "all", "almost", "also", "although", "always",
    "am", "among", "an", "and", "any", "anyone", "anything", "are", "aren't", "around", "as", "at", "be", "because",
    "been", "before", "being", "below", "between", "both", "but", "by", "can", "can't", "cannot", "could",
    "couldn't", "did", "didn't", "do", "does", "doesn't", "doing", "don't", "done", "down", "during", "each",
    "either", "else", "enough", "etc", "even", "ever", "every", "everyone", "everything", "few", "for", "from",
    "further", "had", "hadn't", "has", "hasn't", "have", "haven't", "having", "he", "he's", "her", "here", "hers",
    "herself", "him", "himself", "his", "how", "however", "i", "i'd", "i'll", "i'm", "i've", "if", "in", "instead",
    "into", "is", "isn't", "it", "it's", "its", "itself", "just", "least", "less", "let", "let's", "like", "may",
    "maybe", "me", "might", "mine", "more", "most", "much", "must", "my", "myself", "neither", "never", "no",
    "nobody", "none", "nor", "not", "nothing", "now", "of", "off", "often", "on", "once", "one", "only", "onto",
    "or", "other", "others", "our", "ours", "ourselves", "out", "over", "own", "per", "perhaps", "please", "quite",
    "rather", "really", "same", "shall", "she", "she's", "should", "shouldn't", "since", "so", "some", "someone",
    "something", "still", "such", "than", "that", "that's", "the", "their", "theirs", "them", "themselves", "then",
    "there", "there's", "these", "they", "they're", "this", "those", "though", "through", "thus", "to", "too",
    "toward", "towards", "under", "unless", "until", "up", "upon", "us", "very", "via", "was", "wasn't", "we",
    "we're", "we've", "well", "were", "weren't", "what", "what's", "whatever", "when", "where", "whether", "which",
    "while", "who", "whom", "whose", "why", "will", "with", "within", "without", "won't", "would", "wouldn't",
    "yet", "you", "you'd", "you'll", "you're", "you've", "your", "yours", "yourself",
})  # fmt: skip
"""Words that keywords leave out and augmenters do not replace: articles, pronouns, prepositions, auxiliaries."""

_PARTICLES = frozenset({"down", "off", "out", "up"})
# After most verbs "in" is a preposition: chosen in the menu.
_VERBS_WITH_IN = frozenset({"log", "logged", "logging", "sign", "signed", "signing"})

_CONTRACTED = ("n't", "'d", "'ll", "'m", "'re", "'ve")
# Contractions as people type them: dont, im. Two of them are also words of their own.
_WITHOUT_APOSTROPHE = frozenset(word.replace("'", "") for word in FUNCTION_WORDS if "'" in word) - {"id", "ill"}


def is_function_word(word: str) -> bool:
    """Return whether ``word``, in lower case, is a function word or a contraction with one."""
    return word in FUNCTION_WORDS or word in _WITHOUT_APOSTROPHE or word.endswith(_CONTRACTED)


def is_particle(word: str, verb: str) -> bool:
    """Return whether a function word changes the meaning of the verb before it: top up, turn off, log in."""
    return word in _PARTICLES or (word == "in" and verb in _VERBS_WITH_IN)

"""Recognition of texts that are no credential, although the name of the value ends in a word of credentials.

A credential that a service issues is random text: it is neither a number, nor words, nor the name of a file, nor a URL.
Passwords are chosen by people, so that nothing of this shows that a text is no password.
"""

import re
from collections.abc import Collection

_LONGEST = 128
"""Maximum length of a text that is read as words or as a name of a file."""
_NUMBER = re.compile(r"[+-]?\d{1,9}(\.\d{1,9})?(%|[a-z]{1,2}|[KMGT]i?B?)?")
"""A short number, also with a unit."""
_IN_BRACKETS = re.compile(r"(<[^<>\s]{1,64}>[ ,]{0,2}){1,16}|\[/?[A-Za-z_]{1,32}\]")
"""Tokens of a tokenizer, such as `</think>`, `<|im_end|>` and `[IMG]`."""
_PLACEHOLDER = re.compile(r"<[^<>\r\n]{1,128}>")
"""Text that a user is to replace, such as `<your token>`."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,63}://\S+")
_FILE = re.compile(r"(?P<start>~|\.{1,2})?(?P<root>/)?([A-Za-z0-9._-]{1,64}/){0,16}[A-Za-z0-9._-]{1,64}")
_WORD = re.compile(r"[A-Z]?[a-z]{1,15}([A-Z][a-z]{1,15}){0,3}|[A-Z]{2,16}")
_SHORT = re.compile(r"[a-z0-9]{1,4}|[A-Z0-9]{1,3}")
"""Part of a text of words that is no word itself, such as `x`, `v2`, `s3` or a number."""
_BETWEEN_WORDS = re.compile(r"[-_.:/, ]+")
_SHORTEST_RANDOM = 10
_RUN = re.compile(rf"[A-Za-z0-9+/=_]{{{_SHORTEST_RANDOM},}}")
_CLASSES = (re.compile("[0-9]"), re.compile("[a-z]"), re.compile("[A-Z]"))


def is_placeholder(text: str) -> bool:
    """Return whether a text is in angle brackets: it stands for a missing value, or is a token of a tokenizer."""
    return _PLACEHOLDER.fullmatch(text) is not None


def is_random(text: str) -> bool:
    """Return whether a text looks random: digits, capitals and small letters in a run of ten or more characters."""
    return any(all(pattern.search(run) for pattern in _CLASSES) for run in _RUN.findall(text))


def is_issued(text: str, files: Collection[str], *, may_be_words: bool) -> bool:
    """Return whether a service may have issued a text as a credential.

    `files` are the ends of the names of files. If `may_be_words` is false, words are taken for a credential as well.
    """
    if _NUMBER.fullmatch(text) or _IN_BRACKETS.fullmatch(text) or _URL.fullmatch(text) or _is_file(text, files):
        return False
    return not (may_be_words and _is_words(text))


def _is_file(text: str, files: Collection[str]) -> bool:
    """Return whether a text is the path of a file: absolute, below a folder, or with a usual end."""
    if len(text) > _LONGEST:
        return False
    path = _FILE.fullmatch(text)
    if path is None or is_random(text.replace("/", " ")):
        return False
    is_below_folder = bool(path["root"]) or (path["start"] is not None and "/" in text)
    return is_below_folder or text.rpartition(".")[2].lower() in files


def _is_words(text: str) -> bool:
    """Return whether a text consists of words, and of at most as many short parts: `x-user-id`, `store`, `tls-v2`."""
    if len(text) > _LONGEST:
        return False
    parts = [part for part in _BETWEEN_WORDS.split(text) if part]
    words = [part for part in parts if _WORD.fullmatch(part)]
    others = [part for part in parts if not _WORD.fullmatch(part)]
    return len(others) <= len(words) and all(_SHORT.fullmatch(part) for part in others)

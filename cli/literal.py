"""Text in Markdown of GitHub and GitLab that stays text: plain words are written as they are, all else as code.

A forge makes links of a name after `@`, of a number after `#`, `!`, `$` or `GH-`, of a URL and of a commit, whether or
not Markdown escapes stand there: it looks for them in the text of the finished page, but not in code. Neither Markdown
nor HTML has a meaning in code.

Sources: github/cmark-gfm, extensions/autolink.c, extensions/table.c; GitHub documentation, Autolinked references and
URLs; gitlabhq/gitlabhq, lib/banzai/filter/references/reference_filter.rb (ignore_ancestor_query),
lib/banzai/filter/emoji_filter.rb (IGNORED_ANCESTOR_TAGS), app/models/integrations/ewm.rb (reference_pattern).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

_PLAIN = re.compile(
    r"[^\W\d_]+(['’][^\W\d_]+)?"  # a word
    r"|[+-]?\d{1,6}(,\d{3}){0,3}(\.\d{1,6})?(%|[^\W\d_]{1,3})?"  # a number, with its unit
    r"|[·→×…–—+%=-]?"  # a sign alone
)
"""Texts between two spaces, without punctuation around them, that mean nothing to a forge."""
_REVISION = re.compile(r"[0-9a-f]{7}", re.IGNORECASE)
"""Shortest part of a commit's hash that forges link (gitlabhq/gitlabhq, app/models/commit.rb, reference_pattern)."""
_BEFORE_REFERENCE = frozenset({"bug", "task", "item", "workitem", "rtcwi", "defect"})
"""Words before a number that GitLab links to a tracker of issues."""
_OPENING = "('"
_CLOSING = ")'.,;:?…"
"""Punctuation that stays outside of code. A quotation mark after `%` would begin the name of a milestone in GitLab."""
_PAIRS = {")": "(", "'": "'"}
"""Punctuation that belongs to the text before it if that text has the other half."""
_LONGEST_FENCE = 80
"""Longest fence that every parser reads (github/cmark-gfm, src/inlines.c, MAXBACKTICKS)."""


@dataclass(frozen=True, slots=True)
class _Token:
    """Part of a text between two spaces."""

    opening: str
    core: str
    closing: str
    is_plain: bool


def literal(text: str, *, in_table: bool = False, begins_line: bool = False) -> str:
    """Return a line of text as Markdown that shows the text unchanged, and in which nothing is a tag or a link.

    In a table, `|` is escaped. At the beginning of a line, signs and numbers are code, because they might begin a list.
    """
    written = " ".join(_spans(list(_tokens(text, begins_line=begins_line))))
    if in_table:
        return written.replace("|", "\\|")
    return written


def _tokens(text: str, *, begins_line: bool) -> Iterator[_Token]:
    before = ""
    is_first = begins_line
    for part in text.split(" "):
        opening, core, closing = _split(part)
        is_cited = before in _BEFORE_REFERENCE and core[:1].isdigit()
        is_plain = _PLAIN.fullmatch(core) is not None and not _REVISION.search(core) and not is_cited
        if is_first and part and not (is_plain and core[:1].isalpha()):
            yield _Token("", part, "", is_plain=False)
        else:
            yield _Token(opening, core, closing, is_plain)
        is_first = is_first and not part
        before = core.lower()


def _split(part: str) -> tuple[str, str, str]:
    """Return punctuation before a text, the text, and punctuation after it."""
    rest = part.lstrip(_OPENING)
    opening = part[: len(part) - len(rest)]
    core = rest
    while core and core[-1] in _CLOSING and not _is_pair(core):
        core = core[:-1]
    return opening, core, rest[len(core) :]


def _is_pair(core: str) -> bool:
    """Tell whether the last character of a text closes what the text itself has opened."""
    opening = _PAIRS.get(core[-1])
    if opening is None:
        return False
    others = core.count(core[-1], 0, -1)
    if opening == core[-1]:
        return others % 2 == 1
    return core.count(opening) > others


def _spans(tokens: list[_Token]) -> Iterator[str]:
    """Yield plain tokens as they are, and neighbouring other tokens as one code span."""
    run = list[_Token]()
    for token, following in zip(tokens, (*tokens[1:], None), strict=True):
        if token.is_plain:
            yield f"{token.opening}{token.core}{token.closing}"
            continue
        run.append(token)
        if following is None or following.is_plain or token.closing or following.opening:
            content = " ".join(member.core for member in run)
            yield f"{run[0].opening}{_code(content)}{token.closing}"
            run = []


def _code(content: str) -> str:
    """Return a code span. Its fence is a number of backticks that occurs nowhere in the content."""
    used = {len(ticks) for ticks in re.findall("`+", content)}
    length = next(length for length in count(1) if length not in used)
    if length > _LONGEST_FENCE:
        return _code(content.replace("`", "'"))
    space = ""
    if content.startswith(("`", " ")) or content.endswith(("`", " ")):
        space = " "
    return f"{'`' * length}{space}{content}{space}{'`' * length}"

"""Harmless texts of public repositories are taken; credentials of known shapes and names are refused, by their row."""

import string
import time
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from models import credentials
from tests.support.stacks import mistakes, tree

CLEAR = "holds a credential in clear"
HARMLESS = yaml.load(Path(__file__).with_name("harmless.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
MADE_UP = yaml.load(Path(__file__).with_name("credentials.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
CHARACTERS = {
    "digits": string.digits,
    "hex": "0123456789abcdef",
    "letters": string.ascii_letters,
    "lower": string.digits + string.ascii_lowercase,
    "mixed": string.ascii_letters + string.digits,
    "upper": "234567" + string.ascii_uppercase,
}
RANDOM = "Zx9Qm3Lk7Pw2"


def assembled(parts):
    """Return a text of parts. A part `{kind: number}` is so many characters of a kind, as if at random."""
    return "".join(
        part if isinstance(part, str) else _characters(*next(iter(part.items())))
        for part in (str(part) if isinstance(part, int) else part for part in parts)
    )


def _characters(kind, number):
    known = CHARACTERS[kind]
    return "".join(known[(position * 29 + position // len(known) * 5 + 17) % len(known)] for position in range(number))


SHAPES = [(row, assembled(parts)) for row, samples in MADE_UP["shapes"].items() for parts in samples]
NAMES = [(row, name, assembled(parts)) for row, samples in MADE_UP["names"].items() for name, parts in samples.items()]
TEXTS = [assembled(parts) for parts in MADE_UP["texts"]]


def in_clear(service):
    """Return the lines of a stack's error that tell of credentials."""
    return [line for line in mistakes(tree(qwen=service)) if CLEAR in line]


@pytest.fixture
def altered(monkeypatch):
    """Yield a function that alters the table of credentials for the rest of the test."""

    def alter(**fields):
        table = replace(credentials._table(), **fields)
        credentials._words_of.cache_clear()
        monkeypatch.setattr(credentials, "_table", lambda: table)

    yield alter
    credentials._words_of.cache_clear()


@pytest.mark.parametrize("source", HARMLESS["variables"])
def test_variables_of_public_repositories_are_taken(source):
    """See defects HF1."""
    assert in_clear({"engine": {"env": HARMLESS["variables"][source]}}) == []


@pytest.mark.parametrize("source", HARMLESS["flags"])
def test_flags_of_public_repositories_are_taken(source):
    """See defects HF1."""
    flags = HARMLESS["flags"][source]
    assert in_clear({"engine": {"args": [f"{flag}={value}" for flag, value in flags.items()]}}) == []
    assert in_clear({"engine": {"args": [text for pair in flags.items() for text in pair]}}) == []


def test_there_are_more_than_two_hundred_of_them():
    assert sum(len(rows) for tables in HARMLESS.values() for rows in tables.values()) > 200


@pytest.mark.parametrize(("name", "value"), MADE_UP["harmless"].items())
def test_a_harmless_value_under_the_name_of_a_credential_is_taken(name, value):
    """See defects HF1."""
    reference = {"secretKeyRef": {"name": "keys", "key": "API_KEY"}}
    assert in_clear({"engine": {"env": {"API_KEY": reference, name: value}}}) == []


@pytest.mark.parametrize(("row", "text"), SHAPES)
def test_a_text_of_the_shape_of_a_credential_is_refused_and_never_shown(row, text):
    """See defects H13."""
    for service in (
        {"engine": {"env": {"SOME": text}}},
        {"pod": {"annotations": {"note": text}}},
        {"engine": {"args": [f"--some={text}"]}},
        {"route": {"setHeaders": {"x-some": text.partition("\n")[0]}}},
    ):
        (line,) = in_clear(service)
        assert text not in line
    assert text not in credentials.hide(f"a message with {text}")


@pytest.mark.parametrize(("row", "text"), SHAPES)
def test_without_its_row_such_a_text_is_taken(altered, row, text):
    """A control: each row of the table is needed. See defects H13."""
    removed = [shape for shape in credentials._table().shapes if shape.what != row]
    altered(shapes=tuple(removed))
    assert not credentials.has_shape(text)


def test_every_row_of_the_shapes_has_such_a_text():
    assert {shape.what for shape in credentials._table().shapes} == set(MADE_UP["shapes"])


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("place", ["env", "annotations"])
def test_a_setting_in_a_text_is_refused_by_its_name(place, text):
    """See defects H13."""
    service = {"engine": {"env": {"SOME": text}}} if place == "env" else {"pod": {"annotations": {"note": text}}}
    (line,) = in_clear(service)
    assert text not in line


@pytest.mark.parametrize("parts", MADE_UP["texts"], ids=str)
def test_a_message_hides_the_value_of_a_setting_and_nothing_else(parts):
    """See defects H13."""
    values = [assembled([part]) for part in parts if isinstance(part, dict)]
    hidden = credentials.hide(assembled(parts))
    assert not any(value in hidden for value in values)
    assert hidden.startswith(parts[0])


@pytest.mark.parametrize(("row", "name", "value"), NAMES)
def test_a_variable_is_refused_by_its_name_and_its_value(row, name, value):
    """See defects H13."""
    (line,) = in_clear({"engine": {"env": {name: value}}})
    assert value not in line


@pytest.mark.parametrize(("row", "name", "value"), NAMES)
def test_without_its_words_such_a_variable_is_taken(altered, row, name, value):
    """A control: the words of the table are needed. See defects H13."""
    words = credentials._table().words
    altered(words={text: word for text, word in words.items() if text != row})
    assert not credentials.is_credential(name, value)


def test_all_words_have_such_a_variable():
    assert set(credentials._table().words) == set(MADE_UP["names"])


@pytest.mark.parametrize("field", ["harmless", "tails", "switches", "files"])
def test_every_text_of_the_other_tables_is_needed(altered, field):
    """A control: without a text, what the text is about is judged otherwise. See defects H13, HF1."""
    samples = {
        "harmless": lambda text: (f"X_{text}", RANDOM),
        "tails": lambda text: (f"API_KEY{text}", RANDOM),
        "switches": lambda text: ("API_KEY", text),
        "files": lambda text: ("SSL_KEY", f"tls1a.{text}"),
    }
    is_expected = field == "tails"
    texts = getattr(credentials._table(), field)
    for text in texts:
        sample = samples[field](text)
        altered(**{field: texts})
        assert credentials.is_credential(*sample) is is_expected, sample
        altered(**{field: type(texts)(other for other in texts if other != text)})
        assert credentials.is_credential(*sample) is not is_expected, sample


@pytest.mark.parametrize("keys", ["labels", "annotations"])
def test_a_label_or_annotation_with_the_name_of_a_credential_is_refused_only_with_random_text(keys):
    """See defects H13. Such a name is often that of a Secret."""
    assert in_clear({"pod": {keys: {"example.com/token": "basic-auth", "auth-secret": "s3-creds"}}}) == []
    assert len(in_clear({"pod": {keys: {"example.com/api-key": RANDOM}}})) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Basic authentication",
        "The API key: it is in the Secret, token: none",
        "services.qwen.engine.env.DB_PASSWORD: holds a credential in clear; put it into an existing Secret",
        "write {secretKeyRef: {name: ..., key: ...}} and --api-key=$(API_KEY)",
        "--set prometheus.tlsConfig.cert.secret.key=tls.key",
        "http://[::1]:8080/a@b",
        "http://registry.example:5000/a/b@sha256:0",
    ],
)
def test_prose_and_references_are_left_alone(text):
    """See defects HF1."""
    assert not credentials.has_shape(text)
    assert credentials.hide(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        "a=",
        "password=",
        'token":"',
        '"token": [ ',
        "{token: b,",
        "  - token: b\n",
        "token: |\n ",
        "A://",
        "sig=",
        "Basic a",
    ],
)
def test_a_search_takes_time_in_proportion_to_the_length(piece):
    """See defects H13."""
    took = list[float]()
    for length in (100_000, 400_000):
        text = piece * (length // len(piece))
        begin = time.process_time()
        credentials.has_shape(text)
        took.append(time.process_time() - begin)
    assert took[1] < 8 * took[0] + 0.05


def test_a_harmless_name_ends_in_a_word_of_credentials():
    """See defects B1. Only such a name needs to be listed."""
    table = credentials._table()
    assert all(credentials._words_of(f"X_{word}") for word in table.words)
    assert not any(credentials._words_of(f"X_{name}") for name in table.harmless)
    assert all(any(name.endswith(f"_{word}") for word in table.words) for name in table.harmless)

"""Go's templates in LLMInferenceServiceConfigs."""

import pytest

from migration import go_templates
from migration.go_templates import UnknownActionError

VALUES = {"ObjectMeta": {"Name": "chat"}, "GlobalConfig": {"EnableTLS": False, "Header": "x-model"}}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("plain", "plain"),
        ("a {{ .ObjectMeta.Name }} b", "a chat b"),
        ("{{ ChildName .ObjectMeta.Name `-epp` }}", "chat-epp"),
        ('{{ ChildName .ObjectMeta.Name "-epp" }}', "chat-epp"),
        ("{{ if .GlobalConfig.EnableTLS }}HTTPS{{else}}HTTP{{- end }}", "HTTP"),
        ("{{ if .GlobalConfig.Header }}a{{ if .GlobalConfig.EnableTLS }}b{{ end }}c{{ end }}", "ac"),
        ("a  {{- if .GlobalConfig.EnableTLS }} --tls {{- end }} z", "a z"),
        ("a {{ .ObjectMeta.Name -}}   z", "a chatz"),
    ],
)
def test_an_action_becomes_its_value(text: str, filled: str) -> None:
    """Values, names of children, conditions and trimmed spaces."""
    assert go_templates.fill(text, VALUES) == filled


@pytest.mark.parametrize(
    "text",
    [
        "{{ .ObjectMeta.Namespace }}",
        "{{ kvTransferConfig .Spec.KVCacheOffloading }}",
        "{{ end }}",
        "{{ if .GlobalConfig.Header }}a",
        "{{ range .Items }}a{{ end }}",
    ],
)
def test_an_unknown_action_is_refused(text: str) -> None:
    """Neither a value that is missing nor another function becomes an empty text."""
    with pytest.raises(UnknownActionError):
        go_templates.fill(text, VALUES)


def test_a_part_that_is_not_taken_needs_no_values() -> None:
    """Go evaluates the branch that is taken, and no other."""
    assert go_templates.fill("{{ if .GlobalConfig.EnableTLS }}{{ .Missing }}{{ end }}b", VALUES) == "b"


def test_a_name_that_is_too_long_has_a_digest() -> None:
    """A name of a child has at most 63 characters, and the suffix stays whole."""
    name = go_templates.child_name("a" * 60, "-inference-pool")
    assert len(name) == go_templates.LONGEST
    assert name.startswith("a" * 16)
    assert name.endswith("-inference-pool")
    assert go_templates.child_name("a" * 48, "-inference-pool") == "a" * 48 + "-inference-pool"


@pytest.mark.parametrize("text", ["{{", "{{ a", "{{-", "}}{{ "])
def test_spaces_after_an_action_without_an_end_take_no_time(text: str) -> None:
    """A text of this length took hours."""
    assert go_templates.fill(text + " " * 50_000, VALUES) == text + " " * 50_000

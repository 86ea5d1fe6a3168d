"""The comparison of the README's sample with a run notices what is missing, added or moved."""

import pytest

from tests.support import sample

SAMPLE = """\
Pulumi.dev.yaml describes 2 objects:
  Namespace                   models
  …
✓ control plane (8.7 s)
   +  kubernetes:core/v1:Namespace namespace-models created (0.16s)
   …
    warning: there is no such Gateway
✓ pulumi up of Pulumi.dev.yaml (8.1 s)

models      qwen-decode-6cfdcfd946-mw4z6   1/1     Running   3s    gpu-h100-1
"""


PRINTED = """\
Pulumi.dev.yaml describes 2 objects:
  Namespace                   models
  Deployment          models  qwen-decode
… control plane (about 10 s)
  control plane (15 s of about 10 s)
✓ control plane (12.0 s)
   +  kubernetes:core/v1:Namespace namespace-models created (1s)
   +  kubernetes:apps/v1:Deployment qwen-decode created (2s)
    warning: there is no such Gateway
✓ pulumi up of Pulumi.dev.yaml (9.9 s)
models   qwen-decode-5b8f7c6d4f-abcde   1/1   Running   12s   gpu-l40s-0
"""


def test_times_hashes_and_places_are_no_difference():
    assert list(sample.differences(SAMPLE, PRINTED)) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("    warning: there is no such Gateway\n", "", "is not printed: warning: there is no such Gateway"),
        ("✓ control plane", "warning: late\n✓ control plane", "is not in the sample: warning: late"),
        ("2 objects", "3 objects", "is not printed: Pulumi.dev.yaml describes 2 objects:"),
        ("Namespace  ", "Secret     ", "is not printed: Namespace models"),
        ("1/1", "0/1", "is not printed: models qwen-decode-HASH 1/1 Running AGE NODE"),
    ],
)
def test_another_line_is_a_difference(old, new, expected):
    assert expected in sample.differences(SAMPLE, PRINTED.replace(old, new))


def test_another_order_is_a_difference():
    lines = PRINTED.splitlines()
    moved = "\n".join([*lines[1:], lines[0]])
    assert list(sample.differences(SAMPLE, moved)) == ["the order is another"]


def test_the_readme_has_samples():
    for heading in (sample.UP, sample.TRY):
        assert "✓ pulumi up of Pulumi.dev.yaml" in sample.written(heading)

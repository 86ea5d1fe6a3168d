"""Moves of the keys of a mapping into the mapping that holds it."""

import pytest

from models import engine_yaml
from models.paths import Path
from models.yaml_edits import UneditableError
from models.yaml_moves import fold

QWEN = Path("services", "qwen")
LEFT_OUT = ("weight", "replicas")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        pytest.param(
            "services:\n  qwen:\n    model: {source: old}   # served\n    # tried\n    canary:\n      weight: 100\n"
            "      model:\n        source: new # better\n  bert: {}\n",
            "services:\n  qwen:\n    model: {source: new}   # served\n    # tried\n  bert: {}\n",
            id="a scalar of a mapping in block style",
        ),
        pytest.param(
            "services:\n  qwen:\n    replicas: 3\n"
            "    canary: {weight: 100, engine: {image: x, args: [a, b]}, replicas: 1}\n",
            "services:\n  qwen:\n    engine: {image: x, args: [a, b]}\n    replicas: 3\n",
            id="a new key of a mapping in block style",
        ),
        pytest.param(
            "services:\n  qwen:\n    canary: {weight: 100, a: 1, b: 2}\n    replicas: 3\n",
            "services:\n  qwen:\n    a: 1\n    b: 2\n    replicas: 3\n",
            id="the first key",
        ),
        pytest.param(
            "services: {qwen: {model: {source: old}, canary: {weight: 100, model: {source: new}}, replicas: 3}}\n",
            "services: {qwen: {model: {source: new}, replicas: 3}}\n",
            id="braces",
        ),
        pytest.param(
            "services: {qwen: {model: {source: old}, canary: {weight: 100, model: {source: new, size: 1Gi}}}}",
            "services: {qwen: {model: {size: 1Gi, source: new}}}",
            id="the last key in braces",
        ),
        pytest.param(
            "services:\n  qwen:\n    args: [a]\n    canary:\n      args: [b,\n        c]\n      image: y\n",
            None,
            id="a list of several lines",
        ),
        pytest.param(
            "services:\n  qwen:\n    a: 1\n    canary:\n      weight: 100\n      pod:\n        labels: {x: y}\n",
            None,
            id="a block",
        ),
        pytest.param("services: {qwen: {a: &a 1, canary: {b: *a}}}", None, id="an alias"),
        pytest.param("services:\n  qwen:\n    a: 1\n    canary:\n      b: |-\n        x\n", None, id="a text of lines"),
        pytest.param("x: &x {b: 1}\nservices: {qwen: {a: 1, canary: *x}}", None, id="an alias of the whole"),
        pytest.param("services: {qwen: {a: 1}}", None, id="nothing to move"),
    ],
)
def test_keys_move_and_everything_else_stays(text, result):
    if result is None:
        with pytest.raises(UneditableError):
            fold(text, QWEN, "canary", LEFT_OUT)
        return
    assert fold(text, QWEN, "canary", LEFT_OUT) == result
    engine_yaml.parse(result, "")

"""Text of `policy/README.md`, from the table of rules. Write it with `python -m policy.readme > policy/README.md`."""

import json
import sys
from collections.abc import Iterator

from policy.rules.records import Parameter, PolicyRule
from policy.rules.table import RULES

_HEAD = """\
# Policy pack

`python -m policy.readme` writes this page.

Rules of a platform team for inference stacks, and for raw Kubernetes objects of other programs. The same rules run in
a preview, on the state of a stack, and without an engine. The pack imports nothing of the program but
[the reader of its outputs](../reader), so it judges programs that are older or changed: copy `policy` and `reader`.

## Run it

```sh
make policy                                                 # the embedded stack: a preview, and its state
.venv/bin/python -m cli policy prod --config policy/strict.json   # a stack, without an engine
.venv/bin/python -m cli policy --rendered objects.yaml            # objects of any program
```

`make policy` deploys [Pulumi.dev.yaml](../Pulumi.dev.yaml) on the embedded control plane if it is not deployed, and
installs the packages of `policy/requirements.txt` into an environment of the pack, in the cache; it asks no account and
no service of Pulumi. For another engine, such as that of a pipeline with a backend of its own:

```sh
python3 -m venv /opt/inference-policy
/opt/inference-policy/bin/pip install --require-hashes -r policy/requirements.txt
export INFERENCE_POLICY_PYTHON=/opt/inference-policy/bin/python PATH="$PATH:$PWD/policy"
pulumi preview --policy-pack policy --policy-pack-config policy/strict.json
pulumi policy analyze --stack prod --policy-pack policy     # what is deployed, without program and cluster
```

`PulumiPolicy.yaml` names no language, so the engine starts `pulumi-analyzer-policy-inference-policy` from `PATH`. The
environment is its own, because `pulumi-policy` needs an older protobuf than the program. The pack ends with its engine,
even if the engine is killed.

The exit code is 1 if a mandatory rule is violated. A value that a preview does not know gives a question, which begins
with `can't tell`; a question is never a pass, and ends no run.
"""
_LEVELS = """\
## Configure it

A JSON file, which `--policy-pack-config` and `cli policy --config` take, has a level or an object for each rule. Levels
are `mandatory`, `advisory` and `disabled`; `all` is the level of the rules that the file does not name.
[strict.json](strict.json) is an example; a comment `# policy:` in our [examples](../examples) names the rules of it
that an example does not keep.

```json
{"image-digests": "mandatory", "device-budget": {"devices": 64, "scopes": [{"label": "team=search", "devices": 8}]}}
```
"""
_LIMITS = """\
## Limits

- No rule sees the state before a run: whether a change interrupts a service is said by `cli summarize`.
- Patches of objects of others (`DeploymentPatch`) and Helm Releases are opaque: their objects are not judged.
- Advisories of vLLM count as far as the arguments of a container tell; the program itself judges all of their
  conditions (`checks.advisories`).
"""


def text() -> str:
    """Return the page."""
    rows = "".join(f"{row}\n" for row in _rows())
    parameters = "".join(f"{row}\n" for row in _parameters())
    head = "| Rule | Refuses | Reads | Level |\n|---|---|---|---|\n"
    second = "| Parameter | Meaning | Default |\n|---|---|---|\n"
    return f"{_HEAD}\n## Rules\n\n{head}{rows}\n## Parameters\n\n{second}{parameters}\n{_LEVELS}\n{_LIMITS}"


def _rows() -> Iterator[str]:
    for rule in RULES:
        yield f"| `{rule.name}` | {rule.refuses} | {rule.reads} | {rule.level} |"


def _parameters() -> Iterator[str]:
    for rule in RULES:
        for parameter in rule.parameters:
            yield _row(rule, parameter)


def _row(rule: PolicyRule, parameter: Parameter) -> str:
    default = "–"
    if parameter.default is not None:
        default = f"`{json.dumps(parameter.default)}`"
    return f"| `{rule.name}.{parameter.name}` | {parameter.about} | {default} |"


if __name__ == "__main__":
    sys.stdout.write(text())

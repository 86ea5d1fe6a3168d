"""The pack as Pulumi's engine runs it: an analyzer that judges resources by the table of rules.

`pulumi-policy` describes the rules to the engine. Its analyzer reads the properties of every resource anew for every
rule, and has no word for a question about all resources together; `Analyzer` reads them once, and reports questions as
advisory.
"""

from collections.abc import Iterator
from typing import Any

import pulumi_policy
from google.protobuf import json_format
from pulumi.runtime import proto
from pulumi_policy import policy as sdk

from policy import properties
from policy.rules import judging
from policy.rules.records import PolicyFinding, PolicyRule
from policy.rules.settings import ConfiguredRule
from policy.rules.table import RULES

NAME = "inference-policy"
_LEVELS = {level.value: level for level in pulumi_policy.EnforcementLevel}
_WORDS = {level: word for word, level in _LEVELS.items()}


class Analyzer(sdk._PolicyAnalyzerServicer):  # noqa: SLF001, the version is pinned
    """The analyzer of `pulumi-policy`, with rules that read the properties of a resource once."""

    def Analyze(self, request: Any, _context: object) -> Any:  # noqa: ANN401, N802, the protocol's
        """Judge a resource by itself, before the engine makes or changes it."""
        response = proto.AnalyzeResponse()
        item = properties.kubernetes_object(request.type, request.urn, _properties(request))
        if item is not None:
            for configured in self._rules():
                for finding in dict.fromkeys(judging.of_object(item, configured)):
                    self._report(response, configured, finding, request.urn)
        return response

    def AnalyzeStack(self, request: Any, _context: object) -> Any:  # noqa: ANN401, N802, the protocol's
        """Judge all resources together."""
        response = proto.AnalyzeResponse()
        resources = [(resource.type, resource.urn, _properties(resource)) for resource in request.resources]
        view = properties.view(resources)
        # The engine ends with a panic after a finding without a URN (pulumi 3.230).
        urns = [contract.urn for contract in view.contracts] or [urn for _, urn, _ in resources]
        for configured in self._rules():
            for finding in dict.fromkeys(judging.of_view(view, configured)):
                self._report(response, configured, finding, urns[0])
        return response

    def _rules(self) -> Iterator[ConfiguredRule]:
        """Yield the rules as the engine has configured them, without those that are disabled."""
        for rule in RULES:
            level = _WORDS[self._get_enforcement_level(_POLICIES[rule.name])]
            parameters = properties.plain(self._get_policy_config(rule.name) or {})
            if level != "disabled":
                yield ConfiguredRule(rule, level, {**rule.defaults, **parameters})

    def _report(self, response: Any, configured: ConfiguredRule, finding: PolicyFinding, urn: str) -> None:  # noqa: ANN401
        level = _LEVELS["advisory"]
        if finding.is_known:
            level = _LEVELS[configured.level]
        response.diagnostics.append(
            proto.AnalyzeDiagnostic(
                policyName=configured.rule.name,
                policyPackName=NAME,
                message=str(finding),
                urn=finding.urn or urn,
                description=f"Refuses {configured.rule.refuses}.",
                enforcementLevel=self._map_enforcement_level(level),
            )
        )


def _properties(resource: Any) -> dict[str, Any]:  # noqa: ANN401, a message of the protocol
    return properties.plain(json_format.MessageToDict(resource.properties))


def _policy(rule: PolicyRule) -> pulumi_policy.Policy:
    """Return the description of a rule for the engine."""
    schema = pulumi_policy.PolicyConfigSchema({parameter.name: dict(parameter.schema) for parameter in rule.parameters})
    return pulumi_policy.StackValidationPolicy(
        name=rule.name,
        description=f"Refuses {rule.refuses}.",
        validate=lambda _args, _report: None,
        enforcement_level=_LEVELS[rule.level],
        config_schema=schema,
    )


_POLICIES = {rule.name: _policy(rule) for rule in RULES}


def serve() -> None:
    """Serve the pack to the engine until the engine ends it. The first line of the output is the port."""
    sdk._PolicyAnalyzerServicer = Analyzer  # noqa: SLF001, the version is pinned
    pulumi_policy.PolicyPack(NAME, [*_POLICIES.values()])

"""The table of all rules."""

from typing import Any

from policy.rules import devices, images, metadata, presence, routes, security, versions
from policy.rules.records import Parameter, PolicyRule
from policy.rules.trees import Tree

_TEXTS: Tree = {"type": "array", "items": {"type": "string"}}
_COUNT: Tree = {"type": "integer", "minimum": 0}
_NAMESPACES = Parameter("namespaces", "namespaces in which the rule holds; empty: all", _TEXTS, [])


def _with_scopes(about: str, name: str, schema: Tree, default: object = None) -> tuple[Parameter, ...]:
    """Return a parameter and its scopes. Without a default, the rule has nothing to say where none is stated."""
    properties: dict[str, Any] = {"namespace": {"type": "string"}, "label": {"type": "string"}, name: schema}
    scope = {"type": "object", "properties": properties, "required": [name], "additionalProperties": False}
    text = f"values of {name} for a namespace, for a label with a value (team=search), or for both"
    return (
        Parameter(name, about, schema, default),
        Parameter("scopes", text, {"type": "array", "items": scope}, []),
    )


RULES: tuple[PolicyRule, ...] = (
    PolicyRule(
        name="image-digests",
        refuses="images without a digest",
        reads="images of all containers, and image volumes",
        of_object=images.image_digests,
        level="advisory",
    ),
    PolicyRule(
        name="image-registries",
        refuses="images from registries that are not allowed",
        reads="images of all containers, and image volumes",
        of_object=images.image_registries,
        parameters=(Parameter("registries", "allowed registries, or folders of them; empty: all", _TEXTS, []),),
    ),
    PolicyRule(
        name="locked-sources",
        refuses="models whose content neither the lock nor their source pins",
        reads="`model` in the contract, arguments of containers that fetch",
        of_object=images.fetched_sources,
        of_view=images.locked_sources,
        level="advisory",
    ),
    PolicyRule(
        name="allowed-accelerators",
        refuses="devices that are not allowed",
        reads="`gpus.class` in the contract, limits, device classes of claims",
        of_view=devices.allowed_accelerators,
        parameters=_with_scopes(
            "allowed accelerator classes, resources and device classes; absent: all", "accelerators", _TEXTS
        ),
    ),
    PolicyRule(
        name="device-budget",
        refuses="more devices than the budget, with the highest numbers of replicas",
        reads="`gpus.max` in the contract, limits, claims, autoscalers",
        of_view=devices.device_budget,
        parameters=_with_scopes("highest number of devices; absent: any", "devices", _COUNT),
    ),
    PolicyRule(
        name="replicas-max",
        refuses="workloads with more replicas than the maximum",
        reads="replicas, autoscalers",
        of_view=devices.replicas_max,
        parameters=_with_scopes("highest number of replicas of a workload; absent: any", "replicas", _COUNT),
    ),
    PolicyRule(
        name="money",
        refuses="devices that cost more in a month of 730 hours than the budget",
        reads="`gpus` in the contract",
        of_view=devices.money,
        parameters=(
            Parameter(
                "prices",
                "price of a device for an hour by accelerator class",
                {"type": "object", "additionalProperties": {"type": "number"}},
                {},
            ),
            *_with_scopes("highest price in a month; absent: any", "perMonth", {"type": "number", "minimum": 0}),
        ),
    ),
    PolicyRule(
        name="canary-share",
        refuses="canaries with more than a share of the requests",
        reads="`canary.weight` in the contract, weights of HTTPRoutes of others",
        of_object=routes.canary_weights,
        of_view=routes.canary_share,
        parameters=(Parameter("percent", "highest share", {"type": "number", "minimum": 0, "maximum": 100}, 50),),
    ),
    PolicyRule(
        name="public-routes",
        refuses="routes on public Gateways that no policy protects",
        reads="parents and filters of routes, SecurityPolicies, AuthorizationPolicies",
        of_view=routes.public_routes,
        parameters=(Parameter("gateways", "public Gateways, as namespace/name", _TEXTS, []),),
    ),
    PolicyRule(
        name="restricted-pods",
        refuses="pods that the Pod Security level restricted does not admit",
        reads="pod templates",
        of_object=security.restricted_pods,
        parameters=(Parameter("exempt", "namespaces in which the rule does not hold", _TEXTS, []),),
    ),
    PolicyRule(
        name="no-patch",
        refuses="patches of rendered objects, which no key of the configuration checks",
        reads="`patched` of every variant in the contract",
        of_view=security.no_patch,
        level="advisory",
    ),
    PolicyRule(
        name="no-trust-remote-code",
        refuses="engines that run code of model repositories",
        reads="arguments and variables of containers",
        of_object=security.no_trust_remote_code,
    ),
    PolicyRule(
        name="no-credentials-in-args",
        refuses="credentials as text in pods",
        reads="arguments and variables of containers",
        of_object=security.no_credentials_in_args,
    ),
    PolicyRule(
        name="network-policies",
        refuses="pods that no NetworkPolicy selects",
        reads="NetworkPolicies beside each workload",
        of_view=presence.network_policies,
        level="advisory",
        parameters=(_NAMESPACES,),
    ),
    PolicyRule(
        name="disruption-budgets",
        refuses="workloads of several replicas without a PodDisruptionBudget",
        reads="PodDisruptionBudgets beside each workload",
        of_view=presence.disruption_budgets,
        level="advisory",
        parameters=(_NAMESPACES,),
    ),
    PolicyRule(
        name="two-pickers",
        refuses="pools with a single endpoint picker",
        reads="InferencePools, Services and Deployments of their pickers",
        of_view=presence.two_pickers,
        level="advisory",
        parameters=(_NAMESPACES,),
    ),
    PolicyRule(
        name="metrics-auth",
        refuses="endpoint pickers that show their metrics to everybody",
        reads="arguments of endpoint pickers",
        of_object=presence.metrics_auth,
        parameters=(_NAMESPACES,),
    ),
    PolicyRule(
        name="required-labels",
        refuses="workloads without required labels",
        reads="labels of workloads",
        of_object=metadata.required_labels,
        parameters=(
            Parameter(
                "labels",
                "allowed values by label; an empty list allows any value",
                {"type": "object", "additionalProperties": _TEXTS},
                {},
            ),
        ),
    ),
    PolicyRule(
        name="namespace-owner",
        refuses="Namespaces without an owner",
        reads="labels and annotations of Namespaces",
        of_object=metadata.namespace_owner,
        parameters=(
            Parameter("key", "label or annotation with the owner; empty: none is needed", {"type": "string"}, ""),
        ),
    ),
    PolicyRule(
        name="release-allowed",
        refuses="release channels that are retired, or not in the list",
        reads="`release` of every variant in the contract",
        of_view=versions.release_allowed,
        parameters=(Parameter("releases", "allowed releases; empty: all that are not retired", _TEXTS, []),),
    ),
    PolicyRule(
        name="engine-versions",
        refuses="versions of vLLM that are too old, or that published advisories affect",
        reads="images and arguments of engines",
        of_object=versions.engine_versions,
        level="advisory",
        parameters=(
            Parameter("minimum", "oldest version", {"type": "string", "pattern": r"^\d+(\.\d+)*$"}, "0"),
            Parameter(
                "severity",
                "lowest severity of advisories that count",
                {"type": "string", "enum": list(versions.SEVERITIES)},
                "high",
            ),
        ),
    ),
    PolicyRule(
        name="no-wildcards",
        refuses="Roles that permit everything",
        reads="Roles and ClusterRoles",
        of_object=security.no_wildcards,
    ),
    PolicyRule(
        name="fail-open-reason",
        refuses="pools that fail open without a reason",
        reads="InferencePools",
        of_object=routes.fail_open_reason,
    ),
)
"""All rules, in the order of reports."""
BY_NAME = {rule.name: rule for rule in RULES}

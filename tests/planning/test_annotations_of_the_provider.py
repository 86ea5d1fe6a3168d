"""Annotations that Pulumi's provider obeys are this program's, wherever users may write annotations."""

import json

import pytest

from tests.support.stacks import find, rendered, tree
from tests.support.stacks.shapes import told

OBEYED = (
    *("autonamed", "skipAwait", "waitFor", "timeoutSeconds", "replaceUnready", "patchFieldManager"),
    "deletionPropagationPolicy",
)
"""pulumi-kubernetes v4.25.0, provider/pkg/metadata/annotations.go, without patchForce."""
PLACES = {
    "annotations": lambda written: {"annotations": written},
    "pod.annotations": lambda written: {"pod": {"annotations": written}},
    "route.annotations": lambda written: {"route": {"annotations": written}},
    "endpointPicker.pod.annotations": lambda written: {"endpointPicker": {"pod": {"annotations": written}}},
    "patch.metadata.annotations": lambda written: {"patch": {"metadata": {"annotations": written}}},
    "patch.spec.template.metadata.annotations": lambda written: {
        "patch": {"spec": {"template": {"metadata": {"annotations": written}}}}
    },
    "endpointPicker.patch.metadata.annotations": lambda written: {
        "endpointPicker": {"patch": {"metadata": {"annotations": written}}}
    },
    "canary.annotations": lambda written: {"canary": {"weight": 10, "annotations": written}},
    "prefill.pod.annotations": lambda written: {"prefill": {"pod": {"annotations": written}}},
}


@pytest.mark.parametrize("name", OBEYED)
@pytest.mark.parametrize("place", PLACES)
def test_an_annotation_that_the_provider_obeys_is_refused(place, name):
    """See defects H14."""
    (message,) = told(tree(qwen=PLACES[place]({f"pulumi.com/{name}": "true"})))
    assert message.startswith(f"services.qwen.{place}.pulumi.com/{name}: is obeyed by Pulumi's provider")


def test_a_patch_cannot_remove_what_a_run_waits_for():
    """See defects H14."""
    patch = {"metadata": {"annotations": {"pulumi.com/waitFor": None}}}
    (message,) = told(tree(qwen={"patch": patch, "endpointPicker": {"replicas": 2}}))
    assert "patch.metadata.annotations.pulumi.com/waitFor: is obeyed" in message


def test_annotations_of_profiles_are_refused_before_anybody_selects_them():
    """See defects H14."""
    profile = {
        "model": "a",
        "type": "optimized",
        "deviceCount": 1,
        "source": "https://example.com/a",
        "service": {"accelerator": "nvidia", "pod": {"annotations": {"pulumi.com/skipAwait": "true"}}},
    }
    (message,) = told(tree() | {"catalogue": {"profiles": {"fast": profile}}})
    assert message.startswith("catalogue.profiles.fast.service.pod.annotations.pulumi.com/skipAwait: is obeyed")


def test_users_may_have_conflicts_reported_and_may_name_domains_that_look_alike():
    written = {"pulumi.com/patchForce": "false", "pulumi.company/skipAwait": "true"}
    deployment = find(rendered(tree(qwen={"annotations": written})), "Deployment", "qwen-decode")
    assert written.items() <= deployment["metadata"]["annotations"].items()
    assert "skipAwait" not in json.dumps(deployment).replace("pulumi.company/skipAwait", "")

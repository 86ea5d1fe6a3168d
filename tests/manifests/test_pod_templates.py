"""Pod templates are found in every kind that has some, whatever a patch made of an object."""

import pytest

from manifests import pod_templates
from models.paths import Path

POD = {"spec": {"containers": [{"name": "one"}]}, "metadata": {"annotations": {"a": "b"}}}
GROUP_PLACES = [("spec", "leaderWorkerTemplate", name) for name in ("leaderTemplate", "workerTemplate")]
GROUP = {"leaderWorkerTemplate": {"leaderTemplate": POD, "workerTemplate": POD}}


@pytest.mark.parametrize(
    ("spec", "places"),
    [
        ({"template": POD}, [("spec", "template")]),
        (
            GROUP,
            [("spec", "leaderWorkerTemplate", "leaderTemplate"), ("spec", "leaderWorkerTemplate", "workerTemplate")],
        ),
        ({"template": {"spec": "no pod"}}, []),
        ({"ports": []}, []),
        (None, []),
    ],
)
def test_templates_are_found_where_their_kinds_have_them(spec, places):
    templates = [*pod_templates.templates({"kind": "Any", "spec": spec})]
    assert [template.at for template in templates] == [Path(*place) for place in places]
    assert all(template.annotations == {"a": "b"} and template.spec == POD["spec"] for template in templates)


def test_containers_come_with_their_paths():
    pod = {"initContainers": [{"name": "first"}], "containers": [{"name": "second"}, "none", {"name": "third"}]}
    named = [(str(at), container["name"]) for at, container in pod_templates.containers(pod)]
    assert named == [("initContainers[0]", "first"), ("containers[0]", "second"), ("containers[1]", "third")]
    assert [*pod_templates.containers({"containers": "none"})] == []

"""Paths from templates: aim-engine's vectors (9.6), and what holds of every path.

Where we differ on purpose the test says so: there is no UID and no status before anything exists, and a value that is
not there is an error instead of another path.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planning.routes.templates import TemplateError, path
from tests.support.stacks import find, rendered
from tests.support.stacks.routed import (
    paths,
    route,
    routed,
)

RECORD = {
    "metadata": {
        "name": "demo",
        "namespace": "Testing",
        "labels": {
            "team": "platform",
            "empty": "",
            "dots": "a.b_c",
            "slash": "a/b",
            "aim.silogen.ai/workload-id": "Workload-42",
        },
        "annotations": {"route.suffix": "Team-A/B", "dd": "../x", "sp": " a b ", "q": "a?b=c", "ae": ""},
    },
    "spec": {
        "model": {"name": "Meta/Llama-3-8B"},
        "replicas": 3,
        "insecure": True,
        "share": 0.5,
        "hosts": ["one", "two"],
        "single": {"key": "value"},
    },
}
VECTORS = {
    "/": "/",
    "/foo/": "/foo",
    "/{.metadata.namespace}/{.metadata.name}": "/testing/demo",
    "/{ .metadata.name }": "/demo",
    "/{$.metadata.name}": "/demo",
    "/{@.metadata.name}": "/demo",
    "/{.metadata.labels['team']}/inference": "/platform/inference",
    '/{.metadata.labels["team"]}': "/platform",
    "/{.metadata.labels.team}": "/platform",
    "/{.metadata.labels['empty']}": "/",
    "/{.metadata.labels['dots']}": "/a-b-c",
    "/{.metadata.labels['slash']}": "/a-b",
    "/{.metadata.namespace}/{.metadata.labels['aim.silogen.ai/workload-id']}/": "/testing/workload-42",
    "/{.metadata.annotations['route.suffix']}": "/team-a/b",
    "/{.metadata.annotations['dd']}": "/x",
    "/{.metadata.annotations['sp']}": "/a-b",
    "/{.metadata.annotations['q']}": "/a-b-c",
    "/{.metadata.annotations['ae']}/x": "/x",
    "/a/{.metadata.labels['empty']}/b": "/a/b",
    "/{.spec.model.name}": "/meta-llama-3-8b",
    "/{.spec.replicas}": "/3",
    "/{.spec.insecure}": "/true",
    "/{'lit'}": "/lit",
    "/pre-{.metadata.name}-post": "/pre-demo-post",
    "/rc/{.metadata.name}": "/rc/demo",
}
"""Templates and what aim-engine makes of them."""
WRITTEN = {
    "/OpenAI/v1": "/OpenAI/v1",
    "/v1.0/x_y": "/v1.0/x_y",
    "/my-model/": "/my-model",
    "/a~b/!$&'()*+,;=:@": "/a~b/!$&'()*+,;=:@",
    "/v1.{.metadata.name}/Chat": "/v1.demo/Chat",
    "/" + "a" * 199: "/" + "a" * 199,
}
"""Templates with text that aim-engine changes."""
LONG = "/" + "/".join(["a" * 63] * 3)
"""192 bytes."""
REFUSED = {
    "   ": "the template: yields an empty path",
    "/{.metadata.labels['missing']}": "{.metadata.labels['missing']}: no label missing",
    "/{.metadata.annotations['nope']}": "{.metadata.annotations['nope']}: no annotation nope",
    "/{.spec.model.image}": "{.spec.model.image}: no model.image",
    "/{.spec.minReplicas}": "{.spec.minReplicas}: no minReplicas",
    "/{.nope}": "{.nope}: no nope",
    "/{.metadata[}": "{.metadata[}: is no path into the service",
    "/{ }": "{ }: has no expression",
    "/{metadata.name}": "{metadata.name}: is no path into the service",
    "/{.metadata.labels.*}": "{.metadata.labels.*}: has 5 values",
    "/{}": "{ }: has no expression",
    "/" + "a" * 200: f"/{'a' * 39}…: 201 bytes of at most 200",
    f"{LONG}/aaaaaaaa": f"/{'a' * 39}…: 201 bytes of at most 200",
}
"""Templates that aim-engine cannot render either; a service there gets another path, and here an error."""
OURS = {
    "foo": "foo: does not begin with '/'",
    "https://x/y": "https://x/y: does not begin with '/'",
    "//": "//: has an empty segment",
    "/a//b///c": "/a//b///c: has an empty segment",
    "/a/./b": "/a/./b: has the segment .",
    "/x/../models": "/x/../models: has the segment ..",
    "/Foo Bar/baz": "/Foo Bar/baz: has ' ', which no path of a route may have",
    "/ünïcode": "/ünïcode: has 'ü', which no path of a route may have",
    "/a%2fb": "/a%2fb: has '%', which no path of a route may have",
    "/a?b": "/a?b: has '?', which no path of a route may have",
    "/a#b": "/a#b: has '#', which no path of a route may have",
    " /a": " /a: has ' ', which no path of a route may have",
    "/.{'!'}": "/.{'!'}: has the segment .",
    "/a\\b": "/a\\b: has '\\\\', which no path of a route may have",
    "/{.metadata.labels}": "{.metadata.labels}: is neither text nor a number",
    "/{.metadata.uid}": "{.metadata.uid}: no metadata.uid",
    "/{.kind}": "{.kind}: no kind",
    "/{.status.resolvedModel.name}": "{.status.resolvedModel.name}: no status",
    "/{.spec.serviceAccountName}": "{.spec.serviceAccountName}: no serviceAccountName",
}
"""Templates that aim-engine renders, to something that says nothing, that nobody knows beforehand, or that is not what
is written."""
texts = st.text(max_size=220)
places = st.sampled_from(["{.metadata.name}", "{.metadata.annotations['dd']}", "{.spec.model.name}", "{'X y'}", "/"])
templates = st.lists(texts | places, max_size=4).map("".join)


@pytest.mark.parametrize(("template", "expected"), VECTORS.items())
def test_a_template_means_what_aim_engine_makes_of_it(template, expected):
    """See aim-engine 9.6."""
    assert path(template, RECORD) == expected


@pytest.mark.parametrize(("template", "message"), [*REFUSED.items(), *OURS.items()])
def test_b20_a_template_that_cannot_be_rendered_is_an_error_and_no_other_path(template, message):
    """See aim-engine 3.4, 9.6, B20."""
    with pytest.raises(TemplateError) as error:
        path(template, RECORD)
    assert str(error.value) == message


@pytest.mark.parametrize(("template", "expected"), WRITTEN.items())
def test_what_is_written_outside_of_expressions_is_served_as_it_is_written(template, expected):
    """See aim-engine 9.6. See defects H4."""
    assert path(template, RECORD) == expected


def test_a_path_of_200_bytes_is_the_longest():
    """See aim-engine 9.6."""
    assert path(f"{LONG}/aaaaaaa", RECORD) == f"{LONG}/aaaaaaa"


@pytest.mark.parametrize(("count", "fits"), [(3, True), (4, False)])
def test_long_labels_are_segments_of_63_characters(count, fits):
    """See aim-engine 9.6, B31."""
    template = "/".join(f"{{.metadata.labels['l{number}']}}" for number in range(count))
    record = {"metadata": {"labels": {f"l{number}": f"{number}" * 104 for number in range(count)}}}
    if fits:
        assert path(template, record) == "/" + "/".join(f"{number}" * 63 for number in range(count))
    else:
        with pytest.raises(TemplateError, match="256 bytes of at most 200"):
            path(template, record)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("/{.spec.hosts[0]}/{.spec.hosts[1]}", "/one/two"),
        ("/{.spec.hosts[-1]}", "/two"),
        ("/{.spec.single.*}", "/value"),
        ("/{.spec.single[*]}", "/value"),
        ("/{.spec['model']['name']}", "/meta-llama-3-8b"),
        ("/{.spec.share}", "/0-5"),
    ],
)
def test_any_key_of_the_service_can_be_read(template, expected):
    """See aim-engine 3.4."""
    assert path(template, RECORD) == expected


@pytest.mark.parametrize("template", ["/{.spec.hosts[2]}", "/{.spec.hosts[-3]}", "/{.spec.replicas.one}", "/{$}"])
def test_what_is_not_there_is_not_read(template):
    """See aim-engine 3.4."""
    with pytest.raises(TemplateError):
        path(template, RECORD)


def test_only_an_annotation_in_brackets_brings_segments_of_its_own():
    """See aim-engine 3.4."""
    record = {"metadata": {"labels": {"a": "x/y"}, "annotations": {"a": "x/y"}}}
    assert path("/{.metadata.labels['a']}", record) == "/x-y"
    assert path("/{.metadata.annotations['a']}", record) == "/x/y"
    assert path("/{.metadata.annotations.a}", record) == "/x-y"


def attempt(template):
    """Return the path of a template; nothing where it has none, and whoever wrote it is told why."""
    try:
        return path(template, RECORD)
    except TemplateError as error:
        return None if error.why and error.remedy else "a mistake without its remedy"


@given(templates)
def test_every_path_is_one_that_a_gateway_takes(template):
    """See aim-engine 9.6."""
    rendered = attempt(template)
    if rendered is not None:
        assert re.fullmatch(r"/|(/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+", rendered)
        assert not {".", ".."} & {*rendered.split("/")}
        assert len(rendered.encode()) <= 200


@given(templates)
def test_a_path_stays_as_it_is_when_it_is_a_template_itself(template):
    """See aim-engine 9.6."""
    rendered = attempt(template)
    if rendered is not None:
        assert path(rendered, RECORD) == rendered


def test_a_service_is_found_by_its_namespace_and_its_name():
    """See aim-engine 9.6."""
    assert paths(route()) == ["/models/qwen"]


def test_a_service_is_found_by_its_name_and_not_by_its_key():
    stack = routed(service={"name": "chat", "namespace": "search"})
    assert paths(find(rendered(stack), "HTTPRoute", "chat")) == ["/search/chat"]


def test_templates_read_the_service_as_merged():
    stack = routed(matches=[{"path": "/{.metadata.labels['team']}/{.spec.engine.port}/{.spec.model.name}"}])
    stack |= {"labels": {"team": "platform"}, "defaults": {"engine": {"port": 8001}}}
    assert paths(find(rendered(stack), "HTTPRoute", "qwen")) == ["/platform/8001/org-m"]


def test_a_services_label_is_over_the_stacks():
    stack = routed(matches=[{"path": "/{.metadata.labels['team']}"}], service={"labels": {"team": "search"}})
    assert paths(find(rendered(stack | {"labels": {"team": "x"}}), "HTTPRoute", "qwen")) == ["/search"]

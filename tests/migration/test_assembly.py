"""Converted services as one configuration."""

from migration import assembly
from migration.accounts import HIDDEN, Original
from migration.converted import Converted
from migration.fields import FieldRow, FieldTable
from models.paths import Path

TABLE = FieldTable(
    "A kind", "", "", (FieldRow.model_validate({"path": "near", "class": "differs", "reason": "it is only near"}),)
)


def service(key="chat", namespace="ml", documents=(), **stack):
    return Converted(key, {"replicas": 1}, {"namespace": namespace, **stack}, documents)


def test_the_first_service_decides_the_keys_of_the_stack():
    result = assembly.assemble([service(gateway={"name": "a"}), service("code", gateway={"name": "a"})])
    assert result.tree == {
        "namespace": "ml",
        "gateway": {"name": "a"},
        "services": {"chat": {"replicas": 1}, "code": {"replicas": 1}},
    }


def test_other_namespaces_releases_and_gateways_become_keys_of_the_service():
    further = service("code", "search", gateway={"name": "b"}, release="llm-d-0.9")
    tree = assembly.assemble([service(gateway={"name": "a"}, release="llm-d-0.10"), further]).tree
    assert tree["services"]["code"] == {
        "namespace": "search",
        "release": "llm-d-0.9",
        "replicas": 1,
        "route": {"gateway": {"name": "b"}},
    }


def test_a_service_without_a_gateway_has_no_route_in_a_stack_with_one():
    tree = assembly.assemble([service(gateway={"name": "a"}), service("code")]).tree
    assert tree["services"]["code"]["route"] == {"enabled": False}


def test_services_of_one_name_have_keys_with_their_namespaces():
    tree = assembly.assemble([service(), service(namespace="search"), service(namespace="search")]).tree
    assert list(tree["services"]) == ["chat", "chat-search", "chat-2"]
    assert tree["services"]["chat-search"]["name"] == "chat"


def test_a_contradiction_without_a_key_of_the_service_makes_a_note():
    traced = {"tracing": {"endpoint": "http://a:4317"}}
    otherwise = {"tracing": {"endpoint": "http://b:4317", "sampler": "always_on"}}
    result = assembly.assemble([service(observability=traced), service("code", observability=otherwise)])
    assert result.tree["observability"]["tracing"] == {"endpoint": "http://a:4317", "sampler": "always_on"}
    assert [note.key for note in result.notes] == [Path("observability", "tracing", "endpoint")]


def test_assembly_changes_no_service():
    first = service(observability={"tracing": {"endpoint": "http://a:4317"}})
    assembly.assemble([first, service("code", observability={"tracing": {"sampler": "always_on"}})])
    assert first.stack["observability"] == {"tracing": {"endpoint": "http://a:4317"}}


def test_notes_follow_a_service_to_another_key():
    document = Original("a.yaml", {"near": "x"}, TABLE)
    document.text(Path("near"), Path("services", "chat", "replicas"))
    result = assembly.assemble([service(), service(namespace="search", documents=(document,))])
    assert [note.key for note in result.notes] == [Path("services", "chat-search", "replicas")]


def test_the_place_of_a_credential_is_left_out():
    hidden = Converted("chat", {"engine": {"args": ["--seed=1", HIDDEN], "env": {"A": HIDDEN, "B": "1"}}})
    assert assembly.assemble([hidden]).tree["services"]["chat"] == {"engine": {"args": ["--seed=1"], "env": {"B": "1"}}}


def test_observability_of_another_document_is_noted():
    document = Original("code.yaml", {}, TABLE)
    others = [service("chat", observability={"tracing": {"endpoint": "e"}}), service("code", documents=(document,))]
    assembled = assembly.assemble(others)
    assert [(note.file, note.reason) for note in assembled.notes] == [
        ("code.yaml", "observability.tracing: another document states it, and it holds for all services of a stack")
    ]

"""The decision about a whole stack."""

from models.load import load
from models.paths import Path
from planning import deciding
from planning.ground import parts
from planning.ground.order import Id
from planning.resolve import resolve
from tests.support.stacks import NAME, plan, tree, with_copies
from tests.support.stacks.dashboards import drawn


def test_a_decision_needs_no_further_reading():
    stack = with_copies(tree(qwen={"canary": {"weight": 10}}, bert={}))
    resolved = resolve(load(stack).stack)
    assert resolved.release is not None
    decided = deciding.decide(resolved, resolved.release, NAME)
    assert decided.services == plan(stack).services
    assert [service.key for service in decided.services] == ["bert", "qwen"]


def test_the_section_of_a_dashboard_is_that_of_all_dashboards():
    decided = plan(drawn(qwen={}))
    dashboards = Path("observability", "dashboards")
    assert decided.section(Id("qwen", parts.DASHBOARD)) == dashboards
    assert decided.section(Id("/overview", parts.OVERVIEW)) == dashboards


def test_the_namespace_of_dashboards_has_its_place_in_the_configuration():
    decided = plan(drawn({"namespace": "monitoring"}, qwen={}))
    assert decided.namespace_origins["monitoring"] == Path("observability", "dashboards", "namespace")


def test_the_overview_needs_the_namespace_of_the_stack():
    stack = drawn(qwen={"namespace": "search"}) | {"namespaceOptions": {"create": True}}
    assert plan(stack).namespaces == ("models", "search")
    assert plan(tree(qwen={"namespace": "search"}) | {"namespaceOptions": {"create": True}}).namespaces == ("search",)

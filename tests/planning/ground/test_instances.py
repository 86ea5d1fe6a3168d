from models.paths import Path
from models.problems import Problem
from planning.ground.instances import MAIN, Instance


def test_problems_of_the_only_inference_stack_keep_their_paths():
    problem = Problem(Path("services", "qwen"), "is missing")
    assert MAIN.locate([problem]) == [problem]
    assert (MAIN.path, MAIN.provider_name) == (Path(), "cluster")


def test_problems_of_one_of_several_inference_stacks_begin_with_its_name():
    instance = Instance("chat", "chat-")
    (problem,) = instance.locate([Problem(Path("services", "qwen"), "is missing")])
    assert str(problem) == "chat.services.qwen: is missing"
    assert (instance.path, instance.provider_name) == (Path("chat"), "chat-cluster")

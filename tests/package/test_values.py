"""Values as the engine sends them become plain ones, or problems with their paths."""

from google.protobuf import struct_pb2

from models.paths import Path
from package.values import ValueReader
from tests.support.package_process import SIGNATURE, UNKNOWN, output, secret


def read(values, **options):
    """Return the plain values, the texts of the problems and the paths of secrets."""
    struct = struct_pb2.Struct()
    struct.update(values)
    reader = ValueReader()
    plain = reader.mapping(struct.fields, Path(), **options)
    return plain, [f"{problem.path} {problem.what}" for problem in reader.problems], {*map(str, reader.secrets)}


def test_whole_numbers_lose_their_fraction_and_keys_are_sorted():
    plain, problems, _ = read({"b": 3.0, "a": [1.5, True, None, "text", {}]})
    assert repr(plain) == "{'a': [1.5, True, None, 'text', {}], 'b': 3}"
    assert problems == []


def test_a_known_output_is_its_value():
    plain, problems, _ = read({"a": output(value={"b": output(value=2.0, dependencies=["urn"])}, secret=False)})
    assert (plain, problems) == ({"a": {"b": 2}}, [])


def test_values_that_are_missing_leave_no_trace_and_take_their_list_with_them():
    late = "is not known yet, because it is an output of what this run makes"
    plain, problems, _ = read({"a": {"b": UNKNOWN, "c": 1}, "d": [1, output()], "e": output(secret=True)})
    assert plain == {"a": {"c": 1}}
    assert problems == [f"a.b {late}", f"d[1] {late}", "e is a secret"]


def test_secrets_may_stand_where_the_caller_says_so():
    plain, problems, secrets = read({"a": secret({"b": 1}), "c": output(value="x", secret=True)}, secrets=True)
    assert (plain, problems, secrets) == ({"a": {"b": 1}, "c": "x"}, [], {"a", "c"})


def test_assets_archives_and_resources_are_no_values():
    signatures = {
        "asset": "c44067f5952c0a294b673a41bacd8c17",
        "archive": "0def7320c3a5731c473e5ecbe6d01bc7",
        "resource": "5cf8f73096256a8f31e491e813e4eb8e",
        "value of an unknown type": "0",
    }
    _, problems, _ = read({noun: {SIGNATURE: signature, "text": "x"} for noun, signature in signatures.items()})
    assert {problem.partition(" is ")[2].removeprefix("an ").removeprefix("a ") for problem in problems} == {
        *signatures
    }

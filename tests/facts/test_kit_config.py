"""Architecture of a model from the layers of a ModelKit or ModelPack: which are read, and how much of them."""

import gzip
import json

import pytest

from facts import kit_config
from facts import registry as reader
from models.pins import Architecture
from planning.weights.contents import Content
from tests.support.traffic.registries import KIT, PACK, archive, sha256
from tests.support.traffic.weight_servers import transport

CONFIG = {"num_hidden_layers": 36, "hidden_size": 4096, "num_key_value_heads": 8, "torch_dtype": "bfloat16"}
NUMBERS = Architecture.default(layers=36, hidden_size=4096, kv_heads=8, dtype="bfloat16")
TEXT = json.dumps(CONFIG).encode()
TAR, PART = f"{KIT}.model.v1.tar", f"{KIT}.modelpart.v1.tar"
WEIGHTS = b"w" * (2 * 2**20)


def numbers(registry, **more):
    content = reader.content(registry.wanted(**more), transport())
    assert isinstance(content, Content)
    return content.architecture


def asked(registry):
    return [path.rpartition("/")[2] for path, _ in registry.server.seen if "/blobs/" in path]


def test_the_part_that_the_kitfile_names_is_read_and_no_other_layer(registry):
    part, other = archive(**{"config.json": TEXT}), archive(**{"tokenizer.json": b"{}"})
    parts = [{"path": "tokenizer.json", "digest": sha256(other)}, {"path": "config.json", "digest": sha256(part)}]
    kitfile = {"model": {"path": "model.safetensors", "parts": parts}}
    registry.push("v1", [(TAR, 10**12), (PART, other), (PART, part)], kitfile)
    assert numbers(registry) == NUMBERS
    assert asked(registry)[1:] == [sha256(part)]


def test_without_digests_in_the_kitfile_small_layers_are_read(registry):
    registry.push("v1", [(TAR, 10**12), (PART, archive(**{"a.json": b"{}"})), (PART, archive(**{"config.json": TEXT}))])
    assert numbers(registry) == NUMBERS
    assert len(asked(registry)) == 3


@pytest.mark.parametrize("compression", ["", "+gzip"])
def test_of_a_folder_the_beginning_is_read(registry, monkeypatch, compression):
    """Without the bytes of the weights, the archive is broken."""
    files = {"qwen/1_Pooling/config.json": b'{"num_hidden_layers": 1}', "qwen/config.json": TEXT}
    body = archive(**files, **{"qwen/model.safetensors": WEIGHTS})
    body = gzip.compress(body, 0) if compression else body
    monkeypatch.setattr(kit_config, "PREFIX", 2**20)
    registry.push("v1", [(f"{TAR}{compression}", body)])
    assert numbers(registry) == NUMBERS


@pytest.mark.parametrize("form", ["raw", "tar"])
def test_a_modelpack_names_its_files_in_annotations(registry, form):
    body = TEXT if form == "raw" else archive(**{"config.json": TEXT})
    annotations = {"org.cncf.model.filepath": "config.json"}
    layers = [(f"{PACK}.weight.v1.raw", WEIGHTS), (f"{PACK}.weight.config.v1.{form}", body, annotations)]
    registry.push("v1", layers, config=f"{PACK}.config.v1+json")
    assert numbers(registry) == NUMBERS
    assert asked(registry) == [sha256(body)]


def test_the_model_of_another_modelkit_has_the_file(registry):
    kit = f"{registry.server.host}/{registry.repository}"
    registry.push("base", [(TAR, archive(**{"config.json": TEXT}))])
    registry.push("v1", [(PART, archive(**{"adapter.json": b"{}"}))], {"model": {"path": f"{kit}:base"}})
    assert numbers(registry) == NUMBERS


@pytest.mark.parametrize(
    "layer",
    [
        10**9,
        b"no archive",
        archive(**{"config.json": b"{not JSON"}),
        archive(**{"config.json": b'{"a": 1}'}),
        archive(**{"config.json": b" " * (2**20 + 1)}),
        archive(**{"model.safetensors": b"w"}),
    ],
    ids=["no blob", "no archive", "no JSON", "no numbers", "too long", "no file"],
)
def test_an_unreadable_configuration_gives_no_numbers_and_the_digest(registry, layer):
    digest = registry.push("v1", [(TAR, layer)])
    content = reader.content(registry.wanted(), transport())
    assert isinstance(content, Content)
    assert (content.architecture, content.source.partition("@")[2]) == (None, digest)


def test_what_is_not_compressed_as_its_type_says_is_no_error(registry):
    registry.push("v1", [(f"{TAR}+gzip", b"plain")])
    assert numbers(registry) is None


def test_what_pods_do_not_unpack_is_not_read(registry):
    registry.push("v1", [(TAR, b"w"), (f"{KIT}.code.v1.tar", archive(**{"config.json": TEXT}))])
    assert numbers(registry) is None
    assert numbers(registry, layers=("model", "code")) == NUMBERS

"""KV events of an engine, read by the library of llm-d's precise picker.

No registry has a picker with precise prefix caching. The library is that of llm-d-router v0.9; its parameters are those
that the program renders for the picker, and it names pods as the picker does.
"""

import contextlib
import itertools

import pytest
import yaml

from local.report import Report
from local.tools import ensure
from planning.releases import channel, offered_channels
from tests.support.engine.cache_index import CacheIndex
from tests.support.engine.engines import MODEL
from tests.support.stacks import find, rendered, tree
from tests.support.waits import eventually

pytestmark = pytest.mark.engine

PRESET = "precise-prefix-cache"
SERVICE = {"endpointPicker": {"preset": PRESET}}
RELEASE_OF_LIBRARY = "llm-d-0.8"
BLOCK = 64
EVENTS = 5556
TOKENIZES = "--enable-scale-out"
LONGER = 1024
"""Tokens of a block that no picker of the stack has."""


def parameters(**settings):
    """Return the parameters of the plugin that reads events, as rendered."""
    text = find(rendered(tree(qwen=SERVICE) | settings), "ConfigMap", "qwen-epp")["data"]["config.yaml"]
    (plugin,) = (
        plugin for plugin in yaml.safe_load(text)["plugins"] if plugin["type"] == "precise-prefix-cache-producer"
    )
    return plugin["parameters"]


@pytest.fixture(scope="module")
def engine(new_engine):
    return new_engine(SERVICE)


@pytest.fixture(scope="module")
def new_index(engine, tmp_path_factory):
    """Return a function that starts an index which listens to the engine at the port of the picker's configuration."""
    tool = ensure(["cache-index"], Report())["cache-index"]
    with contextlib.ExitStack() as ends:

        def start(changes=None):
            settings = parameters() | (changes or {})
            port = settings["kvEventsConfig"]["podDiscoveryConfig"]["socketPort"]
            pods = {"models/pod": f"tcp://{engine.address}:{port}"}
            index = CacheIndex(tool, tmp_path_factory.mktemp("index") / "index", settings, pods)
            ends.callback(index.end)
            eventually(index.listens, 60)
            return index

        yield start


@pytest.fixture(scope="module")
def index(engine, new_index):
    """Return an index that has seen an event: the first events may come before it has subscribed."""
    index = new_index()
    wait_until_it_hits(engine, index)
    return index


def wait_until_it_hits(engine, index, length=BLOCK, first=0):
    """Ask for prompts, each of `length` times a token from `first` on and one more, until the index has one of them."""
    numbers = itertools.count(first)

    def hits():
        tokens = [next(numbers)] * (length + 1)
        engine.complete(tokens)
        return index.scores(MODEL, tokens)

    eventually(hits, 60)


def tokens_of(engine, prompt):
    """Return the tokens of a prompt as the picker asks for them."""
    answer = engine.ask("/v1/completions/render", {"model": MODEL, "prompt": prompt})
    assert answer.status == 200, answer
    (rendering,) = answer.json
    return rendering["token_ids"]


def pod_of(engine):
    """Return the name of the pod in the picker's list of endpoints."""
    return f"{engine.address}:{engine.port}"


def test_the_library_gets_the_parameters_that_every_release_renders():
    releases = [name for name in offered_channels() if PRESET in channel(name).picker.presets]
    assert len(releases) > 1
    assert RELEASE_OF_LIBRARY in releases
    for release in releases:
        assert parameters(release=release) == parameters(), release
    assert parameters()["tokenProcessorConfig"] == {"blockSizeTokens": BLOCK}
    assert parameters()["kvEventsConfig"]["podDiscoveryConfig"] == {"socketPort": EVENTS}


def test_a_prompt_hits_the_pod_that_served_it_by_as_many_blocks_as_the_engine_reuses(engine, index):
    prompt = "The quick brown fox jumps over the lazy dog. " * 20
    tokens = tokens_of(engine, prompt)
    blocks = len(tokens) // BLOCK
    assert blocks > 2
    assert index.scores(MODEL, tokens) == {}
    first = engine.complete(prompt).json
    assert first["usage"]["prompt_tokens"] == len(tokens)
    eventually(lambda: index.scores(MODEL, tokens) == {pod_of(engine): blocks}, 30)
    again = engine.complete(prompt).json
    assert again["usage"]["prompt_tokens_details"]["cached_tokens"] == blocks * BLOCK


def test_a_prompt_with_the_same_beginning_hits_by_its_beginning_alone(engine, index):
    beginning = [7] * (2 * BLOCK)
    engine.complete(beginning + [8] * BLOCK)
    eventually(lambda: index.scores(MODEL, beginning), 30)
    assert index.scores(MODEL, beginning + [9] * BLOCK) == {pod_of(engine): 2}
    assert index.scores(MODEL, [9] * BLOCK + beginning) == {}


def test_tokens_of_an_answer_are_in_the_index_too(engine, index):
    prompt = [11] * BLOCK
    answer = engine.complete(prompt, max_tokens=2 * BLOCK, ignore_eos=True, return_token_ids=True).json
    tokens = prompt + answer["choices"][0]["token_ids"]
    eventually(lambda: index.scores(MODEL, tokens) == {pod_of(engine): 2}, 30)


def test_another_name_of_the_model_hits_nothing(engine, index):
    tokens = [13] * (2 * BLOCK)
    engine.complete(tokens)
    eventually(lambda: index.scores(MODEL, tokens), 30)
    assert index.scores("/models", tokens) == {}


def test_another_topic_hits_nothing(engine, index, new_index):
    """An index with the right topic that was started later has events, so the other one had time to subscribe."""
    other = new_index({"kvEventsConfig": parameters()["kvEventsConfig"] | {"topicFilter": "events@"}})
    later = new_index()
    wait_until_it_hits(engine, later, first=200)
    tokens = [15] * (2 * BLOCK)
    engine.complete(tokens)
    eventually(lambda: index.scores(MODEL, tokens) and later.scores(MODEL, tokens), 30)
    assert other.scores(MODEL, tokens) == {}


def test_another_size_of_blocks_hits_nothing_until_a_prompt_fills_such_a_block(engine, index, new_index):
    other = new_index({"tokenProcessorConfig": {"blockSizeTokens": LONGER}})
    wait_until_it_hits(engine, other, LONGER, first=20)
    tokens = [17] * (2 * BLOCK)
    engine.complete(tokens)
    eventually(lambda: index.scores(MODEL, tokens), 30)
    assert other.scores(MODEL, tokens) == {}


def test_without_our_flag_the_picker_gets_no_tokens(new_engine):
    other = new_engine(SERVICE, change=lambda container: container["args"].remove(TOKENIZES))
    assert other.ask("/v1/completions/render", {"model": MODEL, "prompt": "The quick"}).status == 404

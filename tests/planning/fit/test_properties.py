"""Properties of every model and device: more memory, shorter contexts and fewer numbers never fit worse."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from models.architecture import Architecture, CacheLayers
from planning.fit import cache, memory
from planning.fit.cache import CacheSetting, Precision
from planning.fit.memory import Devices, Request
from tests.support.examples import share

GI = 2**30
SIZES = st.integers(1, 64)
WINDOWS = st.none() | st.integers(1, 8192)
GROUPS = st.lists(st.builds(dict, layers=SIZES, window=WINDOWS), max_size=2)


@st.composite
def requests(draw):
    """Return a model and how it is served. The batch is set, because vLLM's default depends on the memory."""
    groups = tuple(CacheLayers.default(**each) for each in draw(GROUPS))
    heads = draw(st.sampled_from([8, 16, 40, 64]))
    architecture = Architecture.default(
        layers=draw(SIZES),
        hidden_size=heads * 128,
        intermediate_size=draw(st.integers(1, 32768)),
        heads=heads,
        kv_heads=draw(st.sampled_from([1, 2, 4, 8])),
        vocab_size=draw(st.integers(1, 300_000)),
        cache=groups,
    )
    return Request(
        architecture,
        weights=draw(st.integers(GI, 500 * GI)),
        devices=Devices("nvidia", None, draw(st.integers(8, 200)) * GI),
        tokens=draw(st.integers(1, 200_000)),
        tensor=draw(st.sampled_from([1, 2, 4, 8])),
        batch_tokens=draw(st.sampled_from([512, 2048, 8192])),
        sequences=draw(st.sampled_from([1, 64, 256, 1024])),
    )


@settings(max_examples=share(25))
@given(requests(), st.integers(1, 64))
def test_more_memory_never_stops_fitting(request, more):
    devices = replace(request.devices, memory=request.devices.memory + more * GI)
    before, after = memory.fits(request), memory.fits(replace(request, devices=devices))
    assert after.free >= before.free
    assert after.longest >= before.longest
    assert after.most_sequences >= before.most_sequences


@settings(max_examples=share(25))
@given(requests(), st.integers(1, 100_000))
def test_a_longer_context_never_fits_better(request, more):
    before, after = memory.fits(request), memory.fits(replace(request, tokens=request.tokens + more))
    assert after.free <= before.free
    assert after.most_sequences <= before.most_sequences


@settings(max_examples=share(25))
@given(requests())
def test_the_longest_context_is_the_longest_that_fits(request):
    found = memory.fits(request)
    longest = found.longest
    assert longest == 0 or found.cache_of(longest) <= found.room
    assert longest >= request.tokens or found.cache_of(longest + 1) > found.room


def size(architecture, tokens, width, tensor=1):
    groups = cache.groups(architecture)
    return cache.sequence_bytes(groups, tokens, CacheSetting(Precision(width), tensor=tensor))


@settings(max_examples=share(25))
@given(requests(), st.sampled_from([0.5625, 1, 2]), st.integers(1, 8))
def test_the_cache_grows_with_layers_heads_and_precision(request, width, more):
    architecture, tokens = request.architecture, request.tokens
    before = size(architecture, tokens, width)
    wider = architecture.model_copy(update={"kv_heads": architecture.kv_heads + more})
    groups = [each.model_copy(update={"layers": each.layers + more}) for each in architecture.cache]
    deeper = architecture.model_copy(update={"layers": architecture.layers + more, "cache": tuple(groups)})
    assert size(wider, tokens, width) > before
    assert size(deeper, tokens, width) > before
    assert size(architecture, tokens, width * 2) > before
    assert size(architecture, tokens + more, width) >= before


@settings(max_examples=share(25))
@given(requests())
def test_tensor_beyond_the_heads_saves_no_cache(request):
    architecture, tokens = request.architecture, request.tokens
    heads = architecture.kv_heads
    assert size(architecture, tokens, 2, heads) == size(architecture, tokens, 2, heads * 2)
    if heads > 1:
        assert size(architecture, tokens, 2, heads) < size(architecture, tokens, 2)

"""Buckets at endpoints that only the configuration names are read without an identity."""

import hashlib

import pytest

from facts import public_buckets, s3
from facts.source_sizes import contents
from planning.ground.cluster_facts import Unknown
from planning.weights.sizes import Size, Unusable, Wanted
from tests.support.traffic.sources import put
from tests.support.traffic.weight_servers import ask, s3_error


def test_every_page_of_a_listing_counts(moto, bucket, monkeypatch):
    monkeypatch.setattr(s3, "_PAGE", 2)
    assert ask(Wanted("s3://models/llama", endpoint=moto)) == Size(3210, digest=None)


def test_an_endpoint_of_the_configuration_alone_gets_no_identity_and_nobody_looks_for_one(
    unknown_server, credentials, monkeypatch
):
    """See defects H5. The look-up of credentials may ask the metadata of a machine."""
    monkeypatch.setattr(s3.Clients, "client", None)
    unknown_server.answer = lambda *_: (404, {}, s3_error("NoSuchBucket"))
    assert isinstance(ask(Wanted("s3://models/llama", endpoint=unknown_server.url)), Unusable)
    assert [header for _, header in unknown_server.seen] == [None]


@pytest.mark.parametrize("status", [403, 404, 500])
@pytest.mark.parametrize("body", [b"", b"<html>", s3_error("AccessDenied")])
def test_a_private_endpoint_says_in_one_way_that_it_could_not_be_read(unknown_server, status, body):
    """See defects H5."""
    unknown_server.answer = lambda *_: (status, {}, body)
    found = ask(Wanted("s3://models/llama", endpoint=unknown_server.url))
    assert found == Unknown(
        "neither size nor existence of s3://models/llama was checked: its server could not be read; "
        "list the server in INFERENCE_STACKS_TRUSTED_ENDPOINTS to read why"
    )


def test_an_endless_listing_is_not_read(unknown_server, monkeypatch):
    monkeypatch.setattr(public_buckets, "_LARGEST", 100)
    unknown_server.answer = lambda *_: (200, {}, b"x" * 101)
    assert isinstance(ask(Wanted("s3://models/llama", endpoint=unknown_server.url)), Unknown)


def test_names_of_objects_are_read_as_they_are(bucket, moto):
    put(moto, "odd/a b+c%20ä&.bin", b"x" * 5)
    assert ask(Wanted("s3://models/odd", endpoint=moto)) == Size(5, digest=None)
    (content,) = contents([Wanted("s3://models/odd", endpoint=moto)]).values()
    expected = {"a b+c%20ä&.bin": s3.Object(5, hashlib.md5(b"x" * 5).hexdigest())}
    assert content.digest == s3.listing_digest(expected)

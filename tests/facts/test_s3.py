"""Sizes of weights in a bucket: a real S3 server on loopback, and no failed read taken for "0 bytes"."""

import pytest

from facts import s3
from facts.transport import Run
from planning.ground.cluster_facts import Unknown
from planning.weights.sizes import Size, Unusable, Wanted
from tests.support.traffic.sources import trust
from tests.support.traffic.weight_servers import ask, s3_error


@pytest.mark.parametrize("source", ["s3://models/llama", "s3://models/llama/"])
def test_a_prefix_is_the_sum_of_its_files_and_not_of_a_longer_name(moto, bucket, source):
    assert ask(Wanted(source, endpoint=moto)) == Size(3210, digest=None)


def test_an_archive_alone_under_a_prefix_is_unpacked_to_more(moto, bucket):
    assert ask(Wanted("s3://models/packed", endpoint=moto)) == Size(40, digest=None, packed=True)
    assert ask(Wanted("s3://models/beside", endpoint=moto)) == Size(42, digest=None)


@pytest.mark.parametrize("prefix", ["lla", "hollow", "llama/config.json"])
def test_a_prefix_without_content_is_a_mistake_and_not_0_bytes(moto, bucket, prefix):
    found = ask(Wanted(f"s3://models/{prefix}", endpoint=moto))
    assert isinstance(found, Unusable)
    assert (found.field, found.what) == ("source", f"holds no objects with content (s3://models/{prefix})")


def test_a_bucket_that_does_not_exist_is_a_mistake(moto):
    found = ask(Wanted("s3://nowhere/llama", endpoint=moto))
    assert isinstance(found, Unusable)
    assert found.what == "is in a bucket that does not exist (nowhere)"


@pytest.mark.parametrize("source", ["models/llama", "models/packed", "models/beside", "models/hollow", "nowhere/llama"])
def test_a_trusted_endpoint_is_read_by_boto3_and_answers_alike(moto, bucket, monkeypatch, source):
    """See defects H5. Other endpoints are read without boto3."""
    monkeypatch.setattr(s3, "_PAGE", 2)
    question = Wanted(f"s3://{source}", endpoint=moto)
    anonymous = ask(question)
    monkeypatch.setattr(s3, "PublicBucket", None)
    trust(monkeypatch, moto)
    assert ask(question) == anonymous
    assert isinstance(anonymous, Size | Unusable)


def test_a_region_that_is_not_the_buckets_is_a_mistake_with_the_right_one(server, credentials):
    body = s3_error("AuthorizationHeaderMalformed", Region="eu-north-1")
    server.answer = lambda *_: (400, {"Content-Type": "application/xml"}, body)
    found = ask(Wanted("s3://models/llama", endpoint=server.url, region="eu-west-1"))
    assert found == Unusable("region", "is not the region of the bucket (eu-west-1)", "write eu-north-1")


@pytest.mark.parametrize(("status", "code"), [(403, "AccessDenied"), (401, "Unauthorized"), (400, "ExpiredToken")])
def test_denied_access_is_unknown_because_the_pods_may_have_it(server, credentials, status, code):
    server.answer = lambda *_: (status, {"Content-Type": "application/xml"}, s3_error(code))
    found = ask(Wanted("s3://models/llama", endpoint=server.url))
    assert found == Unknown(
        "neither size nor existence of s3://models/llama was checked: "
        f"access was denied to the user of this program ({code}); the pods may have other rights"
    )


def test_the_ambient_credentials_sign_for_the_wanted_region(server, credentials):
    server.answer = lambda *_: (403, {}, s3_error("AccessDenied"))
    ask(Wanted("s3://models/llama", endpoint=server.url, region="eu-west-1"))
    assert all("Credential=somebody/" in header and "/eu-west-1/s3/" in header for _, header in server.seen)
    assert server.seen


def test_without_credentials_the_request_is_anonymous(server):
    server.answer = lambda *_: (403, {}, s3_error("AccessDenied"))
    ask(Wanted("s3://models/llama", endpoint=server.url))
    assert {header for _, header in server.seen} == {None}


def test_an_ambient_endpoint_is_not_the_pods(server, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert "amazonaws.com" in s3.Clients(Run(1)).client(Wanted("s3://models/llama")).meta.endpoint_url


def test_a_failing_endpoint_is_asked_twice_and_unknown(server, credentials):
    server.answer = lambda *_: (503, {}, s3_error("SlowDown"))
    found = ask(Wanted("s3://models/llama", endpoint=server.url))
    assert isinstance(found, Unknown)
    assert found.reason.endswith("the endpoint answered SlowDown")
    assert len(server.seen) == 2


@pytest.mark.parametrize("body", [b"", b"<ListBucketResult></ListBucketResult>", b"<html>hello"])
def test_an_answer_that_is_no_listing_is_unknown_and_not_empty(server, body):
    server.answer = lambda *_: (200, {"Content-Type": "text/html"}, body)
    assert isinstance(ask(Wanted("s3://models/llama", endpoint=server.url)), Unknown)

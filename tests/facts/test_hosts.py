"""Servers that get an identity, as the environment of the caller says."""

import pytest

from facts import hosts


@pytest.mark.parametrize(
    ("named", "url", "expected"),
    [
        ("", "https://huggingface.co/api/models/a/b", True),
        ("", "https://huggingface.co:443/api", True),
        ("", "https://HuggingFace.co./api", True),
        ("", "http://huggingface.co/api", False),
        ("", "https://huggingface.co:8443/api", False),
        ("", "https://huggingface.co.evil.example/api", False),
        ("", "https://hub.acme.example/api", False),
        ("https://hub.acme.example/", "https://hub.acme.example/api", True),
        ("https://hub.acme.example", "https://huggingface.co/api", True),
        ("https://hub.acme.example", "http://hub.acme.example/api", False),
        ("http://hub.acme.example", "http://hub.acme.example/api", False),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/api", True),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8081/api", False),
        ("hub.acme.example", "https://hub.acme.example/api", False),
    ],
)
def test_the_token_goes_to_the_hub_and_to_the_hub_of_the_environment(monkeypatch, named, url, expected):
    """See defects H2."""
    monkeypatch.setenv("HF_ENDPOINT", named)
    assert hosts.gets_hub_token(url) is expected


def test_no_trust_gives_a_server_the_token(monkeypatch):
    """See defects H2."""
    monkeypatch.setenv(hosts.TRUSTED, "https://minio.acme.example")
    assert not hosts.gets_hub_token("https://minio.acme.example/api")


@pytest.mark.parametrize(
    "endpoint",
    [
        None,
        "https://s3.amazonaws.com",
        "https://s3.eu-central-1.amazonaws.com",
        "https://s3-eu-west-1.amazonaws.com",
        "https://s3.dualstack.us-gov-west-1.amazonaws.com",
        "https://s3-fips.dualstack.us-east-1.amazonaws.com",
        "https://s3-accelerate.amazonaws.com",
        "https://s3.cn-north-1.amazonaws.com.cn",
        "https://bucket.vpce-1a2b3c4d-5e6f.s3.us-east-1.vpce.amazonaws.com",
    ],
)
def test_aws_gets_the_identity_of_aws(endpoint):
    """See defects H5."""
    assert hosts.gets_aws_identity(endpoint)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://s3.amazonaws.com",
        "https://ec2-1-2-3-4.compute-1.amazonaws.com",
        "https://s3.evil.example",
        "https://evil.s3-website-us-east-1.amazonaws.com",
        "https://s3.amazonaws.com.evil.example",
        "https://vpce-1a2b-3c4d.vpce-svc-5e6f.us-east-1.vpce.amazonaws.com",
        "https://a1b2c3.execute-api.us-east-1.amazonaws.com",
        "http://127.0.0.1:9000",
    ],
)
def test_nobody_else_does(endpoint):
    """See defects H5."""
    assert not hosts.gets_aws_identity(endpoint)


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", hosts.TRUSTED])
def test_an_endpoint_of_the_environment_does(monkeypatch, name):
    """See defects H5."""
    monkeypatch.setenv(name, "https://minio.acme.example:9000")
    assert hosts.gets_aws_identity("https://minio.acme.example:9000/")
    assert not hosts.gets_aws_identity("http://minio.acme.example:9000")
    assert not hosts.gets_aws_identity("https://minio.acme.example")


def test_several_endpoints_are_trusted(monkeypatch):
    monkeypatch.setenv(hosts.TRUSTED, " https://a.example, http://b.example:9000 ,")
    trusted = [
        url for url in ("https://a.example", "http://b.example:9000", "https://c.example") if hosts.is_trusted(url)
    ]
    assert trusted == ["https://a.example", "http://b.example:9000"]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("169.254.169.254", True),
        ("169.254.0.1", True),
        ("fe80::1", True),
        ("fe80::1%eth0", True),
        ("fd00:ec2::254", True),
        ("fd00:ec2::23", True),
        ("fd20:ce::254", True),
        ("100.100.100.200", True),
        ("168.63.129.16", True),
        ("::ffff:169.254.169.254", True),
        ("64:ff9b::a9fe:a9fe", True),
        ("2002:a9fe:a9fe::1", True),
        ("169.253.1.1", False),
        ("10.0.0.1", False),
        ("127.0.0.1", False),
        ("fd00:ec3::254", False),
        ("registry.example", False),
    ],
)
def test_link_local_addresses_and_metadata_are_refused(host, expected):
    """See defects H5."""
    assert hosts.is_refused(host) is expected


@pytest.mark.parametrize(
    ("value", "expected"), [("", False), ("0", False), ("False", False), ("true", True), ("on", True)]
)
def test_any_other_word_forbids_requests(monkeypatch, value, expected):
    monkeypatch.setenv(hosts.OFFLINE, value)
    assert hosts.is_offline() is expected

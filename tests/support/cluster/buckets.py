"""State of Pulumi's engine in a bucket of a real S3 server, moto's."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from local.backend import newest
from local.report import Report

REGION = "us-east-1"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "owner", "AWS_SECRET_ACCESS_KEY": "of-owner"}
BACKENDS = ("folder", "bucket")


class Bucket:
    """A bucket in which the engine keeps states."""

    def __init__(self, endpoint: str, name: str) -> None:
        """Make the bucket on a server, `host:port`."""
        self._endpoint = endpoint
        self._name = name
        # These imports take a second, which tests without a bucket do not need.
        import boto3  # noqa: PLC0415
        from botocore.config import Config  # noqa: PLC0415

        session = boto3.Session(aws_access_key_id="owner", aws_secret_access_key="of-owner")
        self._client: Any = session.client(
            "s3", endpoint_url=f"http://{endpoint}", region_name=REGION, config=Config(proxies={})
        )
        self._client.create_bucket(Bucket=name)

    def environment(self) -> Mapping[str, str]:
        """Return the environment variables by which the engine finds the bucket."""
        query = f"endpoint={self._endpoint}&disableSSL=true&s3ForcePathStyle=true&region={REGION}"
        return {"PULUMI_BACKEND_URL": f"s3://{self._name}?{query}", **CREDENTIALS, "NO_PROXY": "127.0.0.1"}

    def latest(self, project: str, stack: str) -> dict[str, Any] | None:
        """Return the newest deployment of a stack; None if there is no such stack."""
        key = f".pulumi/stacks/{project}/{stack}.json"
        try:
            return newest(self._client.get_object(Bucket=self._name, Key=key)["Body"].read().decode())
        except self._client.exceptions.NoSuchKey:
            return None

    def recover(self, project: str, stack: str, report: Report) -> None:
        """Leave everything: who shares a bucket decides what of a killed run stays."""

    def texts(self) -> Iterator[str]:
        """Yield all that the engine keeps in the bucket."""
        for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=self._name):
            for item in page.get("Contents", ()):
                yield self._client.get_object(Bucket=self._name, Key=item["Key"])["Body"].read().decode()


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """Return host and port of an S3 server."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"{host}:{port}"
    server.stop()


@pytest.fixture(scope="session")
def backends(s3: str) -> Mapping[str, Any]:
    """Return functions that make backends: a folder of the engine's own (None), or a bucket of a name."""
    return {"folder": lambda _: None, "bucket": lambda name: Bucket(s3, name)}

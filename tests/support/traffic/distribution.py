"""A real registry on loopback: distribution, as a process of its own, with its storage in memory."""

import http.client
import os
import subprocess
import urllib.parse

from local import processes
from tests.support.traffic.registries import MANIFEST, modelkit, sha256


class Distribution:
    """A registry that runs, and what is pushed to it."""

    def __init__(self, binary):
        command = processes.tied_command([str(binary)])
        self._process = subprocess.Popen(
            command, env={"PATH": os.defpath}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.host = self._process.stdout.readline().strip()
        assert self.host, "the registry does not start"

    def push(self, repository, tag, *layers):
        """Push a ModelKit whose tag moves to it, and return its digest."""
        manifest, blobs = modelkit(layers)
        for digest, blob in blobs.items():
            place = self._ask("POST", f"/v2/{repository}/blobs/uploads/", expected=202).headers["Location"]
            parts = urllib.parse.urlsplit(place)
            query = f"{parts.query}&{urllib.parse.urlencode({'digest': digest})}"
            self._ask("PUT", f"{parts.path}?{query}", blob, "application/octet-stream")
        self._ask("PUT", f"/v2/{repository}/manifests/{tag}", manifest, MANIFEST)
        return sha256(manifest)

    def _ask(self, method, path, body=b"", kind=None, expected=201):
        connection = http.client.HTTPConnection(self.host, timeout=60)
        try:
            connection.request(method, path, body, {} if kind is None else {"Content-Type": kind})
            response = connection.getresponse()
            answer = response.read()
        finally:
            connection.close()
        assert response.status == expected, answer
        return response

    def end(self):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

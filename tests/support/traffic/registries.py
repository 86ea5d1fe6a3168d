"""A stand-in of a registry of ModelKits on loopback: manifests by tag and digest, and blobs."""

import hashlib
import io
import json
import tarfile

from planning.weights.sizes import Wanted

KIT = "application/vnd.kitops.modelkit"
PACK = "application/vnd.cncf.model"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
KITFILE = {"manifestVersion": "1.0.0", "model": {"path": "./weights.safetensors"}}


def sha256(body):
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def modelkit(layers, kitfile=KITFILE, config=f"{KIT}.config.v1+json", **more):
    """Return the manifest of a ModelKit, and its blobs by digest.

    A layer is a media type with its content, or with a size and no content; annotations may follow.
    """
    blob = json.dumps(kitfile).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": config, "digest": sha256(blob), "size": len(blob)},
        "layers": [_described(*layer) for layer in layers],
    }
    contents = (blob, *(layer for _, layer, *_ in layers if isinstance(layer, bytes)))
    return json.dumps(manifest | more).encode(), {sha256(content): content for content in contents}


def _described(kind, layer, annotations=None):
    is_content = isinstance(layer, bytes)
    digest, size = (sha256(layer), len(layer)) if is_content else (sha256(b"layer"), layer)
    return {"mediaType": kind, "digest": digest, "size": size, "annotations": annotations or {}}


def archive(**files):
    """Return a tar archive of files by path, in their order."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archived:
        for path, content in files.items():
            header = tarfile.TarInfo(path)
            header.size = len(content)
            archived.addfile(header, io.BytesIO(content))
    return target.getvalue()


class Registry:
    """Answers of a repository: manifests by tag and digest, and blobs."""

    def __init__(self, server, repository="org/kit"):
        self.server = server
        self.repository = repository
        self.paths = {}
        self.token = None
        self.password = None
        server.answer = self.answer

    def push(self, tag, layers, kitfile=KITFILE, config=f"{KIT}.config.v1+json", **more):
        """Push a ModelKit, and return its digest."""
        base = f"/v2/{self.repository}"
        (body, blobs) = modelkit(layers, kitfile, config, **more)
        answer = (200, {"Content-Type": MANIFEST, "Docker-Content-Digest": sha256(body)}, body)
        self.paths |= {f"{base}/manifests/{tag}": answer, f"{base}/manifests/{sha256(body)}": answer}
        self.paths |= {f"{base}/blobs/{digest}": (200, {}, blob) for digest, blob in blobs.items()}
        return sha256(body)

    def answer(self, path, authorization):
        if path == "/token":
            denied = self.password is not None and authorization != f"Basic {self.password}"
            return (401, {}, b"") if denied else (200, {}, json.dumps({"token": self.token}).encode())
        if self.token is not None and authorization != f"Bearer {self.token}":
            realm = (
                f'Bearer realm="{self.server.url}/token",service="registry",scope="repository:{self.repository}:pull"'
            )
            return 401, {"WWW-Authenticate": realm}, b""
        return self.paths.get(path, (404, {}, b""))

    def digest(self, tag):
        return sha256(self.paths[f"/v2/{self.repository}/manifests/{tag}"][2])

    def wanted(self, version=":v1", **more):
        return Wanted(f"kit://{self.server.host}/{self.repository}{version}", insecure=True, **more)

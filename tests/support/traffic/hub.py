"""A stand-in of a Hugging Face hub on loopback: it answers two paths in the form of the real one.

The forms are those that huggingface_hub 1.25 reads: `/api/models/<name>/revision/<revision>` and
`/<name>/resolve/<commit>/<file>`.
"""

import json

NAMES = ("main", "v1", "refs%2Fpr%2F5")
"""Revisions that every repository has, as they stand in a URL."""


class Hub:
    """Repositories by name; each has a commit, files with their bytes, and a configuration."""

    def __init__(self, server):
        self.server = server
        self.repositories = {}
        self.token = None
        server.answer = self.answer

    def push(self, name, commit, config=None, **files):
        config_file = {} if config is None else {"config.json": len(json.dumps(config))}
        self.repositories[name] = (commit, {**config_file, **files}, config)

    def answer(self, path, authorization):
        if self.token is not None and authorization != f"Bearer {self.token}":
            return 401, {}, b"{}"
        for name, (commit, files, config) in self.repositories.items():
            if path in {f"/api/models/{name}/revision/{revision}" for revision in (*NAMES, commit)}:
                siblings = [{"rfilename": file, "size": size} for file, size in files.items()]
                return 200, {}, json.dumps({"id": name, "sha": commit, "siblings": siblings}).encode()
            if path == f"/{name}/resolve/{commit}/config.json" and config is not None:
                return 200, {}, json.dumps(config).encode()
        return 404, {}, b"{}"

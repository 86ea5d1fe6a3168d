"""Each state of a status has a test in which a real part makes it, or one of a status that a real kubelet wrote."""

import json
import subprocess
import sys

from judging.status import states

COLLECT = """
import json, sys, pytest

class Collector:
    ids = set()

    def pytest_collection_finish(self, session):
        for item in session.items:
            self.ids.update(name for mark in item.iter_markers("states") for name in mark.args)

collector = Collector()
pytest.main(["--collect-only", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[collector])
print(json.dumps(sorted(collector.ids)))
"""
FOLDERS = ("tests/real/status", "tests/judging/status")


def test_each_state_has_a_test_that_makes_it():
    command = [sys.executable, "-c", COLLECT, *FOLDERS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    made = set(json.loads(done.stdout.splitlines()[-1]))
    assert {*states.by_id()} - made == set()
    assert made - {*states.by_id()} == set()

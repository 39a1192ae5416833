"""A Ray cluster: the one that ``RAY_ADDRESS`` names, else one that is started on this machine and ended again.

The nodes of a cluster need this package in the same version.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from xskill.engines import in_order, run_share, shares
from xskill.errors import UsageError, XskillError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ray:
    """A share of the work for each of ``jobs`` processors of the cluster."""

    ray: Any
    """The module, connected."""
    jobs: int

    def map(self, task: Callable[[int], T], n: int) -> list[T]:
        """See :class:`xskill.engines.Engine`."""
        held = self.ray.put(task)  # once a node, however many shares it works on
        remote = self.ray.remote(run_share)
        try:
            results = self.ray.get([remote.remote(held, part) for part in shares(n, self.jobs)])
        except self.ray.exceptions.RayTaskError as error:
            raise error.cause from None  # what the task raised, as the local engine raises it
        except self.ray.exceptions.RayError as error:
            raise XskillError(f"ray: {str(error).splitlines()[0]}") from None
        return in_order(results, n)


@contextmanager
def open_ray(jobs: int | None) -> Iterator[Ray]:
    """Connect, or start a cluster of ``jobs`` processors (None: all); disconnect, or end it, afterwards.

    Raises:
        UsageError: Ray is not installed.
        XskillError: the cluster cannot be reached.
    """
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # the future default: else a warning on stderr
    try:
        ray = import_module("ray")
    except ImportError as error:
        raise UsageError(f"--engine ray needs Ray ({error}): pip install 'xskill-toolkit[ray]'") from None
    quiet = {"include_dashboard": False, "logging_level": "ERROR", "log_to_driver": False}
    started = {} if "RAY_ADDRESS" in os.environ else {"num_cpus": jobs, "address": "local"}
    try:
        ray.init(**quiet, **started)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        raise XskillError(f"ray: no cluster: {str(error).splitlines()[0]}") from None
    try:
        processors = max(1, int(ray.cluster_resources().get("CPU", 1)))
        yield Ray(ray, processors if jobs is None else min(jobs, processors))
    finally:
        ray.shutdown()

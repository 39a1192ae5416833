"""Canonical names for the actions of fresh rollouts, so that they go straight into ``mine``."""

from __future__ import annotations

import msgspec

from xskill.canon.actions.canonicalizer import Canonicalizer
from xskill.canon.actions.profile import detect_profile, load_profile
from xskill.records import Trajectory


class Namer:
    """Fills ``actions`` and ``args`` of trajectories from their steps.

    Args:
        profile: name or file of the profile for all; None = that of each trajectory's environment, else generic.
    """

    def __init__(self, profile: str | None = None) -> None:
        self._fixed = Canonicalizer(load_profile(profile)) if profile is not None else None
        self._by_env: dict[str | None, Canonicalizer] = {}

    def name(self, trajectory: Trajectory) -> Trajectory:
        """The trajectory with canonical actions; it must have its steps."""
        assert trajectory.steps is not None
        canonicalizer = self._fixed or self._for(trajectory.env)
        tokens: list[str] = []
        args: list[list[str]] = []
        for step in trajectory.steps:
            token, values, _ = canonicalizer.action(step.action, kind=step.kind)
            tokens.append(token)
            args.append(list(values))
        return msgspec.structs.replace(trajectory, actions=tokens, args=args)

    def _for(self, env: str | None) -> Canonicalizer:
        if env not in self._by_env:
            self._by_env[env] = Canonicalizer(load_profile(detect_profile(env, [])))
        return self._by_env[env]

"""The profile that turns an episode's raw actions into its tokens: a record does not name it, so it is tried out."""

from __future__ import annotations

from xskill.canon.actions.profile import PROFILE_NAMES, detect_profile
from xskill.records import Trajectory
from xskill.tree.matching import canonicalizer


class Profiles:
    """Finds the profile of each episode; what worked for an environment is tried first for its next episode.

    Args:
        name: a profile (or its file) to take for all episodes, whether or not it reproduces their tokens.

    Raises:
        UsageError: no such profile.
    """

    def __init__(self, name: str | None = None) -> None:
        if name is not None:
            canonicalizer(name)
        self._name = name
        self._worked: dict[str | None, str] = {}

    def of(self, episode: Trajectory) -> str | None:
        """The first profile that reproduces all tokens of the episode; None when no shipped one does."""
        if self._name is not None:
            return self._name
        samples = [(step.kind, step.action) for step in episode.steps or []]
        tried = [self._worked.get(episode.env), detect_profile(episode.env, samples), *PROFILE_NAMES]
        for name in dict.fromkeys(name for name in tried if name is not None):
            if _reproduces(name, episode):
                self._worked[episode.env] = name
                return name
        return None


def _reproduces(name: str, episode: Trajectory) -> bool:
    read, options = canonicalizer(name).action, goal_options(episode)
    return all(
        read(step.action, kind=step.kind, goal_options=options)[0] == token
        for step, token in zip(episode.steps or [], episode.actions, strict=True)
    )


def goal_options(episode: Trajectory) -> dict[str, str] | None:
    """Option name → value that the goal asks for (WebShop), where the log told it."""
    options = episode.extra.get("goal_options")
    if not isinstance(options, dict):
        return None
    return {key: value for key, value in options.items() if isinstance(value, str)} or None

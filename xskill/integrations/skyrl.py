"""The SkyRL environment that rows of ``xskill tree instances --as skyrl`` name.

Register it in the trainer's entry point, before the generator starts::

    from skyrl_gym.envs import register
    register(id="xskill_tree", entry_point="xskill.integrations.skyrl:TreeEnv")
"""

from __future__ import annotations

from typing import Any

from skyrl_gym.envs.base_text_env import (  # type: ignore[import-not-found,unused-ignore]
    BaseTextEnv,
    BaseTextEnvStepOutput,
)

from xskill.errors import BadRecord
from xskill.tree.offline_instances import gold_of, score


class TreeEnv(BaseTextEnv):  # type: ignore[misc,unused-ignore]
    """One turn: the completion is scored against the gold of its row, and the episode ends.

    Raises:
        BadRecord: ``extras`` hold no ``reward_spec.ground_truth`` with the gold of an instance.
    """

    def __init__(self, env_config: Any = None, extras: dict[str, Any] | None = None) -> None:
        super().__init__()
        spec = (extras or {}).get("reward_spec")
        if not isinstance(spec, dict) or "ground_truth" not in spec:
            raise BadRecord("missing; expected the gold of an instance", path="reward_spec.ground_truth")
        self._gold = gold_of(spec["ground_truth"])

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Score the generated text."""
        return BaseTextEnvStepOutput(observations=[], reward=score(self._gold, action), done=True, metadata={})

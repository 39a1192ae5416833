"""A policy without a model that does what its skills say, so that a bank's quality shows in success rates.

It is deterministic and sees the task text, the actions so far with their answers, and what can be done now.
``vocabulary`` knows words, ``wording`` reads skills as steps, ``scene`` reads an episode as deeds, ``binding``
holds a step against a deed, ``progress`` tells how far a skill has come, ``choice`` says what to do next.
"""

from xskill.workers.follower.policy import Follower

__all__ = ["Follower"]

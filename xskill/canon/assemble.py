"""Raw episode → Trajectory: outcome rules, redaction, canonical actions, dense turns.

The rules that hold for every format live here and nowhere else: a claim never becomes success, a
reward of exactly 0 or 1 gives success when nothing else does, ``valid*`` and ``dev`` are ``validation``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, get_args

from xskill.canon.canonicalize import Canonicalizer, Unmatched
from xskill.canon.episode import Place, RawEpisode, RawStep
from xskill.canon.fields import at
from xskill.canon.outcomes import Outcomes
from xskill.canon.profile import detect_profile, load_profile
from xskill.canon.redact import Redactor
from xskill.canon.success import Lookup
from xskill.canon.text import sorted_dumps
from xskill.records import Source, Split, Step, Trajectory

_SPLITS = frozenset(get_args(Split))


@dataclass(frozen=True, slots=True)
class Choices:
    """What the options of the command choose; the same for every record."""

    profile: str | None = None
    success_if: Callable[[Lookup], bool | None] | None = None
    task_type: str | None = None
    outcomes: Outcomes | None = None
    redact: str = "secrets"
    respond: bool = True
    drop: frozenset[str] = frozenset()


class Undecided(Exception):
    """An environment came up for which no profile has been chosen yet (in a worker, which may not choose)."""

    def __init__(self, key: str, samples: list[tuple[str, str]]) -> None:
        super().__init__(key)
        self.key = key
        self.samples = samples


@dataclass(slots=True)
class Counts:
    """What a run counted while assembling; workers' counts are added up."""

    trajectories: int = 0
    steps: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    splits: int = 0


@dataclass(slots=True)
class Assembler:
    """Builds trajectories under fixed choices; keeps one canonicalizer a profile.

    ``decided`` maps an environment (empty = none named) of the current source to its profile; where
    ``may_decide`` is false an environment that is not in it raises :class:`Undecided`.
    """

    choices: Choices
    decided: dict[str, str] = field(default_factory=dict)
    may_decide: bool = True
    counts: Counts = field(default_factory=Counts)
    redactor: Redactor = field(init=False)
    canonicalizers: dict[str, Canonicalizer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.redactor = Redactor(self.choices.redact)

    @property
    def unmatched(self) -> Unmatched:
        """Raw actions that no profile knew, over all profiles used."""
        total = Unmatched()
        for name in sorted(self.canonicalizers):
            total.update(self.canonicalizers[name].unmatched)
        return total

    def trajectory(self, raw: RawEpisode, format_name: str, place: Place) -> Trajectory | None:
        """One trajectory, or None when an option drops the episode (which is counted)."""
        choices = self.choices
        for mark in raw.marks:
            if mark in choices.drop:
                self.counts.dropped[mark] += 1
                return None
        raw_steps = raw.steps
        if not choices.respond:
            raw_steps = [step for step in raw_steps if step.kind != "respond"]
        redact = self.redactor.text
        actions: list[str] = []
        args: list[list[str]] = []
        steps: list[Step] = []
        if raw_steps:
            apply = self._canonicalizer(raw, raw_steps).action
            turns = dense_turns(raw_steps)
            options = raw.options
            for index, step in enumerate(raw_steps):
                kind = step.kind
                if kind == "call":
                    name = redact(step.name or "call")
                    arguments = step.arguments
                    if isinstance(arguments, dict):
                        arguments = self.value(arguments) if arguments else arguments
                        action = f"{name}({sorted_dumps(arguments)})"
                        token, values, _ = apply(action, kind="call", name=name, arguments=arguments, role=step.role)
                    else:
                        text = redact(arguments if isinstance(arguments, str) else sorted_dumps(arguments))
                        action = f"{name}({text})"
                        token, values, _ = apply(action, kind="call", name=name, arguments={"": text}, role=step.role)
                else:
                    action = redact(step.action or "")
                    if kind == "action":
                        token, values, _ = apply(action, role=step.role, goal_options=options)
                    else:
                        token, values, _ = apply(action, kind=kind, role=step.role)
                actions.append(token)
                args.append(list(values))
                observation, thought, extra = step.observation, step.thought, step.extra
                steps.append(
                    Step(
                        action=action,
                        observation=redact(observation) if observation else observation,
                        thought=redact(thought) if thought else None,
                        kind=kind,
                        turn=turns[index] if turns else None,
                        error=step.error,
                        reward=step.reward,
                        logprob=step.logprob,
                        logprob_new=step.logprob_new,
                        n_tokens=step.n_tokens,
                        q=step.q,
                        visits=step.visits,
                        prior=step.prior,
                        extra=self.value(extra) if extra else {},
                    )
                )
        self.counts.trajectories += 1
        self.counts.steps += len(steps)
        return self._finish(raw, format_name, place, actions, args, steps)

    def _finish(
        self,
        raw: RawEpisode,
        format_name: str,
        place: Place,
        actions: list[str],
        args: list[list[str]],
        steps: list[Step],
    ) -> Trajectory:
        redact = self.redactor.text
        extra = dict(raw.extra)
        split: str | None = None
        if raw.split is not None:
            split = split_name(raw.split)
            if split != raw.split:
                extra["split"] = raw.split
        if raw.claim is not None:
            extra["claim"] = raw.claim
        if raw.marks:
            extra["marks"] = list(raw.marks)
        number = place.number if raw.record is None else raw.record
        identity = raw.id
        if identity is None:
            identity = f"{place.stem}-{number}" + (f"-{raw.suffix}" if raw.suffix is not None else "")
        success, reward = raw.success, raw.reward
        choices = self.choices
        if choices.outcomes is not None:
            found = choices.outcomes.find(identity, raw.question_id, extra)
            if found is not None:
                success = found[0] if found[0] is not None else success
                reward = found[1] if found[1] is not None else reward
        task_type = raw.task_type
        if choices.task_type is not None or choices.success_if is not None:
            known: dict[str, Any] = {
                "id": identity, "question_id": raw.question_id, "task": raw.task, "task_type": task_type,
                "env": raw.env, "split": split, "success": success, "reward": reward, "n_steps": len(steps),
                "source": {"format": format_name, "file": place.file, "record": number}, "extra": extra,
            }  # fmt: skip
            if choices.task_type is not None:
                value = _field(known, choices.task_type)
                task_type = task_type if value is None else value if isinstance(value, str) else sorted_dumps(value)
            if choices.success_if is not None:
                verdict = choices.success_if(lambda name: _field(known, name))
                success = success if verdict is None else verdict
        if success is None and reward is not None and reward in (0.0, 1.0):
            success = reward == 1.0
        return Trajectory(
            id=redact(identity),
            question_id=raw.question_id,
            task=redact(raw.task) if raw.task else raw.task,
            task_type=task_type,
            env=raw.env,
            split=split,  # type: ignore[arg-type]
            initial_observation=redact(raw.initial_observation) if raw.initial_observation else None,
            success=success,
            reward=reward,
            actions=actions,
            args=args,
            steps=steps,
            parent=raw.parent,
            source=Source(format=format_name, file=place.file, record=number),
            extra=self.value(extra) if extra else {},
        )

    def value(self, value: Any) -> Any:
        """A JSON value with every string in it redacted."""
        if type(value) is str:
            return self.redactor.text(value)
        if type(value) is dict:
            return {key: self.value(item) for key, item in value.items()}
        if type(value) is list:
            return [self.value(item) for item in value]
        return value

    def _canonicalizer(self, raw: RawEpisode, steps: list[RawStep]) -> Canonicalizer:
        name = self.choices.profile
        if name is None:
            key = raw.env or ""
            name = self.decided.get(key)
            if name is None:
                samples = _samples(steps)
                if not samples:
                    name = "generic"  # responds alone: nothing to decide on, and their token is the same anywhere
                elif not self.may_decide:
                    raise Undecided(key, samples)
                else:
                    name = self.decided[key] = detect_profile(raw.env, samples)
        return self.canonicalizer(name)

    def canonicalizer(self, name: str) -> Canonicalizer:
        """The canonicalizer of a profile, kept for the run."""
        found = self.canonicalizers.get(name)
        if found is None:
            found = self.canonicalizers[name] = Canonicalizer(load_profile(name))
        return found


def _samples(steps: list[RawStep]) -> list[tuple[str, str]]:
    """Kinds and raw texts as profile detection sees them."""
    return [
        (step.kind, f"{step.name}({sorted_dumps(step.arguments)})" if step.kind == "call" else step.action or "")
        for step in steps
        if step.kind != "respond"
    ]


def dense_turns(steps: list[RawStep]) -> list[int] | None:
    """Turn index of each step, 0-based and without gaps; None when every step is a turn of its own."""
    turns: list[int] = []
    previous: int | None = None
    shared = False
    for step in steps:
        if turns and step.turn is not None and step.turn == previous:
            turns.append(turns[-1])
            shared = True
        else:
            turns.append(turns[-1] + 1 if turns else 0)
        previous = step.turn
    return turns if shared else None


def split_name(word: str) -> str | None:
    """``valid*``, ``val`` and ``dev`` are ``validation``; a word that is no split of ours is null."""
    lowered = word.lower()
    if lowered.startswith(("valid", "val", "dev")):
        return "validation"
    return lowered if lowered in _SPLITS else None


def _field(known: dict[str, Any], name: str) -> Any:
    value = at(known, name)
    return at(known["extra"], name) if value is None else value

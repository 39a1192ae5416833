"""Raw episode → Trajectory: outcome rules, redaction, canonical actions, dense turns.

The rules that hold for every format live here and nowhere else: a claim never becomes success, a
reward of exactly 0 or 1 gives success when nothing else does, ``valid*`` and ``dev`` are ``validation``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from xskill.canon.actions.canonicalizer import Canonicalizer
from xskill.canon.actions.profile import detect_profile, load_profile
from xskill.canon.actions.step_tokens import Actions, Sample, samples, set_dense_turns
from xskill.canon.outcome.expression import Lookup, compile_test
from xskill.canon.reading.content_text import sorted_dumps
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import at
from xskill.canon.reading.shop_options import asked_options
from xskill.canon.redact.redactor import Redactor
from xskill.records import Parent, Source, Split, Trajectory

if TYPE_CHECKING:
    from xskill.canon.outcome.joined import Outcome, Outcomes

_SPLITS = frozenset(get_args(Split))


@dataclass(frozen=True, slots=True)
class Choices:
    """What the options of the command choose; the same for every record."""

    profile: str | None = None
    success_if: str | None = None
    """Expression of ``--success-if``."""
    task_type: str | None = None
    outcomes: Outcomes | None = None
    redact: str = "secrets"
    respond: bool = True
    drop: frozenset[str] = frozenset()


class Undecided(Exception):
    """An environment came up for which no profile has been chosen yet (in a worker, which may not choose)."""

    def __init__(self, key: str, sample: list[Sample]) -> None:
        super().__init__(key)
        self.key = key
        self.sample = sample


@dataclass(slots=True)
class Counts:
    """What a run counted while assembling; workers' counts are added up."""

    trajectories: int = 0
    steps: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    joined: int = 0
    """Episodes whose outcome ``--outcomes`` has."""
    fields: set[str] = field(default_factory=set)
    """Fields that ``--success-if`` and ``--task-type`` name and an episode has."""

    def add(self, other: Counts) -> None:
        """Add another's counts."""
        self.trajectories += other.trajectories
        self.steps += other.steps
        self.dropped.update(other.dropped)
        self.joined += other.joined
        self.fields |= other.fields


@dataclass(slots=True)
class Assembler:
    """Builds trajectories under fixed choices; keeps what it learned of each profile's actions.

    ``decided`` maps an environment (empty = none named) of the current source to its profile; where
    ``may_decide`` is false an environment that is not in it raises :class:`Undecided`.
    """

    choices: Choices
    decided: dict[str, str] = field(default_factory=dict)
    may_decide: bool = True
    counts: Counts = field(default_factory=Counts)
    redactor: Redactor = field(init=False)
    actions: dict[str, Actions] = field(default_factory=dict)
    _succeeds: Callable[[Lookup], bool | None] | None = field(init=False)

    def __post_init__(self) -> None:
        self.redactor = Redactor(self.choices.redact)
        self._succeeds = compile_test(self.choices.success_if) if self.choices.success_if is not None else None

    def verdict(self, known: dict[str, Any]) -> bool | None:
        """What ``--success-if`` says of an episode; None when it is not given, or cannot tell."""
        return self._succeeds(lambda name: self.named(known, name)) if self._succeeds is not None else None

    def named(self, known: dict[str, Any], name: str) -> Any:
        """The value of a field that an option names; that it is there is noted."""
        value = lookup(known, name)
        if value is not None:
            self.counts.fields.add(name)
        return value

    def joined(self, identity: str | None, question: str | None, extra: dict[str, Any]) -> Outcome:
        """What ``--outcomes`` says of an episode, which is counted."""
        found = self.choices.outcomes.find(identity, question, extra) if self.choices.outcomes is not None else None
        self.counts.joined += found is not None
        return found or (None, None)

    def complete(self, raw: RawEpisode, format_name: str, place: Place, *, clean: bool = False) -> bool:
        """Make ``raw`` a trajectory, in place; false when an option drops it (which is counted).

        Args:
            clean: the record holds nothing to redact (its bytes were looked at as a whole).
        """
        choices = self.choices
        for mark in raw.marks:
            if mark in choices.drop:
                self.counts.dropped[mark] += 1
                return False
        steps = raw.steps
        if not choices.respond:
            steps = raw.steps = [step for step in steps if step.kind != "respond"]
        if steps:
            set_dense_turns(steps)
            under = self._profile(raw, steps)
            if raw.options is None and under.canonicalizer.profile.uses_goal:
                raw.options = asked_options(raw.task, steps)
            raw.actions, raw.args = under.complete(steps, raw.options, clean=clean)
        else:
            raw.actions, raw.args = [], []
        self.counts.trajectories += 1
        self.counts.steps += len(steps)
        number = place.number if raw.record is None else raw.record
        if raw.id is None:
            raw.id = f"{place.stem}-{number}" + (f"-{raw.suffix}" if raw.suffix is not None else "")
        raw.source = Source(format=format_name, file=place.file, record=number)
        _move_to_extra(raw)
        self._outcome(raw)
        if not clean:
            self._redact(raw)
        return True

    def _outcome(self, raw: RawEpisode) -> None:
        """Success, reward and task type after what the options say of them."""
        choices = self.choices
        if choices.outcomes is not None:
            success, reward = self.joined(raw.id, raw.question_id, raw.extra)
            raw.success = raw.success if success is None else success
            raw.reward = raw.reward if reward is None else reward
        if choices.task_type is not None or choices.success_if is not None:
            known = known_fields(raw, len(raw.steps))
            if choices.task_type is not None and (value := self.named(known, choices.task_type)) is not None:
                raw.task_type = value if isinstance(value, str) else sorted_dumps(value)
            verdict = self.verdict(known)
            raw.success = raw.success if verdict is None else verdict
        if raw.success is None and raw.reward is not None and raw.reward in (0.0, 1.0):
            raw.success = raw.reward == 1.0

    def _redact(self, raw: RawEpisode) -> None:
        """Redact the episode's own texts; the steps have been."""
        text = self.redactor.text
        for name in ("id", "question_id", "task", "task_type", "env", "initial_observation"):
            value = getattr(raw, name)
            if value:
                setattr(raw, name, text(value))
        if raw.extra:
            raw.extra = self.redactor.value(raw.extra)
        if raw.parent is not None:
            raw.parent = Parent(id=text(raw.parent.id), turn=raw.parent.turn, step=raw.parent.step)

    def _profile(self, raw: RawEpisode, steps: list[RawStep]) -> Actions:
        name = self.choices.profile
        if name is None:
            key = raw.env or ""
            name = self.decided.get(key)
            if name is None:
                sample = samples(steps)
                if not sample:
                    name = "generic"  # responds alone: nothing to decide on, and their token is the same anywhere
                elif not self.may_decide:
                    raise Undecided(key, sample)
                else:
                    name = self.decided[key] = detect_profile(raw.env, sample)
        return self.profile(name)

    def profile(self, name: str) -> Actions:
        """The actions under a profile, kept for the run."""
        found = self.actions.get(name)
        if found is None:
            found = self.actions[name] = Actions(Canonicalizer(load_profile(name)), self.redactor)
        return found


def _move_to_extra(raw: RawEpisode) -> None:
    """Put into ``extra`` what has no place of its own (the raw split, the claim, the marks), and clear it."""
    split = split_name(raw.split) if raw.split is not None else None
    if raw.claim is not None or raw.marks or split != raw.split:
        extra = dict(raw.extra)
        if split != raw.split:
            extra["split"] = raw.split
        if raw.claim is not None:
            extra["claim"] = raw.claim
        if raw.marks:
            extra["marks"] = list(raw.marks)
        raw.extra, raw.split = extra, split
    raw.claim = raw.options = raw.record = raw.suffix = None
    raw.marks = ()


def known_fields(record: RawEpisode | Trajectory, n_steps: int) -> dict[str, Any]:
    """What ``--success-if`` and ``--task-type`` can name."""
    names = ("id", "question_id", "task", "task_type", "env", "split", "success", "reward", "extra")
    source = record.source
    told = {"format": source.format, "file": source.file, "record": source.record} if source is not None else {}
    return {**{name: getattr(record, name) for name in names}, "n_steps": n_steps, "source": told}


def lookup(known: dict[str, Any], name: str) -> Any:
    """A field by its dotted name; ``extra.`` may be left out."""
    value = at(known, name)
    return at(known["extra"], name) if value is None else value


def split_name(word: str) -> str | None:
    """``valid*``, ``val`` and ``dev`` are ``validation``; a word that is no split of ours is null."""
    lowered = word.lower()
    if lowered.startswith(("valid", "val", "dev")):
        return "validation"
    return lowered if lowered in _SPLITS else None

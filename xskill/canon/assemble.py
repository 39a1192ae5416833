"""An episode as a reader gives it → a trajectory, encoded: canonical actions, outcome, redaction, dense turns.

The rules that hold for every format live here and in what this calls: a claim never becomes success
(:mod:`xskill.canon.outcome.decide`), ``valid*`` and ``dev`` are the split ``validation``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import get_args

import msgspec

from xskill.canon.actions.canonicalizer import Canonicalizer
from xskill.canon.actions.profile import detect_profile, load_profile
from xskill.canon.actions.step_tokens import Actions, Sample, samples, set_dense_turns
from xskill.canon.canon_options import CanonOptions
from xskill.canon.outcome.decide import OutcomeRules
from xskill.canon.passthrough import TEXTS, pass_on
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.shop_options import asked_options
from xskill.canon.redact.redactor import Redactor
from xskill.errors import BadRecord
from xskill.records import Parent, Source, Split, Trajectory, encode

to_json = msgspec.json.Encoder().encode

_SPLITS = frozenset(get_args(Split))


class Undecided(Exception):
    """An environment came up for which no profile has been chosen yet (in a worker, which may not choose)."""

    def __init__(self, key: str, sample: list[Sample]) -> None:
        super().__init__(key)
        self.key = key
        self.sample = sample


@dataclass(slots=True)
class Counts:
    """What a run counted while assembling; counts of worker processes are added up."""

    trajectories: int = 0
    steps: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    def add(self, other: Counts) -> None:
        """Add another's counts."""
        self.trajectories += other.trajectories
        self.steps += other.steps
        self.dropped.update(other.dropped)


@dataclass(slots=True)
class Assembler:
    """Makes trajectories under fixed options, and remembers each profile's tokens by raw action.

    ``decided`` maps an environment (empty = none named) of the current source to its profile; where
    ``may_decide`` is false an environment that is not in it raises :class:`Undecided`.
    """

    options: CanonOptions
    decided: dict[str, str] = field(default_factory=dict)
    may_decide: bool = True
    counts: Counts = field(default_factory=Counts)
    redactor: Redactor = field(init=False)
    outcome: OutcomeRules = field(init=False)
    actions: dict[str, Actions] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.redactor = Redactor(self.options.redact)
        self.outcome = OutcomeRules(self.options)

    def encoded(
        self, episode: RawEpisode | Trajectory, format_name: str, place: Place, *, clean: bool = False
    ) -> bytes | None:
        """The trajectory of an episode as a line; None when an option drops it (which is counted).

        Args:
            clean: the record holds nothing to redact (its bytes were looked at as a whole).

        Raises:
            BadRecord: nested too deeply to be looked through.
        """
        try:
            if isinstance(episode, Trajectory):
                ours = pass_on(episode, self, place.tally)
                return encode(ours) if ours is not None else None
            return to_json(episode) if self.complete(episode, format_name, place, clean=clean) else None
        except RecursionError:
            raise BadRecord("nested too deeply") from None

    def drops(self, marks: Iterable[object]) -> bool:
        """Whether ``--drop`` names one of an episode's marks; it is counted then."""
        for mark in marks:
            if isinstance(mark, str) and mark in self.options.drop:
                self.counts.dropped[mark] += 1
                return True
        return False

    def complete(self, raw: RawEpisode, format_name: str, place: Place, *, clean: bool = False) -> bool:
        """Make ``raw`` a trajectory, in place; false when an option drops it (which is counted)."""
        if raw.marks and self.drops(raw.marks):
            return False
        steps = raw.steps
        if not self.options.respond:
            steps = raw.steps = [step for step in steps if step.kind != "respond"]
        if self.options.question_id is not None or self.options.env is not None:
            raw.question_id, raw.env = self.outcome.named(raw, len(steps))
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
        raw.success, raw.reward, raw.task_type = self.outcome.decide(raw, len(steps))
        if not clean:
            self._redact(raw)
        return True

    def _redact(self, raw: RawEpisode) -> None:
        """Redact the episode's own texts; the steps have been."""
        text = self.redactor.text
        for name in TEXTS:
            value = getattr(raw, name)
            if value:
                setattr(raw, name, text(value))
        if raw.extra:
            raw.extra = self.redactor.value(raw.extra)
        if raw.parent is not None:
            raw.parent = Parent(id=text(raw.parent.id), turn=raw.parent.turn, step=raw.parent.step)

    def _profile(self, raw: RawEpisode, steps: list[RawStep]) -> Actions:
        name = self.options.profile
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
        actions = self.actions.get(name)
        if actions is None:
            actions = self.actions[name] = Actions(Canonicalizer(load_profile(name)), self.redactor)
        return actions


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


def split_name(word: str) -> str | None:
    """``valid*``, ``val`` and ``dev`` are ``validation``; a word that is no split of ours is null."""
    lowered = word.lower()
    if lowered.startswith(("valid", "val", "dev")):
        return "validation"
    return lowered if lowered in _SPLITS else None

"""The part of ``xskill distill`` that asks a model: endpoint or batch files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from xskill.errors import UsageError

if TYPE_CHECKING:
    from xskill.bank.skillbank import Bank
    from xskill.distill.teacher import Examples, Request
    from xskill.records import Edit, Skill
    from xskill.streams.run import Run


@dataclass(frozen=True, slots=True)
class Teaching:
    """The options."""

    teacher: str | None
    base_url: str | None
    requests: str | None
    responses: str | None
    max_tokens_total: int
    answer_tokens: int
    price: str | None
    cache: str | None
    concurrency: int

    def __post_init__(self) -> None:
        if self.requests is not None and self.responses is not None:
            raise UsageError("--requests writes what to ask, --responses reads the answers: one of the two")
        if self.teacher is not None and self.model is None:
            raise UsageError(f"--teacher {self.teacher}: expected openai:MODEL")
        if not self.wanted and (self.base_url or self.cache or self.price):
            raise UsageError("--base-url is for --teacher openai:MODEL, --cache and --price also for --requests")
        self.dollars()

    @property
    def wanted(self) -> bool:
        return not (self.teacher is None and self.requests is None and self.responses is None)

    @property
    def model(self) -> str | None:
        kind, _, model = (self.teacher or "").partition(":")
        return model if kind == "openai" and model else None

    def dollars(self) -> tuple[float, float] | None:
        """``--price`` as two numbers."""
        if self.price is None:
            return None
        try:
            first, second = (float(part) for part in self.price.split(","))
        except ValueError:
            first = second = float("nan")
        if not (0 <= first < float("inf") and 0 <= second < float("inf")):
            raise UsageError(f"--price {self.price}: expected two numbers, dollars for a million tokens: 0.15,0.6")
        return first, second


def teach(
    options: Teaching,
    examples: Examples,
    findings: Sequence[Skill],
    bank: Bank,
    only: Sequence[str] | None,
    run: Run,
) -> list[Edit] | None:
    """The teacher's valid edits; None when only the requests were written."""
    from xskill.distill.llm_client import ask, default_cache, estimate
    from xskill.distill.teacher import answer_edits, make_requests
    from xskill.records import Edit
    from xskill.streams.text_out import open_lines

    asked = make_requests(
        examples, findings, bank, options.model or "MODEL", only=only, answer_tokens=options.answer_tokens
    )
    cache = Path(options.cache) if options.cache is not None else default_cache()
    cost = estimate(asked, cache)
    run.note(cost.text(options.dollars()))
    if options.requests is not None:
        with open_lines(options.requests) as write_line:
            for request in asked:
                write_line(request.line())
        run.set_summary(f"{len(asked)} requests")
        return None
    if options.responses is not None:
        answers = _from_file(options.responses, asked)
    else:
        if cost.total > options.max_tokens_total:
            raise UsageError(
                f"that may cost {cost.total:,} tokens, more than --max-tokens-total {options.max_tokens_total:,}; "
                f"nothing was sent"
            )
        rows = ask(asked, cache, base_url=options.base_url, concurrency=options.concurrency)
        by_id = {request.custom_id: request for request in asked}
        answers = [edit for row in rows for edit in answer_edits(row, by_id[row["custom_id"]])]
    edits = [edit for edit in answers if isinstance(edit, Edit)]
    for error in answers:
        if not isinstance(error, Edit):
            if run.keeps_rejects:
                run.bad(error)
            else:
                run.note(f"rejected: {error}")
    run.set_summary(f"{len(edits)} edits of the teacher, {len(answers) - len(edits)} rejected")
    return edits


def _from_file(path: str, asked: Sequence[Request]):  # type: ignore[no-untyped-def]
    from xskill.distill.teacher import read_answers
    from xskill.streams.lines import iter_lines
    from xskill.streams.source import open_inputs

    return [
        edit
        for source in open_inputs([path], lambda text: None)
        for edit in read_answers(iter_lines(source), asked, source.name)
    ]

"""Aider's ``.aider.chat.history.md``: ``#### `` lines are the user, ``> `` lines are Aider, the rest is the model.

An episode is what stands under one ``# aider chat started at`` line. An answer whose edits Aider applied (or could
not apply) is one step a file, else it is talk. ``/undo`` takes the last commit back: edits whose own commit was
removed leave the main line and become a branch. Slash commands and ``!`` are the user's, not the agent's.

Outcome: none. Lost, and counted: commands of the user, lines of Aider that follow no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import join
from xskill.canon.reading.dialog import Dialog, ToolCall
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.session_tree import PathSteps, one_path

_HEAD = re.compile(r"# aider chat started at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*$")
_APPLIED = re.compile(r"(?:Applied edit to|Created empty file|Wrote) (?P<file>.+)$")
_COMMIT = re.compile(r"Commit (?P<hash>[0-9a-f]{7,40}) ")
_REMOVED = re.compile(r"(?:Removed|Undid|Reverted):? (?:commit )?(?P<hash>[0-9a-f]{7,40})\b")
_FAILED = re.compile(
    r"# \d+ SEARCH/REPLACE blocks? failed|The LLM did not conform to the edit format|# \d+ hunks? failed"
    r"|UnifiedDiffNoMatch|Malformed response"
)
_MISMATCH = re.compile(r"failed to (?:exactly )?match lines in (?P<file>.+)$")
_ASKED = re.compile(r"/(?:ask|code|architect|chat-mode|context)\s+(?P<text>\S.*)", re.S)
_FENCE = re.compile(r"(```+|~~~+|</?(?:source|code|pre|codeblock|sourcecode)>)")
_QUIET = ("Tokens: ", "You can use /undo")


def detect(text: str) -> bool:
    return any(_HEAD.match(line) for line in text.splitlines())


def read(lines: Iterable[str], place: Place) -> Iterator[RawEpisode]:
    chat: _Chat | None = None
    number = 0
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r\n")
        if _HEAD.match(line):
            if chat is not None:
                yield from chat.episodes(place)
            chat = _Chat(number)
        elif chat is not None:
            chat.add(line)
        elif line.strip():
            place.tally.lose("line before the first chat")
    if chat is not None:
        yield from chat.episodes(place)


@dataclass(slots=True)
class _Turn:
    """What the user said, or nothing in a turn that Aider began itself; the answer; what Aider did with it."""

    asked: list[str] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    undone: bool = False
    applied: bool = False
    committed: bool = False
    """The commit of its edits came by; one that Aider made before them is the user's, one after it the linter's."""


class _Chat:
    def __init__(self, number: int) -> None:
        self.number = number
        self.turns: list[_Turn] = [_Turn()]
        self.fence: str | None = None
        self.by_commit: dict[str, _Turn] = {}
        self.user: list[str] = []
        self.commands = 0
        self.lines_of_program = 0
        self.in_command = False

    def add(self, line: str) -> None:
        """One line."""
        if line.startswith(("> Tokens: ", "> Applied edit to ")):
            self.fence = None  # the answer is over, whatever it left open
        if self.fence is None and line.startswith("#### "):
            self.user.append(line[5:].removesuffix("  "))
            return
        if self.user:
            self._asked("\n".join(self.user))
            self.user = []
        turn = self.turns[-1]
        if self.fence is None and (line.startswith("> ") or line == ">"):
            self._said(line[2:].removesuffix("  "))
        elif line.strip() or turn.answer:
            if turn.said and line.strip() and not self.in_command:
                turn = _Turn()  # Aider asked the model again by itself
                self.turns.append(turn)
            if line.strip() or (turn.answer and not turn.said):
                self.in_command = False
                turn.answer.append(line)
                self._look_for_fence(line)

    def _look_for_fence(self, line: str) -> None:
        mark = _FENCE.match(line)
        if mark is None:
            return
        if self.fence is None:
            self.fence = None if mark[1].startswith("</") else mark[1]
        elif self.fence.startswith("<"):
            self.fence = None if mark[1].startswith("</") else self.fence
        elif mark[1].startswith(self.fence) and not line[len(mark[1]) :].strip():
            self.fence = None

    def _asked(self, text: str) -> None:
        asked = _ASKED.match(text)
        self.in_command = False
        if asked is None and text.startswith(("/", "!")):
            self.commands += 1
            self.in_command = True
            return
        text = asked["text"] if asked else text
        if self.turns[-1].answer or self.turns[-1].said:
            self.turns.append(_Turn())
        self.turns[-1].asked.append(text)

    def _said(self, text: str) -> None:
        removed = _REMOVED.match(text)
        if removed is not None:
            turn = self.by_commit.pop(removed["hash"][:7], None)
            if turn is not None:
                turn.undone = True
        last = self.turns[-1]
        if last.answer and not self.in_command:
            last.applied = last.applied or _APPLIED.match(text) is not None
            commit = _COMMIT.match(text)
            if commit is not None and last.applied and not last.committed:
                last.committed = True
                self.by_commit[commit["hash"][:7]] = last
            if not text.startswith(_QUIET):
                self.turns[-1].said.append(text)
        else:
            self.lines_of_program += 1

    def episodes(self, place: Place) -> Iterator[RawEpisode]:
        """The chat, then the edits that were undone."""
        if self.user:
            self._asked("\n".join(self.user))
            self.user = []
        if self.commands:
            place.tally.skip("command of the user", self.commands)
        if self.lines_of_program:
            place.tally.skip("line of Aider beside an answer", self.lines_of_program)
        identity = f"{place.stem}-{self.number}"
        if not any(turn.answer for turn in self.turns):
            place.tally.lose("chat without an answer")
            return
        main = self._replay([turn for turn in self.turns if not turn.undone or not turn.answer])
        has_main = bool(main.dialog.steps)
        if has_main or not any(turn.undone for turn in self.turns):
            yield from one_path(main, identity, place, first=self.number)
        left = 0
        for index, turn in enumerate(self.turns):
            if turn.undone and (index + 1 == len(self.turns) or not self.turns[index + 1].undone):
                left += 1
                start = index
                while start and self.turns[start - 1].undone:
                    start -= 1
                shared = [one for one in self.turns[:start] if not one.undone]
                branch = self._replay([*shared, *self.turns[start : index + 1]])
                branch.own = len(self._replay(shared).dialog.steps)
                yield from one_path(branch, identity, place, first=self.number, left=left, has_main=has_main)

    def _replay(self, turns: list[_Turn]) -> PathSteps:
        dialog = Dialog()
        for turn in turns:
            dialog.user(join(*turn.asked))
            _answer(dialog, turn)
        return PathSteps(dialog, 0)


def _answer(dialog: Dialog, turn: _Turn) -> None:
    text = "\n".join(turn.answer).strip()
    rest, edits = _edits(text)
    applied = [match["file"].strip() for line in turn.said if (match := _APPLIED.match(line))]
    failed = any(_FAILED.match(line.strip()) for line in turn.said)
    missed = [match["file"].strip() for line in turn.said if (match := _MISMATCH.search(line))]
    calls: list[ToolCall] = []
    errors: list[bool] = []
    for file, is_error in [*((one, False) for one in applied), *((one, True) for one in dict.fromkeys(missed))]:
        calls.append(ToolCall(None, "edit", {"path": file, "edit": _of_file(edits, file)}))
        errors.append(is_error)
    if failed and not missed:
        calls.append(
            ToolCall(None, "edit", {"path": next(iter(edits), None), "edit": "\n".join(edits.values()) or None})
        )
        errors.append(True)
    if not calls:
        added = dialog.agent(text)
        if added and turn.said:
            added[0].extra = {"aider": "\n".join(turn.said)}
        return
    added = dialog.agent(rest, calls)
    said = "\n".join(line for line in turn.said).strip()
    for step, is_error in zip(added, errors, strict=True):
        step.error = is_error
        step.observation = f"Applied edit to {step.arguments['path']}"
    added[-1].observation = said


def _of_file(edits: dict[str, str], file: str) -> str | None:
    """The edit blocks of a file; paths are written from the repository's root, or from elsewhere."""
    own = [
        text for path, text in edits.items() if path == file or path.endswith(f"/{file}") or file.endswith(f"/{path}")
    ]
    if own:
        return "\n".join(own)
    return "\n".join(edits.values()) if len(edits) == 1 else None


def _edits(text: str) -> tuple[str, dict[str, str]]:
    """What an answer says beside its edit blocks; and the blocks by the path above them."""
    rest: list[str] = []
    blocks: dict[str, list[str]] = {}
    path, above = "", ""
    block: list[str] | None = None
    for line in text.split("\n"):
        if block is not None:
            block.append(line)
            if line.startswith(">>>>>>> "):
                blocks.setdefault(path, []).extend(block)
                block = None
        elif line.startswith("<<<<<<< "):
            path = above or path
            block, above = [line], ""
        else:
            if line.strip() and not _FENCE.match(line):
                above = line.strip().strip("`*#: ")
            rest.append(line)
    if block is not None:
        rest += block
    kept = "\n".join(line for line in rest if line.strip().strip("`*#: ") not in blocks)
    kept = re.sub(r"(```|<source>)\w*\n\s*(```|</source>)", "", kept)
    return re.sub(r"\n{3,}", "\n\n", kept).strip(), {name: "\n".join(lines) for name, lines in blocks.items()}


FORMAT = Format("aider", "Aider chat histories (Markdown)", "text", detect, read)

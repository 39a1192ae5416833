"""What a log holds and no episode does is told: in the summary line, and in the exit code where nothing came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.canon.logs import write_lines
from tests.command import run_with, within
from xskill.canon.accounts.conservation import counted, largest
from xskill.canon.reading.episode import SourceTally

USER = {"role": "user", "content": "Weigh the plum."}
ORPHAN = {"role": "tool", "tool_call_id": "nobody", "content": "40 g"}
ANSWER = {"role": "assistant", "content": "40 g."}


def chat(*messages: Any) -> dict[str, Any]:
    return {"messages": list(messages)}


def test_counts_are_said_as_a_person_says_them() -> None:
    assert counted(12, "result without a call") == "12 results without a call"
    assert counted(1, "result without a call") == "1 result without a call"
    assert counted(1, "records of no known kind") == "1 record of no known kind"
    assert counted(3, "answers beside the first choice") == "3 answers beside the first choice"
    assert counted(2, "summary written by compaction") == "2 summaries written by compaction"
    assert counted(2, "prompt that was left without an answer") == "2 prompts that were left without an answer"
    assert counted(1, "pickled files, which are not opened") == "1 pickled file, which are not opened"
    assert counted(4_000, "foo_bar line") == "4,000 foo_bar lines"


def test_the_largest_few_are_named() -> None:
    tally = SourceTally()
    for n, kind in enumerate(["result without a call", "a line", "b line", "c line", "d line"], 1):
        tally.lose(kind, n)
    tally.lose("nothing", 0)
    assert largest(tally.lost) == ["5 d lines", "4 c lines", "3 b lines", "and 2 more kinds: --report"]
    assert tally.skipped == tally.lost


def test_what_is_set_aside_by_design_is_no_loss() -> None:
    tally = SourceTally()
    tally.skip("system message", 3)
    assert (dict(tally.skipped), dict(tally.lost)) == ({"system message": 3}, {})


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_losses_are_in_the_summary_line(tmp_path: Path, jobs: str) -> None:
    system = {"role": "system", "content": "Be brief."}
    log = write_lines(tmp_path / "log.jsonl", chat(system, USER, ORPHAN, ANSWER), chat(USER, ORPHAN, ORPHAN, ANSWER))
    report = tmp_path / "report.json"
    done = run_with(jobs)("canon", log, "-j", jobs, "--report", report)
    line = done.stderr.decode()
    assert "; 3 results without a call; " in line
    assert "system message" not in line
    counts = json.loads(report.read_text())["formats"]["openai-chat"]
    assert counts["content_lost"] == {"result without a call": 3}
    assert counts["records_not_carried"] == {"result without a call": 3, "system message": 1}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_file_whose_content_was_lost_whole_is_no_success(tmp_path: Path, jobs: str) -> None:
    log = write_lines(tmp_path / "log.jsonl", chat(USER, ORPHAN))
    done = run_with(jobs)("canon", log, "-j", jobs, check=65)
    assert done.stderr.decode() == (
        f"xskill: {log}: no step in it: claimed by openai-chat, which left out 1 result without a call\n"
    )


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_among_several_inputs_it_is_said(tmp_path: Path, jobs: str) -> None:
    lost = write_lines(tmp_path / "lost.jsonl", chat(USER, ORPHAN))
    good = write_lines(tmp_path / "good.jsonl", chat(USER, ANSWER))
    done = run_with(jobs)("canon", lost, good, "-j", jobs)
    assert f"{lost}: no step in it: claimed by openai-chat, which left out 1 result without a call" in (
        done.stderr.decode()
    )
    both = run_with(jobs)("canon", lost, lost, "-j", jobs, check=65).stderr.decode()
    assert both.count("which left out 1 result without a call") == 2


def test_what_the_user_leaves_out_is_no_loss(tmp_path: Path) -> None:
    log = write_lines(tmp_path / "log.jsonl", chat(USER, ORPHAN, ANSWER))
    within("canon", log, "--no-respond")


def test_a_claimed_file_without_a_record_says_who_claimed_it(tmp_path: Path) -> None:
    head = {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "a", "cwd": "/x"}}
    event = {"timestamp": "2026-01-01T00:00:01Z", "type": "event_msg", "payload": {"type": "token_count"}}
    log = write_lines(tmp_path / "log.jsonl", head, event)
    done = within("canon", log, check=None)
    assert done.returncode in (65, 66)
    assert b"claimed by codex, which left out 1 " in done.stderr

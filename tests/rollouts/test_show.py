"""``rollout show`` and ``rollout check``: what people see."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.command import within
from tests.rollouts.test_build import rollout, write
from xskill.errors import BadData
from xskill.rollouts.gather import Gather
from xskill.rollouts.question_lines import bar
from xskill.rollouts.question_view import choose_question


def records() -> list[Any]:
    """go, then left (wins twice) or right (fails); one more rollout fails at once by stopping."""
    made = [rollout("win", "glx"), rollout("lose", "gry", 0.0, ("win", 1)), rollout("win2", "glz", 1.0, ("win", 2))]
    names = {"g": "go in", "l": "turn left", "r": "turn right", "x": "open", "y": "fall", "z": "climb", "s": "stop"}
    made.append(rollout("stop", "s", 0.0))
    for one in made:
        one["task"] = "find the way"
        for step in one["steps"]:
            step |= {"action": names[step["action"]], "observation": "you see", "logprob": -1.0}
    return made


def show(tmp_path: Path, *args: str, data: list[Any] | None = None) -> str:
    return within("rollout", "show", "-q", write(tmp_path / "r.jsonl", data or records()), *args).stdout.decode()


def test_a_tree_without_credits_shows_mean_rewards(tmp_path: Path) -> None:
    text = show(tmp_path)
    lines = text.splitlines()
    assert lines[0].startswith(
        "q · 4 rollouts · mean reward 0.5 · 7 turns, each shared one once · V = mean reward below"
    )
    assert lines[1] == "find the way"
    decisive = [line.split("  turn")[0].split()[-2:] for line in lines[4:6]]
    assert decisive == [["turn", "left"], ["go", "in"]]
    assert "+0.50" in lines[4]
    assert "turn 1, 1 other, after: go in" in lines[4]
    drawn = [re.sub(r"\s+", " ", line) for line in lines[7:]]
    assert drawn == [
        "start",
        "├ go in ×3 V 0.67",
        "│ ├ turn left ×2 V 1.00",
        "│ │ ├ open ×1 V 1.00 ✓ win",
        "│ │ └ climb ×1 V 1.00 ✓ win2",
        "│ └ turn right ×1 V 0.00",
        "│ fall ×1 V 0.00 ✗ lose",
        "└ stop ×1 V 0.00 ✗ stop",
    ]


def test_a_credited_tree_shows_values_bars_and_targets(tmp_path: Path) -> None:
    credited = within("credit", "-q", write(tmp_path / "r.jsonl", records())).stdout
    text = within("rollout", "show", "-q", stdin=credited).stdout.decode()
    assert "V and credits of the credit run" in text
    (line,) = [line for line in text.splitlines() if line.startswith("└ stop")]
    assert re.sub(r"\s+", " ", line) == "└ stop ×1 V -1.00 █████│ -1.00 q 0.444 ✗ stop"


def test_searches_show_visits_and_values(tmp_path: Path) -> None:
    data = records()
    data[0]["steps"][0] |= {"visits": 7, "q": 0.25, "prior": 0.5}
    assert "N 7  Q 0.25  P 0.50" in show(tmp_path, data=data)


def test_long_runs_without_a_choice_are_folded(tmp_path: Path) -> None:
    data = [rollout("r0", "abcdefg"), rollout("r1", "x", 0.0)]
    assert "⋮ 5 turns without a choice" in show(tmp_path, data=data)
    assert "⋮" not in show(tmp_path, "--every-turn", data=data)


def test_json_holds_all_turns(tmp_path: Path) -> None:
    found = json.loads(show(tmp_path, "--json", "--top", "1"))
    assert len(found["turns"]) == 8
    assert [found["turns"][number]["action"] for number in found["decisive"]] == ["turn left"]
    assert found["turns"][0]["value"] == 0.5


def test_question_is_chosen_by_id_or_by_variance(tmp_path: Path) -> None:
    data = [rollout("r0", "a", question="dull"), *records(), rollout("r1", "b", question="other")]
    assert show(tmp_path, data=data).startswith("q · 4 rollouts")
    assert show(tmp_path, "--question", "other", data=data).startswith("other · 1 rollout ·")
    done = within("rollout", "show", tmp_path / "r.jsonl", "--question", "none", check=2)
    assert b"--question none: not in the input, which has dull, q, other" in done.stderr


def test_nothing_to_show_is_said(tmp_path: Path) -> None:
    """The only record copied more than it has; without records there is no question to choose."""
    bad = {**rollout("r0", "", None), "parent": {"id": "gone", "turn": 1}}
    done = within("rollout", "show", write(tmp_path / "r.jsonl", [bad]), "--rejects", tmp_path / "bad.jsonl", check=65)
    assert b"no good record: 1 rejected" in done.stderr
    with pytest.raises(BadData, match="no rollout to show"):
        choose_question(Gather().finish(), None)


def hostile() -> list[Any]:
    data = records()
    for one in data:
        one["task"] = "<script>alert(1)</script>\x1b[2J"
    data[0]["id"] = "\x1b]0;title\x07<img src=x onerror=alert(1)>"
    data[0]["parent"] = None
    data[0]["steps"][2]["action"] = '"><script>alert(2)</script>\x1b[31m\u202e[/bold]'
    data[0]["steps"][2]["observation"] = "</pre><script>alert(3)</script>"
    for one in data[1:]:
        one["parent"] = None
    return data


def test_nothing_hostile_reaches_a_terminal(tmp_path: Path) -> None:
    text = show(tmp_path, data=hostile())
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert "[/bold]" in text


def test_a_page_escapes_everything_and_asks_for_nothing(tmp_path: Path) -> None:
    page = show(tmp_path, "--as", "html", data=hostile())
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(2)&lt;/script&gt;" in page
    assert "http" not in page.replace("http-equiv", "")
    assert "\x1b" not in page
    assert page.count("<ul>") == page.count("</ul>")
    assert page.count("<details") == page.count("</details>") == 7
    for target in re.findall(r'href="#(t\d+)"', page):
        assert f'id="{target}"' in page


def test_a_page_of_a_deep_tree_is_no_recursion(tmp_path: Path) -> None:
    """1,000 points of choice below each other, on 3,000 turns."""
    data = [rollout("r0", "a" * 3000)] + [rollout(f"s{i}", "a" * i + "b", 0.0, ("r0", i)) for i in range(0, 3000, 3)]
    path = write(tmp_path / "r.jsonl", data)
    for form in ((), ("--as", "html"), ("--json",)):
        assert within("rollout", "show", "-q", path, *form).stdout


def test_a_deep_tree_stays_readable(tmp_path: Path) -> None:
    """1,300 turns and 100 points of choice below each other, in all forms."""
    data = [rollout("r0", "a" * 1300)] + [rollout(f"s{i}", "a" * i + "b", 0.0, ("r0", i)) for i in range(0, 1300, 13)]
    for form in ((), ("--as", "html"), ("--json",)):
        text = show(tmp_path, *form, data=data)
        assert text.count("s1287") == 1
        assert form or max(map(len, text.splitlines())) <= 160


def test_a_bar_is_full_at_the_scale_and_empty_at_zero() -> None:
    assert bar(2.0, 2.0).plain == "     │█████"
    assert bar(-2.0, 2.0).plain == "█████│     "
    assert bar(0.0, 2.0).plain == "     │     "
    assert bar(1.0, 2.0).plain == "     │██▌  "
    assert bar(-1.0, 2.0).plain == "  ▐██│     "
    assert bar(0.0, 0.0).plain == "     │     "


def check(tmp_path: Path, data: list[Any], *args: str) -> Any:
    return json.loads(within("rollout", "check", "-q", "--json", write(tmp_path / "r.jsonl", data), *args).stdout)


def test_check_counts_what_teaches_nothing(tmp_path: Path) -> None:
    """q: 10 turns (copies too); go in and stop (4), left and right (3), open and climb (2) have alternatives."""
    found = check(tmp_path, [*records(), rollout("r0", "a", question="lone"), rollout("r1", "b", None, None, "open")])
    assert found["share_single_leaf"] == pytest.approx(1 / 3)
    assert found["share_zero_variance"] == 0
    assert found["share_unfinished"] == pytest.approx(1 / 6)
    assert found["share_unbranched_turns"] == pytest.approx(3 / 12)
    assert found["effective_actions"] == pytest.approx(2)  # equal likelihoods
    assert found["share_collapsed"] == 0
    assert found["share_turns_without_logprob"] == pytest.approx(2 / 12)


def test_check_warns_of_a_radius_that_does_not_fit(tmp_path: Path) -> None:
    data = records()
    for one in data:
        for step in one["steps"]:
            step["logprob_new"] = -0.5
    found = check(tmp_path, data)
    assert found["share_past_target"] == 1
    assert any("passed at once" in text for text in found["warnings"])
    for one in data:
        for step in one["steps"]:
            step["logprob_new"] = -0.999
    found = check(tmp_path, data)
    assert found["log_ratio_p90"] == pytest.approx(0.001)
    assert any("cannot be reached" in text for text in found["warnings"])
    found = check(tmp_path, data, "--radius", "auto")
    assert found["target_log_ratio"] == pytest.approx(0.001)


def test_check_warns_of_collapsed_weights(tmp_path: Path) -> None:
    data = records()
    data[3]["steps"][0]["logprob"] = -20.0
    found = check(tmp_path, data)
    assert found["share_collapsed"] == pytest.approx(1 / 3)
    assert any("--tau" in text for text in found["warnings"])
    assert check(tmp_path, data, "--tau", "20")["share_collapsed"] == 0


@pytest.mark.parametrize("tau", ["0", "-1", "nan", "inf"])
def test_check_refuses_what_is_no_temperature(tmp_path: Path, tau: str) -> None:
    done = within("rollout", "check", write(tmp_path / "r.jsonl", records()), "--tau", tau, check=2)
    assert b"--tau" in done.stderr
    assert b"finite number" in done.stderr


def test_check_at_a_temperature_near_zero(tmp_path: Path) -> None:
    """Equal likelihoods stay equal; no warning of numpy reaches the terminal."""
    done = within("rollout", "check", "--json", write(tmp_path / "r.jsonl", records()), "--tau", "1e-320")
    assert json.loads(done.stdout)["effective_actions"] == pytest.approx(2)
    assert done.stderr.startswith(b"xskill rollout check: read ")


def test_check_measures_the_bias_of_baselines_per_turn_index(tmp_path: Path) -> None:
    """Two rollouts of one turn fail, two of two turns win. At turn 1 only winners are left: mean 1 against .5, one
    deviation; the fine for going on is -1 on two of six turns."""
    data = [rollout("a", "1", 0.0), rollout("b", "2", 0.0), rollout("c", "34"), rollout("d", "56")]
    found = check(tmp_path, data)
    assert found["turn_index_bonus"] == pytest.approx(-1 / 3)
    assert found["turn_index_bias"] == pytest.approx((1 / 3) ** 0.5)
    assert found["length_reward_correlation"] == pytest.approx(1)
    many = [{**one, "question_id": f"q{i}"} for i in range(10) for one in data]
    assert any("goes with length" in text for text in check(tmp_path, many)["warnings"])


def test_check_in_words(tmp_path: Path) -> None:
    done = within("rollout", "check", write(tmp_path / "r.jsonl", records()))
    text = done.stdout.decode()
    assert "no logprob_new" in text
    assert text.startswith("questions           1, 4 rollouts, cost 2.8 full rollouts each")

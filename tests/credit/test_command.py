"""``xskill credit`` as a command: what it writes, in every form, and how it fails."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.command import pipeline, within


def record(name: str, actions: str, reward: float | None, parent: Any = None, **more: Any) -> dict[str, Any]:
    link = {"parent": {"id": parent[0], "turn": parent[1]}} if parent else {}
    steps = [{"action": action, "observation": f"saw {action}"} for action in actions]
    return {
        "schema": "xskill.trajectory/1",
        "id": name,
        "question_id": "q",
        **({} if reward is None else {"reward": reward}),
        "actions": [f"do<{action}>" for action in actions],
        "steps": steps,
        **link,
        **more,
    }


def tree() -> list[dict[str, Any]]:
    """a then b (1) or c (0): A = 1 and -1 to 1e-5; V(a) = 0 with equal weights."""
    return [record("r0", "ab", 1.0), record("r1", "ac", 0.0, ("r0", 1))]


def write(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def rows(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def test_header_then_the_trajectories_as_they_came_with_arrays_added(tmp_path: Path) -> None:
    records = tree()
    records[0]["steps"][0]["extra"] = {"kept": "é\n"}
    records[0]["note"] = "an unknown field"
    path = write(tmp_path / "r.jsonl", records)
    done = within("credit", path)
    header, first, second = rows(done.stdout)
    assert header == {
        "schema": "xskill.credits/1",
        "method": "treeopsd",
        "config": {
            "backup": "likelihood",
            "turn_credit": "pointwise",
            "std": "population",
            "shared": "weight",
            "tau": 1.0,
            "map": "odds",
            "radius": 0.2,
            "scale": 1.0,
            "ratio": "sum",
            "reward_from": "reward",
        },
        "stats": {
            "questions": 1,
            "trajectories": 2,
            "turns": 4,
            "nodes": 3,
            "unfinished": 0,
            "zero_variance": 0,
            "single_leaf": 0,
            "questions_without_logprob": 1,
        },
    }
    assert first.items() >= records[0].items()
    assert first["advantage"] == pytest.approx(1, abs=1e-5)
    assert first["values"] == pytest.approx([0, 1], abs=1e-5)
    assert first["credits"] == pytest.approx([0, 1], abs=1e-5)
    assert first["targets"] == pytest.approx([0.5, 1.2 / 2.2], abs=1e-5)
    assert first["target_ratios"] == pytest.approx([1, 1.2], abs=1e-5)
    assert first["weights"] == [0.5, 1]
    assert second["target_ratios"] == pytest.approx([1, 0.8], abs=1e-5)
    assert not {"residuals", "losses", "skipped"} & set(first)
    lines = done.stdout.splitlines()
    assert lines[1].startswith(path.read_bytes().splitlines()[0][:-1])  # spliced, not encoded again
    assert b"1 branched questions lack log-probabilities: --backup likelihood is mean there" in done.stderr
    assert within("check", "-", stdin=done.stdout).returncode == 0


def test_crediting_twice_replaces_the_columns(tmp_path: Path) -> None:
    once = within("credit", write(tmp_path / "r.jsonl", tree()), "--method", "grpo").stdout
    assert rows(within("credit", stdin=once).stdout) == rows(within("credit", tmp_path / "r.jsonl").stdout)
    values = rows(once)[1]
    assert values["credits"] == pytest.approx([0.70710578] * 2, abs=1e-5)
    assert "values" not in values
    assert "targets" not in values


def test_unfinished_zero_variance_and_single_leaves_are_marked(tmp_path: Path) -> None:
    records = [*tree(), record("r2", "ad", None, ("r0", 1))]
    records += [record("one", "ab", 1.0, question_id="lone")]
    records += [record(f"same{i}", f"a{i}", 0.5, question_id="equal") for i in range(2)]
    found = {row["id"]: row for row in rows(within("credit", write(tmp_path / "r", records)).stdout)[1:]}
    skipped = {name: row.get("skipped") for name, row in found.items()}
    assert skipped == {
        "r0": None,
        "r1": None,
        "r2": "unfinished",
        "one": "single-leaf",
        "same0": "zero-variance",
        "same1": "zero-variance",
    }
    assert found["r2"]["advantage"] is None
    assert found["r2"]["values"][1] is None
    assert found["r2"]["targets"][1] is None
    assert found["r2"]["values"][0] == found["r0"]["values"][0]
    assert found["one"]["credits"] == [0, 0]
    assert found["same0"]["targets"] == [0.5, 0.5]


def test_residuals_and_losses_from_the_current_policy(tmp_path: Path) -> None:
    """The worked ratio .3 over three tokens; the masked fourth token would change it."""
    records = tree()
    records[0]["steps"][1] |= {
        "logprob": [-1, -0.5, -9, -2],
        "logprob_new": [-0.9, -0.6, 0, -1.7],
        "extra": {"mask": [1, 1, 0, 1]},
    }
    path = write(tmp_path / "r.jsonl", records)
    for ratio, p in (("sum", 0.57444252), ("mean", 0.52497919)):
        row = rows(within("credit", path, "--radius", "0.2", "--ratio", ratio).stdout)[1]
        assert row["residuals"] == [None, pytest.approx(p - row["targets"][1])]
        assert row["losses"][0] is None
        assert row["losses"][1] > 0


def test_a_turn_of_two_steps_shares_its_values(tmp_path: Path) -> None:
    records = [record("r0", "abx", 1.0), record("r1", "aby", 0.0)]
    for one in records:
        for index, step in zip((0, 0, 1), one["steps"], strict=True):
            step["turn"] = index
    path = write(tmp_path / "r.jsonl", records)
    row = rows(within("credit", path).stdout)[1]
    assert len(row["values"]) == 3
    assert row["values"][0] == row["values"][1]
    assert row["weights"] == [0.5, 0.5, 1]
    turns = rows(within("credit", path, "--per-turn").stdout)[1:]
    assert [(turn["id"], turn["turn"], turn["step"], turn["n_steps"]) for turn in turns] == [
        ("r0", 0, 0, 2),
        ("r0", 1, 2, 1),
        ("r1", 0, 0, 2),
        ("r1", 1, 2, 1),
    ]


def test_per_turn_rows_say_the_same_as_the_arrays(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", [*tree(), record("r2", "ad", None, ("r0", 1))])
    whole = rows(within("credit", path).stdout)
    turns = rows(within("credit", path, "--per-turn").stdout)
    assert turns[0] == whole[0]
    index = 1
    for row in whole[1:]:
        for t, step in enumerate(row["steps"]):
            turn = turns[index]
            assert (turn["id"], turn["turn"], turn["action"]) == (row["id"], t, step["action"])
            assert turn["advantage"] == row["advantage"]
            for one, many in (("value", "values"), ("credit", "credits"), ("target", "targets"), ("weight", "weights")):
                assert turn[one] == row[many][t]
            index += 1
    assert index == len(turns)
    assert within("check", "-", stdin=within("credit", path, "--per-turn").stdout).returncode == 0


def test_parquet_in_and_out_says_the_same(tmp_path: Path) -> None:
    records = [*tree(), record("r2", "", 0.5), record("r3", "ad", None, ("r0", 1))]
    records[0]["steps"][0]["logprob"] = -0.25
    records[0]["extra"] = {"a": [1]}
    path = write(tmp_path / "r.jsonl", records)
    expected = rows(within("credit", path).stdout)
    within("filter", "true", path, "-o", tmp_path / "r.parquet")
    for source in ("r.jsonl", "r.parquet"):
        within("credit", tmp_path / source, "-o", tmp_path / "c.parquet")
        back = within("credit", tmp_path / "c.parquet").stdout
        assert rows(back) == expected
        found = rows(within("head", tmp_path / "c.parquet").stdout)
        assert found[0] == expected[0]
        for row, wanted in zip(found[1:], expected[1:], strict=True):
            for name in ("values", "credits", "targets", "target_ratios", "weights"):
                assert row[name] == wanted[name]
            assert row.get("skipped") == wanted.get("skipped")
            assert row.get("advantage") == wanted["advantage"]
    turns = within("credit", path, "--per-turn", "--to", "parquet").stdout
    assert rows(within("head", "-n", "99", "-", stdin=turns).stdout)[0] == expected[0]


def test_verl_rows_broadcast_over_the_sampled_tokens(tmp_path: Path) -> None:
    records = tree()
    records[0]["steps"][0] |= {"logprob": -1.5, "n_tokens": 3}
    records[1]["steps"][0] |= {"logprob": -1.5, "n_tokens": 3}
    records[0]["steps"][1] |= {"logprob": [-0.5, -0.75], "extra": {"mask": [0, 1]}}
    records[1]["steps"][1] |= {"logprob": [-0.5, -0.25]}
    records.append(record("r2", "ad", None, ("r0", 1)))
    records[2]["steps"][0] |= {"logprob": -1.5, "n_tokens": 3}
    records[2]["steps"][1] |= {"logprob": -1}
    found = rows(within("credit", write(tmp_path / "r.jsonl", records), "--as", "verl").stdout)
    first, second, third = found
    assert (first["uid"], first["traj_uid"]) == ("q", "r0")
    assert first["advantages"] == pytest.approx([first["advantages"][0]] * 3 + [1], abs=1e-5)
    assert first["response_mask"] == [1, 1, 1, 1]
    assert first["turn_ids"] == [0, 0, 0, 1]
    assert first["rollout_is_weights"] == pytest.approx([1 / 3] * 3 + [1])
    assert "old_log_probs" not in first  # only the sum of turn 0 is known
    assert second["advantages"][3:] == pytest.approx([-1, -1], abs=1e-5)
    assert third["response_mask"] == [1, 1, 1, 0]  # nothing is known about the unfinished turn
    within("credit", tmp_path / "r.jsonl", "--as", "verl", "-o", tmp_path / "verl.parquet")
    table = pl.read_parquet(tmp_path / "verl.parquet").to_dicts()
    assert [{name: cell for name, cell in row.items() if cell is not None} for row in table] == [
        {name: cell for name, cell in row.items() if cell is not None} for row in found
    ]
    assert (
        b"writes JSON lines"
        in within("credit", tmp_path / "r.jsonl", "--as", "verifiers", "--to", "parquet", check=2).stderr
    )


def test_verifiers_traces_hold_advantages_and_turn_rewards(tmp_path: Path) -> None:
    """A turn's tokens may begin with those of the prompt, masked: r0's first has two. r1's second turn has none."""
    records = [*tree(), record("r2", "ad", None, ("r0", 1))]
    records[0] |= {"task": "find it", "initial_observation": "a hall"}
    for one in records:
        one["steps"][0] |= {"logprob": [0, 0, -0.25], "extra": {"token_ids": [7, 8, 9], "mask": [0, 0, 1]}}
    records[0]["steps"][1] |= {"kind": "call", "action": 'look({"at":"x"})', "logprob": [-0.5, -0.25]}
    records[0]["steps"][1]["extra"] = {"token_ids": [5, 6]}
    records[2]["steps"][1] |= {"logprob": -1.5, "n_tokens": 2, "extra": {"token_ids": [3, 4]}}
    done = within("credit", write(tmp_path / "r.jsonl", records), "--as", "verifiers")
    assert b"1 of 3 trajectories have no steps[].extra.token_ids on every turn" in done.stderr
    trace, bare, unfinished = rows(done.stdout)
    assert (trace["version"], trace["id"], trace["task"]["key"], trace["agent"]) == (1, "r0", "q", {"config": {}})
    assert (trace["is_completed"], trace["ok"]) == (True, True)
    assert trace["rewards"] == {"reward": {"score": 1.0, "weight": 1.0}}
    assert trace["info"]["turn_rewards"] == pytest.approx([0, 1], abs=1e-5)
    assert trace["info"]["turn_weights"] == pytest.approx([1 / 3, 1])
    assert [node["parent"] for node in trace["nodes"]] == [None, 0, 1, 2, 3]
    assert [node["message"]["role"] for node in trace["nodes"]] == ["user", "assistant", "user", "assistant", "tool"]
    first, call = trace["nodes"][1], trace["nodes"][3]
    assert (first["token_ids"], first["mask"], first["logprobs"]) == ([7, 8, 9], [False, False, True], [-0.25])
    assert first["advantages"] == pytest.approx([0], abs=1e-5)
    assert call["message"]["tool_calls"] == [{"id": "call_1", "name": "look", "arguments": '{"at":"x"}'}]
    assert (call["token_ids"], call["mask"], call["logprobs"]) == ([5, 6], [True, True], [-0.5, -0.25])
    assert call["advantages"] == pytest.approx([1, 1], abs=1e-5)
    assert trace["nodes"][4]["message"]["tool_call_id"] == "call_1"

    assert all(not {"token_ids", "mask", "logprobs", "advantages"} & node.keys() for node in bare["nodes"])
    assert bare["info"]["turn_rewards"] == pytest.approx([0, -1], abs=1e-5)
    assert bare["info"]["turn_logprobs"] == [[0, 0, -0.25], None]
    assert bare["ok"] is True  # a failure is no error
    assert (unfinished["is_completed"], unfinished["ok"], unfinished["rewards"]) == (False, False, {})
    sampled = unfinished["nodes"][-2]
    assert (sampled["mask"], sampled["logprobs"], sampled["advantages"]) == (
        [True, True],
        [],
        None,
    )  # a sum has no place


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"extra": {"token_ids": "7"}}, "steps[0].extra.token_ids: expected a list of token ids"),
        ({"extra": {"token_ids": [True]}}, "steps[0].extra.token_ids: expected a list of token ids"),
        ({"extra": {"token_ids": [-1]}}, "steps[0].extra.token_ids: expected a list of token ids"),
        ({"extra": {"token_ids": [7, 8], "mask": [1]}}, "steps[0].extra.mask: expected 2 entries, one a token id"),
        ({"extra": {"token_ids": [7], "mask": 1}}, "steps[0].extra.mask: expected 1 entries, one a token id"),
        (
            {"logprob": [-1, -2], "extra": {"token_ids": [7]}},
            "steps[0].extra.token_ids: expected 2 entries, one a log-probability, got 1",
        ),
        (
            {"n_tokens": 1, "extra": {"token_ids": [7, 8]}},
            "steps[0].extra.token_ids: expected 1 sampled tokens, as n_tokens says, got 2",
        ),
    ],
)
def test_token_ids_that_do_not_fit_their_turn(tmp_path: Path, step: dict[str, Any], said: str) -> None:
    one = record("r0", "a", 1.0)
    one["steps"][0] |= step
    path = write(tmp_path / "r.jsonl", [record("r1", "a", 0.0), one])
    done = within("credit", path, "--as", "verifiers", "-o", tmp_path / "traces.jsonl", check=65)
    assert f"{path}:2: {said}" in done.stderr.decode()
    assert not (tmp_path / "traces.jsonl").exists()


def test_radius_auto_takes_nine_tenths_of_the_moves(tmp_path: Path) -> None:
    """Ten turns with |log ratio| .01 … .1: the 0.9 quantile is .091, so r = exp(.091) - 1."""
    records = []
    for i in range(10):
        one = record(f"r{i}", chr(97 + i), float(i % 2))
        one["steps"][0] |= {"logprob": -1.0, "logprob_new": -1.0 + (-1) ** i * (i + 1) / 100}
        records.append(one)
    path = write(tmp_path / "r.jsonl", records)
    header = rows(within("credit", path, "--radius", "auto").stdout)[0]
    assert header["config"]["radius"] == pytest.approx(0.0952689, abs=1e-6)
    assert header["config"]["radius_from"] == "0.9 quantile of |log ratio|"
    done = within("credit", write(tmp_path / "none.jsonl", tree()), "--radius", "auto", check=65)
    assert b"--radius auto needs steps[].logprob and logprob_new" in done.stderr


def test_reward_from_success(tmp_path: Path) -> None:
    records = [record("r0", "ab", None, success=True), record("r1", "ac", None, success=False)]
    path = write(tmp_path / "r.jsonl", records)
    assert b"--reward-from success takes the outcome as 0 or 1" in within("credit", path, check=65).stderr
    header, first, _ = rows(within("credit", path, "--reward-from", "success").stdout)
    assert header["config"]["reward_from"] == "success"
    assert first["advantage"] == pytest.approx(1, abs=1e-5)
    verl, verifiers = (
        rows(within("credit", path, "--reward-from", "success", "--as", form).stdout) for form in ("verl", "verifiers")
    )
    assert [row["reward"] for row in verl] == [trace["rewards"]["reward"]["score"] for trace in verifiers] == [1, 0]


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--method", "grpo", "--option", "sdt=true"], 2, b"--option sdt: grpo has no such option (it has: std)"),
        (["--method", "grpo", "--option", "std=no"], 2, b"--option std=no: expected one of true, false"),
        (["--method", "gigpo", "--option", "gamma=x"], 2, b"--option gamma=x: expected a finite number"),
        (["--method", "gigpo", "--option", "w=inf"], 2, b"--option w=inf: expected a finite number"),
        (["--option", "std=true"], 2, b"--option belongs to the baselines"),
        (["--option", "std"], 2, b"--option std: expected NAME=VALUE"),
        (["--radius", "0"], 2, b"--radius 0: the odds map needs a radius above 0 and below 1"),
        (["--map", "probability", "--radius", "0.5"], 2, b"below 0.5"),
        (["--radius", "wide"], 2, b"--radius wide: expected a finite number"),
        (["--map", "logistic", "--radius", "1000"], 2, b"below 5"),
        (["--scale", "-1"], 2, b"--scale -1: expected a finite number above 0, or max"),
        (["--scale", "inf"], 2, b"--scale inf: expected a finite number"),
        (["--scale", "nan"], 2, b"--scale nan: expected a finite number"),
        (["--tau", "0"], 2, b"--tau 0: expected a finite number above 0"),
        (["--tau", "nan"], 2, b"finite number"),
        (["--method", "grpo", "--backup", "likelihood"], 2, b"--backup belongs to --method treeopsd and tree-pg; grpo"),
        (["--method", "gigpo", "--map", "odds"], 2, b"--map belongs to --method treeopsd; gigpo"),
        (["--method", "tree-pg", "--radius", "0.2"], 2, b"--radius belongs to --method treeopsd; tree-pg"),
        (["--backup", "mean", "--tau", "1"], 2, b"--tau belongs to --backup likelihood; mean"),
        (["--method", "tree-pg", "--backup", "mean", "--turn-credit", "listwise"], 0, b""),
        (["--per-turn", "--as", "verl"], 2, b"give one"),
        (["--method", "treerl"], 0, b""),
    ],
)
def test_choices_that_cannot_be(tmp_path: Path, args: list[str], code: int, said: bytes) -> None:
    assert said in within("credit", write(tmp_path / "r.jsonl", tree()), *args, check=code).stderr


@pytest.mark.parametrize("args", [["--tau", "1e-320"], ["--scale", "1e-320"], ["--map", "logistic", "--radius", "4.9"]])
def test_extreme_choices_stay_numbers(tmp_path: Path, args: list[str]) -> None:
    """With tau near 0 the likelier action alone counts: V(a) = 1; no warning of numpy reaches the terminal."""
    records = tree()
    for one, logprob in zip(records, (-1.0, -2.0), strict=True):
        one["steps"][0]["logprob"], one["steps"][1]["logprob"] = -1.0, logprob
    done = within("credit", write(tmp_path / "r.jsonl", records), *args)
    assert done.stderr.startswith(b"xskill credit: read 2")
    first = rows(done.stdout)[1]
    assert all(0 < q < 1 for q in first["targets"])
    assert all(ratio is not None for ratio in first["target_ratios"])
    if "--tau" in args:
        assert first["values"][0] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"question_id": None}, "question_id: expected a string, got null"),
        ({"steps": None}, "steps: expected a list, got null"),
        ({"reward": "1"}, 'reward: expected a number or null, got "1"'),
        ({"id": "r0"}, "id: the id 'r0' occurs twice in question 'q'"),
        ({"steps": [{"action": 12}]}, "steps[0].action: expected a string, got 12"),
        ({"steps": [{"action": "a", "n_tokens": 0}]}, "steps[0].n_tokens"),
        ({"steps": [{"action": "a", "logprob": [-1, None]}]}, "steps[0].logprob"),
        (
            {"steps": [{"action": "a", "logprob": [-1], "logprob_new": [-1, -2]}]},
            "steps[0].logprob_new: expected 1 entries, one a token, got 2",
        ),
        (
            {"steps": [{"action": "a", "logprob": [-1], "extra": {"mask": [1, 0]}}]},
            "steps[0].extra.mask: expected 1 entries, got 2",
        ),
        ({"parent": {"id": "r0", "turn": -1}}, "parent.turn"),
    ],
)
def test_a_bad_record_stops_the_run_or_goes_to_the_rejects(tmp_path: Path, change: Any, said: str) -> None:
    records = [*tree(), {**record("bad", "ab", 1.0), **change}]
    path = write(tmp_path / "r.jsonl", records)
    done = within("credit", path, check=65)
    assert f"r.jsonl:3: {said}" in done.stderr.decode()
    assert done.stdout == b""
    rejects = tmp_path / "rejects.jsonl"
    kept = within("credit", path, "--rejects", rejects)
    assert [row.get("id") for row in rows(kept.stdout)] == [None, "r0", "r1"]
    (row,) = rows(rejects.read_bytes())
    assert said in row["reason"]
    assert json.loads(row["raw"])["actions"] == records[2]["actions"]


def test_nothing_comes_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    within("credit", tmp_path / "empty.jsonl", check=66)
    within("credit", tmp_path / "missing.jsonl", check=66)
    header_only = rows(within("credit", write(tmp_path / "r.jsonl", tree())).stdout)[0]
    within("credit", write(tmp_path / "h.jsonl", [header_only]), check=66)


def test_same_bytes_for_any_container(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", tree())
    plain = within("credit", path).stdout
    (tmp_path / "r.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert within("credit", tmp_path / "r.gz").stdout == plain
    assert within("credit", stdin=path.read_bytes()).stdout == plain
    within("credit", path, "-o", tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == plain


def test_real_rollouts_through_canon(sample_data: Path) -> None:
    """504 rollouts in 42 trees: every prefix checked against its parent, six questions without variance."""
    logs = sample_data / "rollouts.jsonl.gz"
    done = pipeline(f"xskill canon {logs} | xskill credit | xskill rollout show --question alf-x 2>&1; true")
    assert b"--question alf-x: not in the input" in done.stdout
    done = pipeline(f"xskill canon -q {logs} | xskill credit")
    header = json.loads(done.stdout.splitlines()[0])
    stats = header["stats"]
    assert (stats["questions"], stats["trajectories"], stats["turns"]) == (42, 504, 5307)
    assert stats["zero_variance"] == 6
    assert stats["questions_without_logprob"] == 0


def test_tree_logs_through_canon() -> None:
    """12 problems of Tree of Thoughts: 879 rollouts that share 1,059 thoughts."""
    logs = Path(__file__).parent.parent / "data" / "canon" / "i_trees" / "tot_game24_bfs_first12.json.gz"
    done = pipeline(f"xskill canon -q {logs} | xskill rollout build --json -q")
    found = json.loads(done.stdout)
    assert (found["questions"], found["trajectories"], found["nodes"], found["depth"]) == (12, 879, 1057, 4)
    done = pipeline(f"xskill canon -q {logs} | xskill credit -q")
    assert json.loads(done.stdout.splitlines()[0])["stats"]["unfinished"] == 819


def test_log_probabilities_above_0_are_told(tmp_path: Path) -> None:
    records = tree()
    for one in records:
        for step in one["steps"]:
            step |= {"logprob": -0.5, "logprob_new": 1e-7}
    path = write(tmp_path / "r.jsonl", records)
    assert b"above 0" not in within("credit", path).stderr
    assert "above 0" not in within("rollout", "check", path).stdout.decode()
    records[1]["steps"][0]["logprob"] = 0.5
    done = within("credit", write(path, records))
    assert b"1 turns have log-probabilities above 0: is their sign turned?" in done.stderr
    assert rows(done.stdout)[0]["stats"]["positive_logprobs"] == 1
    said = within("rollout", "check", path).stdout.decode()
    assert "warning: 25.0% of the turns have log-probabilities above 0" in said

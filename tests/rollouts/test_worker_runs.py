"""Order, several workers, Ctrl-C and --resume: always the bytes of the plain run."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.rollouts.commands import assert_ended, lines, within, write_tasks

NULL = "xskill worker null --breadth 3 --depth 5"
SLOW = f"{NULL} --delay 0.03"
SAMPLERS = {"expand": (), "puct": ("--iterations", "10")}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tasks(tmp_path_factory.mktemp("tasks") / "tasks.jsonl", 6)


@pytest.fixture(scope="module", params=SAMPLERS)
def sampler(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return (request.param, *SAMPLERS[request.param])


@pytest.fixture(scope="module")
def plain(sampler: tuple[str, ...], tasks: Path) -> str:
    result = within("rollout", *sampler, tasks, "--worker", NULL)
    assert result.returncode == 0, result.stderr
    return result.stdout


def start(*arguments: str | Path, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "xskill", "rollout", *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_workers(process: subprocess.Popen[str], n: int) -> None:
    """Until so many workers run; the driver has installed its signal handlers before it starts any."""

    def started() -> bool:
        children = subprocess.run(["ps", "--ppid", str(process.pid)], capture_output=True, text=True, check=False)
        return len(children.stdout.splitlines()) > n

    wait_for(started)


def wait_for(happened: Callable[[], bool]) -> None:
    for _ in range(1000):
        if happened():
            return
        time.sleep(0.1)
    raise AssertionError("it never happened")


def read_until(process: subprocess.Popen[str], text: str) -> None:
    """Until the process has said so on stderr."""
    assert process.stderr is not None
    while text not in (line := process.stderr.readline()):
        assert line, f"it ended without saying: {text}"


def held_from_q3(folder: Path) -> str:
    """The null worker, which from the fourth question on says in ``folder`` that it is there, and waits for a word."""
    script = folder / "held.sh"
    script.write_text(
        f"""while read -r line; do
            case $line in
                *'"q'[3-5]'"'*) touch {folder}/reached; until test -e {folder}/go; do sleep 0.1; done;;
            esac
            printf '%s\\n' "$line"
        done | {sys.executable} -m {NULL}
        """
    )
    return f"sh {script}"


def test_any_number_of_workers_gives_the_same_bytes(sampler: tuple[str, ...], tasks: Path, plain: str) -> None:
    result = within("rollout", *sampler, tasks, "--worker", NULL, "-j", "4")
    assert result.stdout == plain
    assert within("rollout", *sampler, tasks, "--worker", NULL, "--seed", "1").stdout != plain


def test_a_question_does_not_depend_on_the_others(sampler: tuple[str, ...], tasks: Path, plain: str) -> None:
    turned = "".join(reversed(tasks.read_text().splitlines(keepends=True)))
    result = within("rollout", *sampler, "--worker", NULL, stdin=turned)
    assert sorted(result.stdout.splitlines()) == sorted(plain.splitlines())


def test_ctrl_c_finishes_what_is_in_flight_and_resume_gives_the_same_bytes(
    sampler: tuple[str, ...], tasks: Path, plain: str, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    process = start(*sampler, tasks, "--worker", held_from_q3(tmp_path), "-j", "2", "-o", out)
    wait_for((tmp_path / "reached").exists)
    process.send_signal(signal.SIGINT)
    read_until(process, "finishing the questions in flight")
    (tmp_path / "go").touch()
    _, stderr = process.communicate(timeout=100)
    assert process.returncode == 130, stderr
    assert f"go on with --resume {out}" in stderr
    found = out.read_text()
    questions = {row["question_id"] for row in lines(found)}
    assert 0 < len(questions) < 6
    # Whole questions only, and those of the plain run.
    kept = [line for line in plain.splitlines(keepends=True) if json.loads(line)["question_id"] in questions]
    assert found == "".join(kept)

    resumed = within("rollout", *sampler, tasks, "--worker", NULL, "--resume", out, "-o", out)
    assert resumed.returncode == 0, resumed.stderr
    assert out.read_text() == plain
    assert f"resumed {len(questions)}" in resumed.stderr

    again = within("rollout", *sampler, tasks, "--worker", "false", "--resume", out)  # nothing is left to be asked
    assert again.stdout == plain


def test_the_second_ctrl_c_drops_what_is_in_flight(tasks: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("an older file\n")
    process = start("expand", tasks, "--worker", f"{NULL} --delay 600", "-j", "2", "-o", out)
    wait_for_workers(process, 2)
    process.send_signal(signal.SIGINT)
    read_until(process, "finishing the questions in flight")
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=100)
    assert process.returncode == 130, stderr
    assert "dropping what is in flight" in stderr
    assert out.read_text() == "an older file\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


def test_a_killed_run_leaves_a_stream_to_resume_from(tasks: Path, tmp_path: Path) -> None:
    plain = within("rollout", "expand", tasks, "--worker", NULL).stdout
    cut = tmp_path / "cut.jsonl"
    for size in (len(plain) // 3, len(plain) - 5):
        cut.write_text(plain[:size])
        result = within("rollout", "expand", tasks, "--worker", NULL, "--resume", cut)
        assert result.returncode == 0, result.stderr
        assert result.stdout == plain
        assert "truncated?" in result.stderr
    cut.write_text("")
    result = within("rollout", "expand", tasks, "--worker", NULL, "--resume", cut)
    assert result.stdout == plain


def test_a_killed_driver_takes_its_workers_with_it(tasks: Path) -> None:
    process = start("expand", tasks, "--worker", f"{NULL} --delay 0.3 --depth 77")
    wait_for_workers(process, 1)
    process.kill()
    process.communicate()
    assert_ended("--delay 0.3 --depth 77")


def test_resume_refuses_other_choices(tasks: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    within("rollout", "expand", tasks, "--worker", NULL, "-o", out)
    result = within("rollout", "expand", tasks, "--worker", NULL, "--resume", out, "-B", "3")
    assert result.returncode == 2
    assert "was sampled with branches 2, this run has 3" in result.stderr
    other = within("rollout", "expand", "--worker", NULL, "--resume", out, stdin='{"id": "q3"}\n')
    assert [row["question_id"] for row in lines(other.stdout)] == ["q3"] * 12
    assert "5 questions that are not among the tasks are left out" in other.stderr
    result = within("rollout", "puct", tasks, "--worker", NULL, "--resume", out)
    assert result.returncode == 2
    assert "'expand', this run has 'puct'" in result.stderr


def test_a_reader_that_leaves_ends_the_run(tasks: Path) -> None:
    process = start("expand", tasks, "--worker", SLOW, "-j", "2", stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, stderr = process.communicate(timeout=100)
    assert process.returncode == 141, stderr


def test_given_episodes_are_expanded_and_resumed(tasks: Path, tmp_path: Path) -> None:
    first, out = tmp_path / "first.jsonl", tmp_path / "out.jsonl"
    within("rollout", "expand", tasks, "--worker", NULL, "-N", "2", "-B", "0", "-o", first)
    grown = within("rollout", "expand", "--from", first, "--worker", NULL, "-B", "3")
    assert grown.returncode == 0, grown.stderr
    rows = lines(grown.stdout)
    assert [row["id"] for row in rows[:8]] == ["q0/0", "q0/1", *(f"q0/{i}.{b}" for i in (0, 1) for b in (0, 1, 2))]
    assert [row for row in rows if "parent" not in row] == lines(first.read_text())
    assert "read 6; kept 6" in grown.stderr

    out.write_text("".join(grown.stdout.splitlines(keepends=True)[:21]))  # two questions and a part of the third
    resumed = within("rollout", "expand", "--from", first, "--worker", NULL, "-B", "3", "--resume", out)
    assert resumed.stdout == grown.stdout
    assert "resumed 2" in resumed.stderr

    deeper = within("rollout", "expand", "--from", "-", "--worker", NULL, "-B", "1", stdin=grown.stdout)
    assert deeper.returncode == 0, deeper.stderr
    names = [row["id"] for row in lines(deeper.stdout)]
    assert len(names) == len(set(names)) == 96
    checked = within("rollout", "build", "-", "--json", stdin=deeper.stdout)
    assert checked.returncode == 0, checked.stderr


def test_tasks_by_number_and_their_mistakes(tmp_path: Path) -> None:
    result = within("rollout", "expand", "--worker", NULL, "-N", "1", "-B", "0", stdin='{"id": 7, "hint": "left"}\n')
    (row,) = lines(result.stdout)
    assert (row["id"], row["question_id"], row["extra"]["hint"]) == ("7/0", "7", "left")
    bad = '{"id": "a"}\n{"id": "a"}\n{"task": "nameless"}\n{"id": 1.5}\n'
    result = within("rollout", "expand", "--worker", NULL, stdin=bad)
    assert result.returncode == 65
    assert "-:2: id: 'a' came before" in result.stderr
    rejects = tmp_path / "rejects.jsonl"
    result = within("rollout", "expand", "--worker", NULL, "--rejects", rejects, stdin=bad)
    assert result.returncode == 0
    assert "read 4; kept 1; rejected 3" in result.stderr
    assert [(row["file"], row["line"]) for row in lines(rejects.read_text())] == [("-", 2), ("-", 3), ("-", 4)]
    assert within("rollout", "expand", "--worker", NULL, stdin="").returncode == 66


def test_parquet_holds_the_same_records(tasks: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    plain = within("rollout", "puct", tasks, "--iterations", "10", "--worker", NULL)
    result = within("rollout", "puct", tasks, "--iterations", "10", "--worker", NULL, "-o", out)
    assert result.returncode == 0, result.stderr
    back = within("filter", "true", out)
    assert lines(back.stdout) == lines(plain.stdout)
    resumed = within("rollout", "puct", tasks, "--iterations", "10", "--worker", "false", "--resume", out)
    assert lines(resumed.stdout) == lines(plain.stdout)


def test_skills_of_the_bank_reach_the_worker(tmp_path: Path) -> None:
    told = tmp_path / "told.py"
    told.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    r = json.loads(line)\n"
        "    a = {'done': False, 'task': 'heat an egg', 'task_type': 'heat'} if r['op'] == 'reset' else\\\n"
        "        {'steps': [{'action': json.dumps(r['skills'])}], 'done': True}\n"
        "    print(json.dumps(a), flush=True)\n"
    )
    skill = {"schema": "xskill.skill/1", "id": "g1", "tier": "general", "title": "Look first", "principle": "Look."}
    heat = {**skill, "id": "t1", "tier": "task", "task_type": "heat", "title": "Heat", "steps": ["open it"]}
    cool = {**heat, "id": "t2", "task_type": "cool", "title": "Cool it down", "steps": ["freeze"]}
    bank = tmp_path / "bank.jsonl"
    bank.write_text("".join(json.dumps(s) + "\n" for s in (skill, heat, cool)))
    result = within(
        *("rollout", "expand", "-N", "1", "-B", "0", "--bank", bank, "--worker", f"{sys.executable} {told}"),
        stdin='{"id": "x"}\n',
    )
    assert result.returncode == 0, result.stderr
    (row,) = lines(result.stdout)
    skills = json.loads(row["steps"][0]["action"])
    assert [s["id"] for s in skills] == ["g1", "t1"]
    assert skills[1] == {name: value for name, value in heat.items() if name != "schema"}
    assert row["task"] == "heat an egg"
    assert len(row["extra"]["rollout"]["bank"]) == 16


def test_options_that_no_search_can_take(tasks: Path) -> None:
    result = within("rollout", "puct", tasks, "--worker", NULL, "--prior", "sideways")
    assert result.returncode == 2
    assert "expected one of auto, worker, logprob, uniform" in result.stderr

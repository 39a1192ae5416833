"""The rule language, the readers beneath it, and what a canonicalizer promises for any input."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xskill.canon.actions.canonicalizer import MAX_UNMATCHED, Canonicalizer, Unmatched
from xskill.canon.actions.parse_call import name_words, parse_call, split_json_call
from xskill.canon.actions.parse_shell import read_command
from xskill.canon.actions.parse_text import read_text
from xskill.canon.actions.profile import PROFILE_NAMES, load_profile, parse_profile
from xskill.errors import UsageError

TOKEN = re.compile(r"[^<>\x00-\x1f]{1,48}(<[^<>\x00-\x1f]{1,48}>)?")
CANONICALIZERS = {name: Canonicalizer(load_profile(name)) for name in PROFILE_NAMES}


def profile_with(text: str) -> Canonicalizer:
    return Canonicalizer(parse_profile(text, "mine.toml"))


def test_an_unknown_name_is_told_with_the_names_that_exist() -> None:
    with pytest.raises(UsageError, match=r"no profile 'alfword'.*alfworld, scienceworld"):
        load_profile("alfword")


def test_a_profile_is_a_file_that_a_user_can_write(tmp_path: Path) -> None:
    file = tmp_path / "kitchen.toml"
    file.write_text('[[rule]]\nmatch = "cook {dish} in {pot}"\nverb = "cook"\nrole = "dish"\n', encoding="utf-8")
    canonicalizer = Canonicalizer(load_profile(str(file)))
    assert canonicalizer.action("Cook  rice in pan 2") == ("cook<dish>", ("rice", "pan 2"), True)
    assert canonicalizer.action("eat rice") == ("eat<rice>", ("rice",), False)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("rule = [", "not a valid profile"),
        ('[[rules]]\nverb = "x"', "unknown key 'rules'"),
        ('[[rule]]\nmatch = "x"', "rule 1: it has no verb"),
        ('[[rule]]\nmatch = "x"\nverb = "x"\nrole = "{a|nothing}"', "'nothing' in '{a|nothing}' is no class table"),
        ('[[rule]]\nmatch = "x {a:b}"\nverb = "x"', "slot pattern 'b' is not among"),
        ('[[rule]]\nmatch = "x {a} {a}"\nverb = "x"', "rule 1: redefinition of group name"),
        ('[[rule]]\nmatch = "x"\nverb = "x"\nargs = ["y"]', "args names 'y'"),
        ('[[rule]]\nmatch = "x"\nverb = "x"\nverbs = "x"', "unknown key 'verbs'"),
        ('[[rule]]\non = "speech"\nverb = "x"', "on = 'speech'"),
        ('[[rule]]\nmatch = "do {x}"\naction_in = "x"', "action_in is for rules with call"),
        ('[[rule]]\ncall = "f"\nverb = "x"\nargs = ["y"]', "args is for rules with match"),
        ('[[rule]]\nmatch = "x"\ncall = "f"\nverb = "x"', "match goes without call"),
        ('[classes.a]\nby = "magic"', "by = 'magic' is none of substring"),
        ('[shell]\nstrange = ["x"]', "unknown list shell.strange"),
        ('include = ["nothing"]', "cannot include 'nothing'"),
        ('[[rule]]\nmatch = "x"\nverb = "x"\nwhere = { a = "(" }', "rule 1:"),
        ("rule = 3", "not a valid profile"),
    ],
)
def test_a_broken_profile_says_what_is_wrong(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=f"mine.toml.*{re.escape(reason)}"):
        parse_profile(text, "mine.toml")


def test_a_file_that_is_no_text_is_a_one_line_error(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="cannot read the profile"):
        load_profile(str(file))
    with pytest.raises(UsageError, match="cannot read the profile"):
        load_profile(str(tmp_path))


def test_rules_are_tried_in_order_and_a_filter_that_gives_up_passes_on() -> None:
    canonicalizer = profile_with(
        """
        [classes.known]
        roles = { fruit = ["apple"] }
        [[rule]]
        match = "eat {x}"
        verb = "eat"
        role = "{x|known}"
        [[rule]]
        match = ["eat {x}", "devour {x}"]
        verb = "eat"
        role = "thing"
        """
    )
    assert canonicalizer.action("eat green apple 3")[0] == "eat<fruit>"
    assert canonicalizer.action("eat stone")[0] == "eat<thing>"
    assert canonicalizer.action("devour apple")[0] == "eat<thing>"


@pytest.mark.parametrize(
    ("by", "value", "role"),
    [
        ("substring", "prejudice", "cold"),
        ("word", "prejudice", "prejudice"),
        ("word", "some ice 4", "cold"),
        ("exact", "some ice", "some ice"),
        ("exact", "Ice 2", "cold"),
        ("suffix", "dry ice", "cold"),
        ("pattern", "xiceberg", "cold"),
    ],
)
def test_class_tables(by: str, value: str, role: str) -> None:
    canonicalizer = profile_with(
        f'[classes.c]\nby = "{by}"\notherwise = "self"\nroles = {{ cold = ["ice"] }}\n'
        '[[rule]]\nmatch = "see {x}"\nverb = "see"\nrole = "{x|c}"\n'
    )
    assert canonicalizer.action(f"see {value}") == (f"see<{role}>", (value,), True)


def test_a_slot_that_stands_in_the_role_is_no_arg_unless_it_is_asked_for() -> None:
    text = '[[rule]]\nmatch = "go {place}"\nverb = "go"\nrole = "{place}"\n'
    assert profile_with(text).action("go Home") == ("go<home>", (), True)
    assert profile_with(text + 'args = ["place"]\n').action("go Home") == ("go<home>", ("Home",), True)


def test_calls_by_name_with_parameters_and_conditions() -> None:
    canonicalizer = profile_with(
        """
        [[rule]]
        call = "press"
        params = ["key"]
        where = { key = "^enter$" }
        verb = "confirm"
        [[rule]]
        call = "press"
        params = ["key"]
        verb = "press"
        role = "{key}"
        [[rule]]
        call = "device"
        name_from = "do"
        """
    )
    assert canonicalizer.action("ui.press('ENTER')")[0] == "confirm"
    assert canonicalizer.action("press(tab)")[0] == "press<tab>"
    assert canonicalizer.action('mcp__ui__press({"key":"tab"})', kind="call") == ("press<tab>", ("tab",), True)
    assert canonicalizer.action('device({"do":"press","key":"enter"})', kind="call")[0] == "confirm"
    assert canonicalizer.action('device({"do":"device"})', kind="call") == ("device", ("device",), False)


def test_a_call_that_a_condition_let_down_is_not_remembered_by_its_name() -> None:
    gui = Canonicalizer(load_profile("gui"))
    assert gui.action('computer({"action":"unheard_of"})', kind="call") == ("computer", ("unheard_of",), False)
    assert gui.action('computer({"action":"left_click"})', kind="call") == ("click<left>", ("left_click",), True)


def test_a_tool_that_takes_an_action_in_words() -> None:
    alfworld = CANONICALIZERS["alfworld"]
    assert alfworld.action('mcp__env__step({"action":"open drawer 2"})', kind="call") == (
        "open<container>",
        ("open drawer 2",),
        True,
    )
    assert alfworld.action('step({"action":"fly away"})', kind="call") == ("step", ("fly away",), False)


def test_values_of_the_goal_name_the_option() -> None:
    shop = CANONICALIZERS["webshop"]
    goal = {"flavor name": "Caramel", "size": "4.41 ounce"}
    assert shop.action("click[caramel]", goal_options=goal)[0] == "click<option-flavor-name>"
    assert shop.action("click[caramel]")[0] == "click<option>"
    assert shop.action("click[caramel]", goal_options={"color": "caramel"})[0] == "click<option-color>"


@pytest.mark.parametrize(
    ("line", "token", "args"),
    [
        ("ls", "ls", []),
        ("ls -la /var/log/", "ls<directory>", ["/var/log/"]),
        ("git status", "git status", []),
        ("git -C repo log --oneline -n 5", "git log", []),
        ("pip install requests==2.31", "pip install<name>", ["requests==2.31"]),
        ("python3 /app/solve.py --n 3", "python<code>", ["/app/solve.py", "--n", "3"]),
        ("python -m http.server 8000", "http", ["8000"]),
        ("cd /app; make -j 4 all", "make<name>", ["all"]),
        ("FOO=1 BAR='a b' ./configure --prefix=/usr", "run<directory>", ["./configure"]),
        ("sudo -E timeout 10s apt-get install -y jq", "apt-get install<name>", ["jq"]),
        ("echo done", "echo<name>", ["done"]),
        ("echo 'a: 1' > conf/app.yaml", "write<config>", ["conf/app.yaml"]),
        ("cat a.txt b.txt | sort | uniq -c > out.csv", "cat<document>", ["a.txt", "b.txt"]),
        ("ps aux | grep node | awk '{print $2}' | xargs kill", "ps<name>", ["aux"]),
        ("if [ -f x.py ]; then python x.py; fi", "python<code>", ["x.py"]),
        ("while read l; do curl $l; done < urls.txt", "curl<variable>", ["$l"]),
        ("(cd a && npm test)", "npm test", []),
        ("cat <<EOF | python\nprint(1)\nEOF", "python<inline>", []),
        ("python <<'PY' && rm -rf build/\nimport os\nPY", "rm<directory>", ["build/"]),
        ("mysql -u root <<< 'select 1'", "mysql<name>", ["root"]),
        ("grep -rn -A 3 'def main' src/app.py", "grep<code>", ["def main", "src/app.py"]),
        ("find . -name '*.py' | xargs grep -l TODO", "find<directory>", [".", "*.py"]),
        ('["bash","-lc","cd x && pytest -q"]', "pytest", []),
        ('["git","commit","-m","two words here"]', "git commit<text>", ["two words here"]),
        ("export TOKEN=<redacted:secret> && curl https://x.org/a", "curl<url>", ["https://x.org/a"]),
        ("docker compose up -d", "docker compose<name>", ["up"]),
        ("pytest tests/test_a.py::test_b -x", "pytest<test>", ["tests/test_a.py::test_b"]),
        ("# only a comment", "shell<inline>", []),
        ("", "shell", []),
        ("x = 1\nprint(x)", "python<inline>", []),
        ("for i in range(3):\n    print(i)", "python<inline>", []),
        ("insert 3\nfoo()\nend_of_insert", "insert", ["3"]),
        ("echo 'unbalanced", "echo<name>", ["unbalanced"]),
        ("rm $(find . -name '*.pyc')", "rm<variable>", ["$(find . -name '*.pyc')"]),
    ],
)
def test_a_shell_line_is_one_action(line: str, token: str, args: list[str]) -> None:
    assert CANONICALIZERS["shell"].action(line, kind="command") == (token, tuple(args), True)


def test_inline_code_does_not_grow_the_vocabulary() -> None:
    lines = [f"python -c 'print({n})'" for n in range(50)]
    lines += [f"cat > step_{n}.py <<'EOF'\nvalue_{n} = {n}\nEOF" for n in range(50)]
    lines += [f"python3 - <<END\nimport m{n}\nEND" for n in range(50)]
    lines += [f"cd /tmp/{n} && node -e 'console.log({n})'" for n in range(50)]
    tokens = {CANONICALIZERS["shell"].action(line, kind="command")[0] for line in lines}
    assert tokens == {"python<inline>", "write<code>", "node<inline>"}


def test_the_same_command_has_one_token_from_a_command_and_from_a_shell_tool() -> None:
    line = "cd /repo && git diff -- src/a.py"
    tools = CANONICALIZERS["tools"]
    token = tools.action(line, kind="command")[0]
    assert token == "git diff<code>"
    assert tools.action("x", kind="call", name="Bash", arguments={"command": line, "timeout": 5}) == (
        token,
        (line, "5"),
        True,
    )
    assert tools.action(f"exec_command({orjson.dumps({'cmd': line}).decode()})", kind="call")[0] == token


@pytest.mark.parametrize(
    ("text", "name", "positional", "named"),
    [
        ("f()", "f", (), {}),
        ('f(1, \'a, b\', "c\\"d")', "f", ("1", "a, b", 'c"d'), {}),
        ("f(x=1, y=[1, 2], z={'a': (1, 2)})", "f", (), {"x": "1", "y": "[1, 2]", "z": "{'a': (1, 2)}"}),
        ('f({"b": 1, "a": "x"})', "f", (), {"b": "1", "a": "x"}),
        ("f(a == b)", "f", ("a == b",), {}),
        ("f('unbalanced, x)", "f", ("'unbalanced, x",), {}),
        ("Search[Milhouse [character]]", "Search", ("Milhouse [character]",), {}),
        ("type [42] [a b] [1]", "type", ("42", "a b", "1"), {}),
    ],
)
def test_call_syntax(text: str, name: str, positional: tuple[str, ...], named: dict[str, str]) -> None:
    call = parse_call(text)
    assert call is not None
    assert (call.name, call.positional, call.named) == (name, positional, named)


@pytest.mark.parametrize("text", ["look around", "focus on book (pride)", "(x)", "", "1(2)", "f(x) and more"])
def test_no_call_syntax(text: str) -> None:
    assert parse_call(text) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("get_user_details", ("get", "user_details")),
        ("getUserDetails", ("get", "user_details")),
        ("HTTPGet", ("http", "get")),
        ("mcp__git_hub__create_issue", ("create", "issue")),
        ("functions.exec_command", ("exec", "command")),
        ("think", ("think", "")),
        ("Read", ("read", "")),
        ("___", ("call", "")),
        ("", ("call", "")),
    ],
)
def test_words_of_a_function_name(name: str, words: tuple[str, str]) -> None:
    assert name_words(name) == words


@pytest.mark.parametrize(
    ("text", "verb", "object_", "phrases"),
    [
        ("take mug 1 from desk 2", "take", "mug", ("mug 1", "desk 2")),
        ("turn on the lamp", "turn on", "lamp", ("lamp",)),
        ("go north", "go", "north", ("north",)),
        ("wait1", "wait", "", ("1",)),
        ("say 'a b c'", "say", "text", ("'a b c'",)),
        ("write one two three four five six", "write", "text", ("one two three four five six",)),
        ("42", "choose", "", ("42",)),
        ("right", "right", "", ()),
        ("你好 世界", "你好", "世界", ("世界",)),
        ("", "nothing", "", ()),
    ],
)
def test_any_text(text: str, verb: str, object_: str, phrases: tuple[str, ...]) -> None:
    action = read_text(text)
    assert (action.verb, action.object, action.phrases) == (verb, object_, phrases)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@given(
    name=st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]{0,20}", fullmatch=True),
    arguments=st.dictionaries(st.text(max_size=8), json_values, max_size=4),
)
def test_a_call_read_from_its_raw_text_equals_the_call_itself(name: str, arguments: dict[str, Any]) -> None:
    raw = f"{name}({orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS).decode()})"
    assert split_json_call(raw) == (name, arguments)
    for profile in ("tools", "gui", "alfworld"):
        fresh = Canonicalizer(load_profile(profile))
        by_value = CANONICALIZERS[profile].action(raw, kind="call", name=name, arguments=arguments)
        assert fresh.action(raw, kind="call") == by_value
        texts = [
            value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
            for _, value in sorted(arguments.items())
        ]
        assert list(by_value[1]) == texts


raws = st.text(max_size=80) | st.text(alphabet="abz019 \t\n'\"\\()[]{}<>|&;$`#=-./_:,", max_size=120)


@settings(max_examples=300)
@given(raw=raws, kind=st.sampled_from(["action", "call", "command", "respond"]), role=st.none() | raws)
def test_any_action_gets_a_well_formed_token_and_always_the_same(raw: str, kind: str, role: str | None) -> None:
    for canonicalizer in CANONICALIZERS.values():
        token, args, matched = canonicalizer.action(raw, kind=kind, role=role)
        assert TOKEN.fullmatch(token), token
        assert all(isinstance(value, str) for value in args)
        assert canonicalizer.action(raw, kind=kind, role=role) == (token, args, matched)


def test_generic_knows_everything() -> None:
    generic = Canonicalizer(load_profile("generic"))
    for raw, kind in [("look", "action"), ("f(1)", "action"), ("ls", "command"), ("g({})", "call"), ("hi", "respond")]:
        assert generic.action(raw, kind=kind)[2]
    assert generic.unmatched.total == 0


def test_respond_is_the_same_everywhere() -> None:
    for canonicalizer in CANONICALIZERS.values():
        assert canonicalizer.action("Hello there", kind="respond") == ("respond<user>", (), True)


def test_unmatched_actions_are_counted_each_time_and_listed_once() -> None:
    canonicalizer = Canonicalizer(load_profile("alfworld"))
    for raw in ["dance", "go to fridge 1", "dance", "sing loudly"]:
        canonicalizer.action(raw)
    assert (canonicalizer.unmatched.total, canonicalizer.unmatched.distinct) == (3, 2)
    assert canonicalizer.unmatched.most_common() == [("dance", 2), ("sing loudly", 1)]


def test_the_list_of_unmatched_actions_is_bounded_and_adds_up() -> None:
    first, second = Unmatched(), Unmatched()
    for number in range(MAX_UNMATCHED + 5):
        first.add(str(number))
    second.add("0", 3)
    second.add("new")
    first.update(second)
    assert first.total == MAX_UNMATCHED + 5 + 4
    assert first.distinct == MAX_UNMATCHED
    assert first.full
    assert first.most_common()[0] == ("0", 4)


HOSTILE = {
    "spaces": "move " + " " * 60_000 + "x",
    "prepositions": "move x " + "to " * 3_000,
    "brackets": "click" + "[" * 60_000,
    "parentheses": "f(" + "(" * 60_000,
    "closing": "f(" + ") " * 30_000 + "x",
    "quotes": "f(" + "'" * 60_001 + ")",
    "commas": "f(" + "," * 60_000 + ")",
    "backslashes": 'f("' + "\\" * 60_000 + '")',
    "newlines": "\n" * 60_000 + "ls",
    "comments": "#\n" * 30_000 + "ls",
    "pipes": "a|" * 30_000,
    "substitutions": "$(" * 30_000,
    "heredocs": "cat <<A\n" * 5_000,
    "variables": "A=1 " * 15_000,
    "sudo": "sudo " * 12_000,
    "one word": "x" * 100_000,
    "digits": "1 " * 40_000,
    "dots": "a." * 40_000 + "(",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_costs_bounded_time(name: str) -> None:
    for profile in PROFILE_NAMES:
        for kind in ("action", "command", "call"):
            fresh = Canonicalizer(load_profile(profile))
            start = time.process_time()
            token, _, _ = fresh.action(HOSTILE[name], kind=kind)
            assert time.process_time() - start < 1.0, (profile, kind)
            assert TOKEN.fullmatch(token)


def test_a_deeply_nested_shell_does_not_recurse_without_end() -> None:
    line = "ls"
    for _ in range(200):
        line = f"bash -c {orjson.dumps(line).decode()}"
        if len(line) > 50_000:
            break
    assert read_command(line, load_profile("shell").shell).program in ("ls", "bash", "shell")

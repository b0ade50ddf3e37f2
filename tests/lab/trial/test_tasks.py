"""The tasks of a trial: what is right is told right, and what is wrong is not."""

import json

import pytest

from pageturn.lab.trial.facts import NOT_SAID, Question, facts_task
from pageturn.lab.trial.folders import read_task
from pageturn.lab.trial.repository import repository_task
from pageturn.lab.trial.rules import rules_task
from pageturn.lab.trial.sandbox import Sandbox
from pageturn.values.errors import InvalidInput
from pageturn.values.json import to_json
from pageturn.values.messages import ToolCall


def call(name, **arguments):
    return ToolCall(id="c", name=name, arguments=to_json(arguments).decode())


@pytest.mark.parametrize("make", [facts_task, rules_task, repository_task])
def test_a_task_is_the_same_for_the_same_seed_and_as_long_as_asked(make):
    one, again, other = make(1, tokens=8_000), make(1, tokens=8_000), make(2, tokens=8_000)
    assert one.history() == again.history() != other.history()
    chars = sum(
        len(message.text) + sum(len(part.content) for part in message.tool_results) for message in one.history()
    )
    assert 0.7 < chars / 4 / 8_000 < 1.5


def test_the_history_says_what_is_asked_for():
    for seed in range(5):
        task = facts_task(seed, tokens=6_000)
        said = "\n".join(task.days)
        assert {question.kind for question in task.questions} == {"look-up", "update", "list", "order", "never said"}
        for question in task.questions:
            assert all(line in said for line in question.evidence)
            assert bool(question.evidence) == (question.right != (NOT_SAID,))
            assert ", ".join(question.right) in question.options
            assert question.is_answered_by(", ".join(question.right))
            assert not any(question.is_answered_by(wrong) for wrong in question.wrong)


@pytest.mark.parametrize(
    ("right", "wrong", "answer", "is_right"),
    [
        (("17",), ("12",), "Bay 17.", True),
        (("17",), ("12",), "I think it was bay 12.\nNo: bay **17**", True),
        (("17",), ("12",), "12 or 17", False),
        (("17",), ("12",), "117", False),
        (("17",), ("12",), "", False),
        (("scanner", "lamp"), ("lamp, gate",), "Lamp and scanner", True),
        (("scanner", "lamp"), ("lamp, gate",), "lamp", False),
        (("scanner", "lamp"), ("lamp, gate",), "lamp, scanner, gate", False),
        ((NOT_SAID,), ("12",), "Not said.", True),
        ((NOT_SAID,), ("12",), "12", False),
        (("17",), ("12",), "17, or perhaps it was not said", False),
    ],
)
def test_an_answer_is_judged_by_what_it_names(right, wrong, answer, is_right):
    assert Question("k", "?", right, wrong).is_answered_by(answer) is is_right


def test_rules_are_kept_only_by_who_keeps_them():
    task = rules_task(1, tokens=1_000)
    ours = [path for path in task.files if not path.startswith("build/")]
    with task.opened() as good, task.opened() as bad:
        for path in ours:
            good.run(call("write_file", path=path, content=task.files[path].replace("recieve", "receive")))
        for path in task.files:
            bad.run(call("write_file", path=path, content=task.files[path].replace("recieve", "receive")))
        assert good.check(0, "Done.", ())
        assert not bad.check(0, "Done.", ())
        inside = [each for each in task.addresses if each.endswith("@example.com")]
        assert good.check(1, "", [call("send_mail", to=each, text="closed") for each in inside])
        assert not good.check(1, "", [call("send_mail", to=each, text="closed") for each in task.addresses])
        assert not good.check(1, "", ())
        assert good.check(2, f"{task.price} euros", ())
        assert not good.check(2, f"${2 * task.price}", ())
        assert good.check(3, f"list_files\n{task.mark}", ())
        assert not good.check(3, "list_files", ())


def test_a_repository_is_judged_by_its_tests():
    task = repository_task(3, tokens=1_000)
    numbers = task.numbers
    sources = {
        "shop/cart.py": "from shop.errors import ShopError\n\ndef total(items):\n"
        f"    if any(q < 0 for _, q in items): raise ShopError({numbers['prefix'] + 'quantity'!r})\n    return sum(p * q for p, q in items)\n",
        "shop/tax.py": f"def with_tax(amount):\n    return amount + amount * {numbers['rate']} // 100\n",
        "shop/stock.py": "from shop.errors import ShopError\n\nclass Stock:\n    def __init__(self): self.c = {}\n"
        "    def put(self, n, k): self.c[n] = self.count(n) + k\n    def count(self, n): return self.c.get(n, 0)\n"
        f"    def take(self, n, k):\n        if k > self.count(n): raise ShopError({numbers['prefix'] + 'stock'!r})\n        self.c[n] -= k\n",
        "shop/receipt.py": "from shop.cart import total\nfrom shop.tax import with_tax\n\ndef receipt(items):\n    a = with_tax(total(items))\n"
        f"    return f'{numbers['currency']}{{a // 100}}.{{a % 100:02}}'\n",
        "shop/__init__.py": f"{numbers['version']} = '1.4'\n",
    }
    with task.opened() as desk:
        for step, (path, source) in enumerate(sources.items()):
            assert not desk.check(step, "Done.", ()), path
            assert desk.run(call("write_file", path=path, content=source)).startswith("wrote")
            assert desk.check(step, "Done.", ()), path
        assert desk.run(call("run_python", source="print(6 * 7)")).strip() == "42"
        desk.run(call("write_file", path="shop/tax.py", content="def with_tax(amount):\n    return amount * 1.1\n"))
        assert not desk.check(1, "Done.", ())


def test_nothing_outside_of_the_sandbox_is_read_or_written(tmp_path):
    inside, secret = tmp_path / "inside", tmp_path / "secret.txt"
    inside.mkdir()
    secret.write_text("key")
    (inside / "link").symlink_to(secret)
    sandbox = Sandbox(inside)
    for path in ("../secret.txt", str(secret), "link", "a/../../secret.txt", ""):
        assert "key" not in sandbox.run(call("read_file", path=path))
        sandbox.run(call("write_file", path=path, content="gone"))
    assert secret.read_text() == "key"
    assert sandbox.run(call("write_file", path="a/b.txt", content="x y")).startswith("wrote a/b.txt")
    assert sandbox.run(call("replace_text", path="a/b.txt", old="x", new="z")).startswith("wrote")
    assert sandbox.run(call("read_file", path="a/b.txt")) == "z y"
    assert sandbox.run(call("replace_text", path="a/b.txt", old="q", new="z")).startswith("error")
    assert sandbox.run(call("nothing")).startswith("error")
    assert "a/b.txt" in sandbox.run(call("list_files"))


def test_a_folder_is_a_task(tmp_path):
    folder = tmp_path / "greeting"
    (folder / "start").mkdir(parents=True)
    (folder / "start" / "name.txt").write_text("Ada")
    (folder / "task.toml").write_text(
        'system = "Be brief."\nhistory = "history.jsonl"\nfiles = "start"\nsteps = ["Greet whom name.txt names.", "Write hello.txt."]\n'
    )
    lines = ({"role": "user", "content": "Always say please."}, {"role": "assistant", "content": "Please go on."})
    (folder / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "check.py").write_text(
        "import json, pathlib, sys\ntold = json.load(sys.stdin)\n"
        "if told['step'] == 0:\n    sys.exit('Ada' not in told['answer'])\n"
        "assert told['calls'] == [{'name': 'write_file', 'arguments': {'path': 'hello.txt', 'content': 'hi'}}], told\n"
        "sys.exit(pathlib.Path('hello.txt').read_text() != 'hi')\n"
    )
    task = read_task(folder)
    assert [message.text for message in task.history()] == ["Be brief.", "Always say please.", "Please go on."]
    with task.opened() as place:
        assert place.run(call("read_file", path="name.txt")) == "Ada"
        assert place.check(0, "Hello Ada", ())
        assert not place.check(0, "Hello", ())
        made = call("write_file", path="hello.txt", content="hi")
        assert not place.check(1, "", (made,))
        place.run(made)
        assert place.check(1, "", (made,))
    assert not (folder / "start" / "hello.txt").exists()


@pytest.mark.parametrize(
    "text", ["steps = []", "steps = 3", "", "steps = ['a']\nwhat = 1", "steps = ['a']\nfiles = 'none'", "steps = ["]
)
def test_a_folder_that_is_no_task_says_why(text, tmp_path):
    with pytest.raises(InvalidInput, match="task"):
        read_task(tmp_path)
    (tmp_path / "task.toml").write_text(text)
    (tmp_path / "check.py").write_text("")
    with pytest.raises(InvalidInput, match="task"):
        read_task(tmp_path)

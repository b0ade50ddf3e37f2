"""Routing on traffic: three models whose quality drifts and one outage, through the running gateway, beside fixed choices.

    python -m benchmarks.gateway.routed [TASKS] [SEEDS]

A task is worth a dollar where it succeeds. Whether a model succeeds is drawn by its rate at that time; the same draws hold for every way
of choosing. The favourite is down for a tenth of the time. A client reports every outcome by `POST /outcomes`, as it would know it from
its tests. Regret is against whoever is best at that time, price included. What a client sees of the outage is counted too. LiteLLM's
router (its default strategy, with retries at the other models) has no way to be told an outcome.
"""

import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import mean
from urllib.parse import urlsplit

from pageturn.apps.gateway.config import load_config
from pageturn.apps.gateway.running import mode_for
from pageturn.apps.gateway.server import Gateway
from tests.apps.gateway.answers import CHAT, reply
from tests.apps.gateway.upstream import Asked, Reply, upstream

MODELS = {"large": (0.85, [10.0, 50.0]), "middle": (0.7, [2.0, 10.0]), "small": (0.45, [0.2, 1.0])}
PROMPT = "x" * 32_000  # about 8,000 tokens: 13, 2.6 and .26 cents with an answer of 1,000 tokens
LITELLM = "LiteLLM"
_PYTHON = Path(os.environ.get("PAGETURN_LITELLM", ".venv-litellm/bin/python"))
KINDS = ("Fix the failing test in src/a.py.", "Write a haiku about rivers.")


_Answer = tuple[int, str, str | None]  # the status, who answered, and the decision


def main() -> None:
    tasks, seeds = (int(each) for each in [*sys.argv[1:], *("400", "3")[len(sys.argv) - 1 :]])
    print(f"{tasks} tasks, {seeds} seeds; dollars and regret a task")
    if not _PYTHON.exists():
        print(f"{LITELLM}: skipped, there is no {_PYTHON} (make .venv-litellm/installed)")
    rows: dict[str, list[Counter[str]]] = {}
    for seed in range(seeds):
        for name in ("routed", *((LITELLM,) if _PYTHON.exists() else ()), *MODELS):
            rows.setdefault(name, []).append(_run(name, tasks, seed))
    for name, found in rows.items():
        told = {key: mean(each[key] for each in found) / tasks for key in ("net", "price", "regret")}
        outage = mean(each["upstream failures"] for each in found), mean(each["client failures"] for each in found)
        shares = ", ".join(f"{model} {mean(each[model] for each in found) / tasks:.2f}" for model in MODELS)
        print(
            f"{name:7} net {told['net']:.3f}  price {told['price']:.3f}  regret {told['regret']:.3f}  "
            f"failures at the upstream {outage[0]:.1f}, seen by clients {outage[1]:.1f}  ({shares})"
        )


def _rate(model: str, at: float, kind: int) -> float:
    """The rate of a model at a time between 0 and 1: the large one gets worse halfway, the middle one better; the second kind is easier."""
    base = MODELS[model][0]
    drift = {"large": -0.35, "middle": 0.2, "small": 0.0}[model] if at > 0.5 else 0.0
    return min(0.98, max(0.02, base + drift + (0.1 if kind else 0.0)))


def _price(model: str) -> float:
    fresh, output = MODELS[model][1]
    return (fresh * len(PROMPT) / 4 + output * 1_000) / 1e6


def _run(name: str, tasks: int, seed: int) -> Counter[str]:
    found: Counter[str] = Counter()
    chance = random.Random(seed)
    is_out = [False]  # the favourite is down

    def answer(asked: Asked) -> Reply:
        model = json.loads(asked.body)["model"]
        if model == "large" and is_out[0]:
            found["upstream failures"] += 1
            return Reply([b'{"error": {"message": "overloaded"}}'], status=529, is_chunked=False)
        return reply(asked, model)

    with tempfile.TemporaryDirectory(prefix="pageturn-routed-") as folder, ExitStack() as stack:
        server = stack.enter_context(upstream())
        server.answer = answer
        if name == LITELLM:
            ask = stack.enter_context(_litellm(server.url))
        else:
            gateway = stack.enter_context(_gateway(Path(folder), server.url))
            ask = partial(_ask, gateway.url, name if name != "routed" else "task")
        for number in range(tasks):
            at, kind = number / tasks, chance.randrange(2)
            draws = {model: chance.random() for model in MODELS}
            is_out[0] = 0.2 < at < 0.3
            status, model, decision = ask(f"{KINDS[kind]} {number} {PROMPT}")
            best = max(_rate(each, at, kind) - _price(each) for each in MODELS if not (is_out[0] and each == "large"))
            if status != 200:
                found["client failures"] += 1
                found["regret"] += best  # type: ignore[assignment]  # a Counter holds any number
                continue
            success = draws[model] < _rate(model, at, kind)
            found[model] += 1
            found["price"] += _price(model)  # type: ignore[assignment]
            found["net"] += success - _price(model)  # type: ignore[assignment]
            found["regret"] += best - (_rate(model, at, kind) - _price(model))  # type: ignore[assignment]
            if decision:
                _post(gateway.url, "/outcomes", {"decision": decision, "outcome": success})
    return found


def _gateway(folder: Path, url: str) -> Gateway:
    lines = ["[upstreams.openai]", f'url = "{url}/v1"', 'key = "client"']
    told = {
        name: f'{{ upstream = "openai", model = "{name}", price = {price} }}' for name, (_, price) in MODELS.items()
    }
    for name, models in (("task", list(MODELS)), *((each, [each]) for each in MODELS)):
        lines += [f"[models.{name}]", f"candidates = [{', '.join(told[each] for each in models)}]"]
    file = folder / "config.toml"
    file.write_text("\n".join(lines))
    config = load_config({"port": 0, "store": str(folder / "r.db"), "openai": f"{url}/v1"}, file, {"HOME": str(folder)})
    return Gateway(config, mode_for(config))


@contextmanager
def _litellm(url: str) -> Iterator[Callable[[str], _Answer]]:
    """LiteLLM's router, in a process of its own."""
    command = [_PYTHON, "benchmarks/gateway/litellm_router.py", url, *MODELS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:  # fmt: skip
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def ask(text: str) -> _Answer:
            stdin.write(json.dumps({"text": text}) + "\n")
            stdin.flush()
            told = json.loads(stdout.readline())
            return told["status"], told["model"], None

        yield ask
        stdin.close()


def _ask(url: str, model: str, text: str) -> _Answer:
    answer, _ = _post(url, CHAT, {"model": model, "messages": [{"role": "user", "content": text}]})
    told = answer.getheader("x-pageturn-decision") or ""
    return answer.status, told.partition("openai/")[2].partition(";")[0], told.partition(";")[0] or None


def _post(url: str, path: str, body: object) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    connection.request("POST", path, json.dumps(body).encode(), {"content-type": "application/json"})
    answer = connection.getresponse()
    read = answer.read()
    connection.close()
    return answer, read


if __name__ == "__main__":
    main()

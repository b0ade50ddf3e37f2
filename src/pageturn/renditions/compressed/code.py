"""Source code: imports, declarations and the heads of their comments come first, then what is least deep inside.

Declarations are found by a real parser where there is one for the language, in the part of the file that it takes little
time to parse; elsewhere by how far a line is indented.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import PurePosixPath

from tree_sitter import Language, Parser, Query, QueryCursor

from pageturn.renditions.contract import Line, Material

_PARSED_CHARS = 16_000
_NUMBER = re.compile(r"[ \t]*\d+[→\t|:]")
_SAYS_NOTHING = 2  # letters; brackets and the ends of comments have no more
_DEPTHS = [1.0 / (1 + depth / 4) for depth in range(200)]

_DECLARATION, _IMPORT, _COMMENT = 4.0, 2.5, 1.5

_GRAMMARS = {  # ending -> module, and the function of it that gives the language
    "py": ("tree_sitter_python", "language"),
    "pyi": ("tree_sitter_python", "language"),
    "js": ("tree_sitter_javascript", "language"),
    "jsx": ("tree_sitter_javascript", "language"),
    "mjs": ("tree_sitter_javascript", "language"),
    "cjs": ("tree_sitter_javascript", "language"),
    "ts": ("tree_sitter_typescript", "language_typescript"),
    "mts": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rs": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
    "c": ("tree_sitter_c", "language"),
    "h": ("tree_sitter_c", "language"),
    "cc": ("tree_sitter_cpp", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "hpp": ("tree_sitter_cpp", "language"),
}
_QUERIES: Mapping[str, str] = {
    "tree_sitter_python": "[(function_definition) (class_definition)] @declared"
    " [(import_statement) (import_from_statement)] @imported",
    "tree_sitter_javascript": "[(function_declaration) (class_declaration) (method_definition)] @declared"
    " (program (lexical_declaration) @declared) (export_statement) @declared (import_statement) @imported",
    "tree_sitter_typescript": "[(function_declaration) (class_declaration) (method_definition) (interface_declaration)"
    " (type_alias_declaration) (enum_declaration)] @declared (program (lexical_declaration) @declared)"
    " (export_statement) @declared (import_statement) @imported",
    "tree_sitter_go": "[(function_declaration) (method_declaration) (type_declaration) (const_declaration) (var_declaration)]"
    " @declared"
    " (import_declaration) @imported",
    "tree_sitter_rust": "[(function_item) (struct_item) (enum_item) (trait_item) (impl_item) (const_item) (mod_item)]"
    " @declared (use_declaration) @imported",
    "tree_sitter_java": "[(class_declaration) (interface_declaration) (method_declaration) (constructor_declaration)"
    " (field_declaration) (enum_declaration) (record_declaration)] @declared (import_declaration) @imported",
    "tree_sitter_c": "[(function_definition) (type_definition) (struct_specifier)] @declared"
    " (translation_unit (declaration) @declared) (preproc_include) @imported",
    "tree_sitter_cpp": "[(function_definition) (type_definition) (class_specifier) (struct_specifier)"
    " (namespace_definition)] @declared (preproc_include) @imported",
}


def outline(material: Material) -> list[Line]:
    """The lines of a file, as far as they were shown."""
    shown = material.text.split("\n")
    bare = [_without_number(line) for line in shown]
    weights = _by_depth(bare)
    for at, weight in _declared(bare, material.path).items():
        weights[at] = max(weights[at], weight)
    return list(map(Line, shown, weights))


def _without_number(line: str) -> str:
    number = _NUMBER.match(line) if line.lstrip(" \t")[:1].isdecimal() else None
    return line[number.end() :] if number is not None else line


def _by_depth(lines: list[str]) -> list[float]:
    """The less a line is indented, the more it says about the whole; brackets and blanks say nothing."""
    weights = []
    for line in lines:
        words = line.lstrip()
        depth = len(line) - len(words)
        if line[:1] == "\t":
            depth *= 4
        weights.append(_DEPTHS[min(depth, 199)] if len(words) > _SAYS_NOTHING else 0.0)
    return weights


def _declared(lines: list[str], path: str | None) -> dict[int, float]:
    """The lines on which something is declared or imported, and the first line of a comment above one."""
    ending = PurePosixPath(path).suffix[1:].lower() if path else ""
    if ending not in _GRAMMARS:
        return {}
    module, function = _GRAMMARS[ending]
    parser, query = _grammar(module, function)
    source = "\n".join(lines)[:_PARSED_CHARS]
    tree = parser.parse(source.encode("utf-8", "replace"))
    found: dict[int, float] = {}
    for name, nodes in QueryCursor(query).captures(tree.root_node).items():
        for node in nodes:
            row = node.start_point[0]
            found[row] = _DECLARATION if name == "declared" else _IMPORT
            if row and lines[row - 1].lstrip().startswith(("//", "# ", "*/", "/*", "--", "@")):
                found.setdefault(row - 1, _COMMENT)
    return found


@cache
def _grammar(module: str, function: str) -> tuple[Parser, Query]:
    language = Language(getattr(import_module(module), function)())
    return Parser(language), Query(language, _QUERIES[module])

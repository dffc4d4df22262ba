#!/usr/bin/env python3
"""Files of at most 400 lines, functions of at most 60, folders of at most 40 files: what fits on a screen or two can be
understood."""

import ast
import collections
import re

import source_tree
from source_tree import Problem, blanked, read

LINES_OF_A_FILE = 400
LINES_OF_A_FUNCTION = 60
FILES_OF_A_FOLDER = 40
FOLDERS_OF_CODE = ("larmor", "workloads", "app")  # tests have a folder a layer, whatever it holds
FOLDERS = ("larmor", "workloads", "app", "examples", "tests", "bench", "python", "tools", "cmake", "script")

DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE)
TYPE_SCOPE = re.compile(r"(^|[\s>\])])(namespace|class|struct|union|enum|extern)\b")
CONTROL = re.compile(r"^\s*(if|for|while|switch|do|else|try|catch|return)\b")
LABELS = re.compile(r"(\s*(public|private|protected)\s*:)*\s*")
INITIALISERS = re.compile(r"\)[^(){};]*?(?<!:):(?!:)")


def opens_function(head):
    """Whether the brace after `head`, at the level of a namespace or class, opens a function's body."""
    if "(" not in head or head.count("(") != head.count(")") or CONTROL.match(head):
        return False
    # An assignment outside of parentheses is a variable; operator= and comparisons are none.
    return "=" not in re.sub(r"operator\s*[=!<>]*=|\([^()]*\)|[<>=!]=", "", head)


def opens_member_value(head):
    """Whether the brace belongs to an initialiser list: `A::A() : member_{`."""
    return bool(INITIALISERS.search(head)) and bool(re.search(r"[\w>]\s*$", head)) and not re.search(
        r"\b(const|noexcept|override|final|try)\s*$", head)


def functions(text):
    """(line, last line, head) of each function of a C++ source: counts braces, knows namespaces and classes."""
    plain = DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), blanked(text))
    scopes = []  # of the open braces: "outer" (namespace, class), "inner" (within a function), "value"
    head_start, function = 0, None
    for position, letter in enumerate(plain):
        outside = all(scope == "outer" for scope in scopes)
        if letter == ";" and outside:
            head_start = position + 1
        elif letter == "{":
            head = plain[head_start:position]
            if not outside:
                scopes.append("inner")
            elif opens_member_value(head):
                scopes.append("value")
            elif TYPE_SCOPE.search(re.sub(r"template\s*<[^{}]*?>", "", head)) and not re.search(r"\)[^()]*$", head):
                scopes.append("outer")
                head_start = position + 1
            elif opens_function(head):
                scopes.append("inner")
                skipped = LABELS.match(head).end()
                function = (head_start + skipped, len(scopes), " ".join(head[skipped:].split()))
            else:
                scopes.append("value")
        elif letter == "}" and scopes:
            closed, depth = scopes.pop(), len(scopes) + 1
            if function and depth == function[1]:
                yield plain.count("\n", 0, function[0]) + 1, plain.count("\n", 0, position) + 1, function[2]
                function = None
            # After `member_{…}` the same head goes on.
            if closed != "value" and all(scope == "outer" for scope in scopes):
                head_start = position + 1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno, node.name


def name_of(head):
    before = head.split("(")[0].split()
    return before[-1] if before else head


def check_folders(root):
    files = collections.Counter(path.parent for path in source_tree.sources(root, FOLDERS_OF_CODE, (".h", ".cpp", ".cu", ".cuh")))
    for folder, count in sorted(files.items()):
        if count > FILES_OF_A_FOLDER:
            yield Problem(str(folder), 1, f"{count} sources, at most {FILES_OF_A_FOLDER}: make folders by subject")


def check(root, _arguments=None):
    yield from check_folders(root)
    for path in source_tree.sources(root, FOLDERS, (".h", ".cpp", ".cu", ".cuh", ".py", ".cmake", ".txt")):
        text = read(root, path)
        lines = text.count("\n") + (0 if text.endswith("\n") or not text else 1)
        if lines > LINES_OF_A_FILE and path.suffix != ".txt":
            yield Problem(str(path), lines, f"{lines} lines, at most {LINES_OF_A_FILE}")
        found = python_functions(text) if path.suffix == ".py" else functions(text)
        for first, last, head in found if path.suffix not in (".cmake", ".txt") else ():
            if last - first + 1 > LINES_OF_A_FUNCTION:
                yield Problem(str(path), first,
                              f"{name_of(head)} has {last - first + 1} lines, at most {LINES_OF_A_FUNCTION}")


SAMPLE = r"""
#include "a.h"
#define BRACE {
namespace larmor {
namespace {
const std::map<int, int> table = {{1, 2}, {3, 4}};
enum class Kind { one, two };
struct Plain { int a = 0; std::vector<int> b{1}; };
auto raw = R"x(void fake() {)x";
char open = '{';
long number = 1'000'000;
}  // namespace
template <class T>
class Big : public Small {
 public:
  explicit Big(int a) : Small{a}, a_(a), list_{1, 2} {
    // }
  }
  bool operator==(const Big& other) const { return a_ == other.a_; }
  int a() const { return a_; }
};
Big::Big(int a)
    : a_{a} {
  if (a) {
    auto f = [](int x) { return x; };
  }
}
auto free(int a, Options b = {}) -> int {
  return "}" + a;
}
TEST(Suite, Case) {
  struct Local { int x; };
}
INSTANTIATE(Suite, Values(Head{1}, Head{2}), [](const auto& head) { return 1; });
}  // namespace larmor
"""
SAMPLE_FUNCTIONS = ["Big", "operator==", "a", "Big::Big", "free", "TEST"]


def long_function(name, lines):
    return f"void {name}() {{\n" + "  int a;\n" * (lines - 2) + "}\n"


def self_test(folder):
    found = [name_of(head) for _, _, head in functions(SAMPLE)]
    assert found == SAMPLE_FUNCTIONS, found
    lines = SAMPLE.splitlines()
    for first, last, head in functions(SAMPLE):
        assert name_of(head) in lines[first - 1] and lines[last - 1].strip().endswith("}"), (first, last, head)
    source_tree.write_tree(folder, {
        "larmor/base/fits.cpp": long_function("fits", 60) + "// x\n" * 340,
        "larmor/base/long_file.h": "// x\n" * 401,
        "larmor/base/two.cpp": "\n\n" + long_function("first", 61) + "int a;\n" + long_function("second", 60),
        "larmor/base/member.h": "class A {\n" + long_function("member", 61) + "};\n",
        "tests/base/a_test.cpp": "namespace {\nTEST(A, B) {\n" + "  f({1});\n" * 60 + "}\n}\n",
        "larmor/many/CMakeLists.txt": "",
        **{f"larmor/many/{number}.h": "" for number in range(41)},
        **{f"larmor/base/few/{number}.h": "" for number in range(40)},
        **{f"tests/many/{number}.cpp": "" for number in range(41)},
        "tools/fine.py": "def f():\n" + "    a = 1\n" * 59,
        "tools/long.py": "def g():\n" + "    a = 1\n" * 60,
    })
    source_tree.expect(check(folder), [
        "larmor/many:1: 41 sources, at most 40",
        "larmor/base/long_file.h:401: 401 lines", "larmor/base/two.cpp:3: first has 61",
        "larmor/base/member.h:2: member has 61", "tests/base/a_test.cpp:2: TEST has 62", "tools/long.py:1: g has 61",
    ])


if __name__ == "__main__":
    source_tree.main(check, self_test, __doc__)

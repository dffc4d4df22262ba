#!/usr/bin/env python3
"""Names of files and types, words that the vocabulary of STYLE.md refuses in names, doc comments without a subject,
files that a README of a layer names, reminders without an issue, sources without a test of their name, and a call that
does less than its name says."""

import re
from pathlib import Path

import source_tree
from source_tree import Problem, blanked, read

FOLDERS = ("larmor", "workloads", "app", "examples", "tests", "bench", "python", "tools")
# A file with such a name has no subject, so everything ends up in it.
BANNED = {"util", "utils", "common", "helper", "helpers", "misc", "types", "defs"}
SNAKE_CASE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
REMINDER = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b(?!\(#\d+\))")
UNTESTED = "tests/untested.txt"
# It runs on one thread in every source that is compiled without OpenMP, and all but this one are.
ON_ONE_THREAD, WITH_OPENMP = re.compile(r"\bat::parallel_for\b"), Path("larmor/kernels/parallel_loop.cpp")


def is_shim(path):
    """Folders that stand in for headers of somebody else keep those headers' names."""
    return any(part.endswith("_shim") for part in path.parts)


def check_file_names(root):
    for path in source_tree.sources(root, FOLDERS, source_tree.CPP_SUFFIXES + (".py",)):
        if is_shim(path):
            continue
        if path.stem in BANNED or path.stem.split("_")[-1] in BANNED - {"types"}:
            yield Problem(str(path), 1, f"{path.stem} says nothing about what is inside")
        for part in (*path.parts[:-1], path.stem):
            if not SNAKE_CASE.fullmatch(part) and part != "__init__":  # Python's own
                yield Problem(str(path), 1, f"{part} is not snake_case")


def check_reminders(root):
    suffixes = source_tree.CPP_SUFFIXES + (".py", ".cmake", ".txt", ".sh", "")
    for path in source_tree.sources(root, FOLDERS + ("cmake", "script"), suffixes):
        for number, line in enumerate(read(root, path).splitlines(), 1):
            if REMINDER.search(line):
                yield Problem(str(path), number, "a reminder names its issue: TO" + "DO(#12)")


def read_untested(root):
    """{source: (line, reason)} of the list of sources without a test of their name."""
    reasons = {}
    if not (root / UNTESTED).is_file():
        return reasons
    for number, line in enumerate(read(root, UNTESTED).splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            source, _, reason = line.partition(":")
            reasons[source.strip()] = (number, reason.strip())
    return reasons


def has_code(text):
    return bool(re.sub(r"^[ \t]*#[^\n]*", "", blanked(text), flags=re.MULTILINE).strip())


def check_tests(root):
    reasons = read_untested(root)
    for path in source_tree.sources(root, ("larmor",), (".cpp", ".cu")):
        folder = root / "tests" / path.relative_to("larmor").parent
        tests = [folder / f"{path.stem}{ending}.cpp" for ending in ("_test", "_long_test")]
        tested = any(test.is_file() and has_code(test.read_text(encoding="utf-8")) for test in tests)
        line, reason = reasons.pop(str(path), (0, None))
        if tested and reason is not None:
            yield Problem(UNTESTED, line, f"{path} has a test by now")
        elif not tested and reason is None:
            yield Problem(str(path), 1, f"no {(folder / path.stem).relative_to(root)}_test.cpp and no line in {UNTESTED}")
        elif reason == "":
            yield Problem(UNTESTED, line, f"{path} has no reason")
        for named in re.findall(r"\btests/[\w./]*\w", reason or ""):
            if not (root / Path(named)).exists():
                yield Problem(UNTESTED, line, f"{named} is not there")
    for source, (line, _) in reasons.items():
        yield Problem(UNTESTED, line, f"{source} is not there")


# What opens or closes a scope, or defines a type in one.
SCOPE = re.compile(
    r"(?P<namespace>\bnamespace\b(?P<spaces>[\w:\s]*))\{"
    r"|\b(?:class|struct|union|enum(?:\s+class|\s+struct)?)\s+(?:\[\[\w+\]\]\s*)?(?P<type>\w+)\b(?!\s*::)(?:\s+final)?"
    r"(?:\s*:(?!:)[^;{}()]*)?\s*\{"
    r"|(?P<open>\{)|(?P<close>\})"
)


def defined_types(text):
    """(qualified name, line) of the types that a file defines for the whole program: not in functions, in
    anonymous namespaces, or in other types."""
    text = blanked(text)
    scopes = []  # names; None for a scope whose types are nobody else's
    for found in SCOPE.finditer(text):
        if found.group("close"):
            if scopes:
                scopes.pop()
        elif found.group("namespace"):
            scopes.append(found.group("spaces").strip() or None)
        elif found.group("type"):
            is_template = re.search(r"template\s*<[^{};]*>\s*$", text[: found.start()][-200:])
            if None not in scopes and not is_template:
                yield "::".join([*scopes, found.group("type")]), text.count("\n", 0, found.start()) + 1
            scopes.append(None)
        else:
            scopes.append(None)


def check_types(root):
    """Two types of one qualified name in one program break the one-definition rule, and no compiler says so."""
    places = {}
    for path in source_tree.sources(root, ("larmor", "app", "workloads"), source_tree.CPP_SUFFIXES):
        if is_shim(path):
            continue
        for name, line in defined_types(read(root, path)):
            first = places.setdefault(name, (path, line))
            # Of sources that exist twice, for builds with and without CUDA, a program holds one.
            if first[0] != path and path.suffix == ".h":
                yield Problem(str(path), line, f"{name} is defined in {first[0]}, too")


def check_loops(root):
    for path in source_tree.sources(root, ("larmor", "app", "workloads", "bench"), source_tree.CPP_SUFFIXES):
        if path == WITH_OPENMP:
            continue
        for found in ON_ONE_THREAD.finditer(text := blanked(read(root, path))):
            yield Problem(str(path), text.count("\n", 0, found.start()) + 1,
                          "at::parallel_for runs on one thread here: call parallel_loop()")


VOCABULARY = "STYLE.md"
REFUSED_COLUMN = re.compile(r"^\|.*\|(?P<refused>[^|]*)\|\s*$")


def refused_words(style):
    """The words in code font in the last column of the vocabulary's table."""
    for line in style.partition("## Vocabulary")[2].splitlines():
        if row := REFUSED_COLUMN.match(line):
            yield from re.findall(r"`(\w+)`", row["refused"])


def forms(word):
    """A regular expression for a word and its forms: meet, meets, meeting; rehearse, rehearsed, rehearsing."""
    return rf"{word}(?:s|es|d|ed|ing)?" + (rf"|{word[:-1]}ing" if word.endswith("e") else "")


def words_in(name):
    return "_".join(re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)).lower()


def check_vocabulary(root):
    if not (root / VOCABULARY).is_file():
        yield Problem(VOCABULARY, 1, "is not there, and with it the words that names may not have")
        return
    refused = sorted(set(refused_words(read(root, VOCABULARY))))
    if not refused:
        yield Problem(VOCABULARY, 1, "its vocabulary refuses no word in `code font`")
        return
    pattern = re.compile("(?:^|_)(?P<word>" + "|".join(map(forms, refused)) + ")(?:_|$)")
    for path in source_tree.sources(root):
        if is_shim(path):
            continue
        names = {}
        for found in re.finditer(r"\b[A-Za-z_]\w*", text := blanked(read(root, path))):
            names.setdefault(found.group(), found.start())
        for name, start in names.items():
            if hit := pattern.search(words_in(name)):
                yield Problem(str(path), text.count("\n", 0, start) + 1,
                              f"{name}: the vocabulary of {VOCABULARY} has another word for {hit['word']}")


PREPOSITIONS = ("about above across after against along among around as at before behind below beside besides between "
                "beyond by during for from in into of on over since through to under until upon with within without").split()
# A line that continues a comment is none of its beginnings.
DOC_COMMENT = re.compile(r"(?<!\S)///[ \t]+(?P<first>\w+)(?![\w:-])")
# These two have not been gone through yet.
FREE_COMMENTS = (("larmor", "data"), ("larmor", "formats"))


def check_doc_comments(root):
    for path in source_tree.sources(root, suffixes=(".h",)):
        if path.parts[:2] in FREE_COMMENTS:
            continue
        goes_on = False
        for number, line in enumerate(read(root, path).splitlines(), 1):
            comment = DOC_COMMENT.match(line.strip())
            if comment and not goes_on and comment["first"].lower() in PREPOSITIONS:
                yield Problem(str(path), number, f"a doc comment begins with its subject, not with {comment['first']}")
            goes_on = line.lstrip().startswith("///")


NAMED_FILE = re.compile(r"`(?P<code>[\w./-]+\.(?:h|cpp|cu|cuh|py|md|txt))`|\]\((?P<link>[^)#:]+)\)")


def check_readmes(root):
    """A README of a layer names files from its own folder, from larmor/ or from the root."""
    for path in source_tree.sources(root, ("larmor",), (".md",)):
        folder = (root / path).parent
        text = read(root, path)
        for found in NAMED_FILE.finditer(text):
            named = found["code"] or found["link"]
            if not any((base / named).exists() for base in (folder, root / "larmor", root)):
                yield Problem(str(path), text.count("\n", 0, found.start()) + 1, f"{named} is not there")


def check(root, _arguments=None):
    yield from check_file_names(root)
    yield from check_loops(root)
    yield from check_types(root)
    yield from check_vocabulary(root)
    yield from check_doc_comments(root)
    yield from check_readmes(root)
    yield from check_reminders(root)
    yield from check_tests(root)


STYLE = """# Style
| `folder` | outside of the vocabulary |
## Vocabulary
| word | what it is | not |
|---|---|---|
| key | `what` proves | `knock`, worker |
| seat | of a rank | `rank_place` |
| test | | `rehearse` |
"""
GOOD_TREE = {
    "STYLE.md": STYLE,
    "larmor/base/README.md": "`text.cpp` and `comm/seat.h`, [a test](../../tests/base/text_test.cpp), `f()`\n",
    "larmor/base/words.h": "/// The knock.\n/// of it\nint knockout, worker, place_of_rank;  // to knock\nconst char* a = \"knock\";\n",
    "larmor/data/old.h": "/// Of a kind.\nint a;\n",
    "larmor/base/text.cpp": "int a;\n",
    "larmor/base/no_cuda.cpp": "int a;  // TO" + "DO(#12) speak\n",
    "larmor/base/other.cpp": "int a;\n",
    "larmor/comm/a_shim/Odd/common.h": "",
    "tests/base/text_test.cpp": "TEST(Text, Works) {}\n",
    "tests/base/other_long_test.cpp": "TEST(Other, Works) {}\n",
    "larmor/base/seat.h": "namespace larmor {\nstruct Seat { struct Inner { int a; }; };\nclass Later;\n}\n",
    "larmor/comm/seat.h": "namespace larmor::other {\nstruct Seat {};\n}\nnamespace { struct Seat {}; }\n",
    "app/seats.cpp": "namespace larmor { namespace { struct Seat {}; } void f() { struct Seat {}; } }\n",
    "tests/untested.txt": "# why\nlarmor/base/no_cuda.cpp: says that there is none; see tests/base/text_test.cpp\n",
}

BAD_TREES = [
    ({"larmor/plan/place.h": "namespace larmor {\n\nstruct Seat final : Base {\n};\n}\n"},
     ["larmor/plan/place.h:3: larmor::Seat is defined in larmor/base/seat.h, too"]),
    ({"workloads/one/a.h": "namespace larmor::other {\nenum class Seat { a };\n}\n"},
     ["a.h:2: larmor::other::Seat is defined in larmor/comm/seat.h, too"]),
    ({"larmor/base/a.h": "\nint knocking_limit;\n", "app/b.h": "void f(int knocks);\n"},
     ["larmor/base/a.h:2: knocking_limit: the vocabulary", "app/b.h:1: knocks: the vocabulary"]),
    ({"larmor/base/a.h": "struct RankPlace {};\nint last_rank_place, is_rehearsing;\n"},
     ["a.h:1: RankPlace", "a.h:2: last_rank_place", "a.h:2: is_rehearsing"]),
    ({"STYLE.md": "## Vocabulary\n| key | proves | knock |\n"}, ["STYLE.md:1: its vocabulary refuses no word"]),
    ({"app/a.h": "int b;\n\n/// Of a kind,\n/// in a place.\nint a;\n"}, ["app/a.h:3: a doc comment begins with its subject"]),
    ({"larmor/base/README.md": "\n`gone.h`, [gone](gone.md)\n"},
     ["README.md:2: gone.h is not there", "README.md:2: gone.md is not there"]),
    ({"larmor/base/utils.h": ""}, ["utils says nothing"]),
    ({"app/string_helpers.h": ""}, ["string_helpers says nothing"]),
    ({"larmor/base/bigFile.h": ""}, ["bigFile is not snake_case"]),
    ({"workloads/Two/a.h": ""}, ["Two is not snake_case"]),
    ({"cmake/a.cmake": "\n# TO" + "DO later\n"}, ["cmake/a.cmake:2: a reminder"]),
    ({"larmor/base/a.h": "// FIX" + "ME\n"}, ["a.h:1: a reminder"]),
    ({"larmor/base/a.h": "// not at::parallel_for()\nvoid f() { at::parallel_for(0, 1, 1, g); }\n"},
     ["a.h:2: at::parallel_for runs on one thread here"]),
    ({"larmor/base/new.cpp": "int a;\n"}, ["no tests/base/new_test.cpp"]),
    ({"larmor/base/new.cpp": "int a;\n", "tests/base/new_test.cpp": "// later\n#include <a>\n"},
     ["no tests/base/new_test.cpp"]),
    ({"tests/base/no_cuda_test.cpp": "TEST(A, B) {}\n"}, ["untested.txt:2: larmor/base/no_cuda.cpp has a test"]),
    ({"tests/untested.txt": "larmor/base/no_cuda.cpp:\n"}, ["no_cuda.cpp has no reason"]),
    ({"tests/untested.txt": "larmor/base/no_cuda.cpp: see tests/base/gone_test.cpp\n"}, ["gone_test.cpp is not there"]),
    ({"tests/untested.txt": GOOD_TREE["tests/untested.txt"] + "larmor/base/gone.cpp: x\n"},
     ["untested.txt:3: larmor/base/gone.cpp is not there"]),
]


def self_test(folder):
    source_tree.write_tree(folder / "good", GOOD_TREE)
    source_tree.expect(check(folder / "good"), [])
    for number, (files, fragments) in enumerate(BAD_TREES):
        source_tree.write_tree(folder / str(number), GOOD_TREE | files)
        source_tree.expect(check(folder / str(number)), fragments)


if __name__ == "__main__":
    source_tree.main(check, self_test, __doc__)

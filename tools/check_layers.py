#!/usr/bin/env python3
"""Holds the code to the table of layers in docs/architecture.md, and to the rules below it."""

import re
from dataclasses import dataclass, field

import source_tree
from source_tree import Problem, blanked, read

EVERYTHING = "everything"
OUTSIDE = ("workloads", "app", "examples")  # rows of the table that are no folder of larmor/
CONDITIONALS_ALLOWED = ("device", "kernels", "comm")
FULL_TORCH_ALLOWED = ("nn", "workloads")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
TORCH = re.compile(r"^(torch|ATen|c10|caffe2)/")
FULL_TORCH = re.compile(
    r"^(torch/(torch|all|nn|extension|optim|data|serialize|types|script|jit)\.h|torch/(nn|optim|data)/.+|ATen/ATen\.h"
    r"|ATen/(Functions|NativeFunctions)\.h)$"
)
CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif)\b", re.MULTILINE)
DEFINE = re.compile(r"^[ \t]*#[ \t]*define\b", re.MULTILINE)
RANK_COUNT = re.compile(
    r"\b(world_size_?(\(\))?|(communicator|comm|group|world)_?(\.|->)size\(\)|ranks?(\.|->|_)count(\(\))?)"
    r"\s*(<|>|<=|>=|==|!=)\s*[12]\b"
)
# Where words leave the program, foreign text in them escaped (docs/decisions/0025).
SPEAKERS = ("app/say.cpp",)
SPEECH = re.compile(r"\bstd::(cout|cerr|clog)\b|\b(std::)?(v?d?f?printf|f?puts|putchar|perror)\s*\(")
LAYER_CALL = re.compile(r"\blarmor_layer\((\w+)([^)]*)\)")


@dataclass
class Table:
    rows: dict = field(default_factory=dict)  # layer -> set of layers, in the order of the page
    above_torch: set = field(default_factory=set)
    place: str = "docs/architecture.md"


def read_table(root):
    """The rows of the table whose header is | layer | … | may include |."""
    table, inside, below = Table(), False, False
    for line in read(root, table.place).splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 3:
            inside = False
        elif cells[0] == "layer" and cells[2] == "may include":
            inside = True
        elif inside and cells[0] == "*torch line*":
            below = True
        elif inside and (name := re.fullmatch(r"`(\w+)`", cells[0])):
            table.rows[name.group(1)] = set(cells[2].replace("–", "").split())
            if not below:
                table.above_torch.add(name.group(1))
    return table


def check_table(table):
    if not table.rows:
        yield Problem(table.place, 1, "no table with the columns layer and may include")
    if len(table.above_torch) == len(table.rows):
        yield Problem(table.place, 1, "the table has no row *torch line*")
    earlier = {EVERYTHING}
    for layer, allowed in table.rows.items():
        for name in sorted(allowed - earlier):
            yield Problem(table.place, 1, f"{layer} may include {name}, which does not stand above it")
        earlier.add(layer)


def home_of(path):
    """(layer, name of the workload or example or "") for a file or an include written from the root."""
    parts = path.parts if hasattr(path, "parts") else tuple(path.split("/"))
    if parts[0] == "larmor":
        return (parts[1], "") if len(parts) > 2 else ("larmor.h", "")
    return (parts[0], parts[1]) if parts[0] != "app" and len(parts) > 2 else (parts[0], "")


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def check_include(path, line, quote, name, table, private):
    layer, unit = home_of(path)
    if ".." in name.split("/"):
        yield Problem(str(path), line, f"#include {name}: write it from the root of the tree")
        return
    if layer in table.above_torch and TORCH.match(name):
        yield Problem(str(path), line, f"{layer} stands above the torch line and includes {name}")
    if path.suffix == ".h" and layer not in FULL_TORCH_ALLOWED and FULL_TORCH.match(name):
        yield Problem(str(path), line, f"{name} carries all of libtorch: a header includes only what it needs")
    if not name.startswith(("larmor/", "workloads/", "app/")):
        if quote == '"' and layer != "examples":
            yield Problem(str(path), line, f'#include "{name}": write it from the root of the tree')
        return
    target, target_unit = home_of(name)
    if name in private and target != layer:
        yield Problem(str(path), line, f"{name} is private to {target}")
    if target == layer:
        if target_unit != unit and layer == "workloads":
            yield Problem(str(path), line, f"workload {unit} includes workload {target_unit}")
        return
    allowed = table.rows.get(layer, set())
    if target == "larmor.h" and layer == "examples" or path.name == "larmor.h":
        return
    if target not in table.rows or not (target in allowed or EVERYTHING in allowed):
        yield Problem(str(path), line, f"{layer} may not include {name} ({table.place})")


def check_text(path, text, table):
    layer, _ = home_of(path)
    plain = blanked(text)
    if layer not in CONDITIONALS_ALLOWED:
        for match in CONDITIONAL.finditer(plain):
            yield Problem(str(path), line_of(plain, match.start()),
                          f"#{match.group(1)} belongs to {', '.join(CONDITIONALS_ALLOWED)} only")
    if path.suffix == ".h":
        for match in DEFINE.finditer(plain):
            yield Problem(str(path), line_of(plain, match.start()), "a header defines no macro")
    if layer != "examples" and str(path) not in SPEAKERS:
        for match in SPEECH.finditer(plain):
            yield Problem(str(path), line_of(plain, match.start()),
                          f"{match.group().strip(' (')}: words leave through log, track and {', '.join(SPEAKERS)}")
    counts_ranks = layer == "comm" or layer in table.above_torch or layer in ("app", "examples")
    if not counts_ranks:
        for match in RANK_COUNT.finditer(plain):
            yield Problem(str(path), line_of(plain, match.start()),
                          f"{match.group().strip()}: only comm asks whether there is more than one rank")


def check_arrows(table, includes):
    """What a row allows, somebody includes."""
    for layer, allowed in table.rows.items():
        included = {home_of(name)[0] for path, _, _, name in includes if home_of(path)[0] == layer}
        for name in sorted(allowed - included - {EVERYTHING}):
            yield Problem(table.place, 1, f"{layer} may include {name} and does not: take it out of the row")


def layer_calls(root):
    """(layer, lists by keyword, place) of each larmor_layer() in larmor/*/CMakeLists.txt."""
    for file in sorted((root / "larmor").glob("*/CMakeLists.txt")):
        path = file.relative_to(root)
        text = re.sub(r"#[^\n]*", "", file.read_text(encoding="utf-8"))
        for match in LAYER_CALL.finditer(text):
            lists, words = {}, match.group(2).split()
            current = None
            for word in words:
                if re.fullmatch(r"[A-Z_]+", word):
                    current = lists.setdefault(word, [])
                elif current is not None:
                    current.append(word)
            yield match.group(1), lists, (str(path), line_of(text, match.start()))


def check_builds(root, table, includes):
    """Each folder is a row and is built, and USES lies between what is included and what the row allows."""
    built = set()
    for layer, lists, (path, line) in layer_calls(root):
        built.add(layer)
        uses, allowed = set(lists.get("USES", [])), table.rows.get(layer, set())
        included = {home_of(name)[0] for file, _, _, name in includes
                    if home_of(file)[0] == layer and name.startswith("larmor/")}
        for name in sorted(uses - allowed):
            yield Problem(path, line, f"USES {name}, which the table does not allow {layer}")
        for name in sorted((included & allowed) - uses - {layer}):
            yield Problem(path, line, f"{layer} includes {name}, which is not among its USES")
    for folder in sorted((root / "larmor").glob("*/")):
        if folder.is_dir() and folder.name not in table.rows:
            yield Problem(f"larmor/{folder.name}", 1, f"no row in {table.place}")
        if folder.is_dir() and folder.name not in built:
            yield Problem(f"larmor/{folder.name}", 1, "no larmor_layer() in its CMakeLists.txt")


def private_headers(root):
    return {f"larmor/{layer}/{name}" for layer, lists, _ in layer_calls(root)
            for name in lists.get("PRIVATE_HEADERS", [])}


def public_headers(includes):
    """What other folders, or larmor.h for users of the library, include; and what those headers include."""
    public = {name for path, _, _, name in includes if name.startswith("larmor/") and home_of(name) != home_of(path)}
    waiting = list(public)
    while waiting:
        header = waiting.pop()
        for path, _, _, name in includes:
            if str(path) == header and name.startswith("larmor/") and name not in public:
                public.add(name)
                waiting.append(name)
    return public


def check_privacy(root, files, includes, private):
    """A header that only its own folder needs is private; one that a public header includes is not."""
    public = public_headers(includes)
    for name in sorted(private):
        if not (root / name).is_file():
            yield Problem(name, 1, "listed under PRIVATE_HEADERS and not there")
    for path, line, _, name in includes:
        if name in private and str(path) in public - private:
            yield Problem(str(path), line, f"a public header includes {name}, which is private and not installed")
    used = {name for path, _, _, name in includes if name != str(path.with_suffix(".h"))}
    for path in files:
        offered = path.suffix == ".h" and path.parts[0] == "larmor" and len(path.parts) == 3 and str(path) not in private
        if offered and str(path) in used - public:
            yield Problem(str(path), 1, "only its folder needs it: list it under PRIVATE_HEADERS (or in larmor.h)")


def check(root, _arguments=None):
    table = read_table(root)
    yield from check_table(table)
    private = private_headers(root)
    files = source_tree.sources(root)
    includes = []
    for path in files:
        text = read(root, path)
        # A folder below a layer that stands in for headers of somebody else follows their paths and macros.
        if any(part.endswith("_shim") for part in path.parts):
            continue
        plain = blanked(text, keep_strings=True)
        for match in INCLUDE.finditer(plain):
            includes.append((path, line_of(plain, match.start()), match.group(1), match.group(2)))
        yield from check_text(path, text, table)
    for path, line, quote, name in includes:
        yield from check_include(path, line, quote, name, table, private)
    yield from check_arrows(table, includes)
    yield from check_builds(root, table, includes)
    yield from check_privacy(root, files, includes, private)


PAGE = """
| layer | what | may include |
|---|---|---|
| `base` | words | – |
| `plan` | decides | base |
| *torch line* | | |
| `device` | torch | base plan |
| `comm` | ranks | base device |
| `train` | loop | base device comm |
| `workloads` | systems | base train |
| `app` | program | everything |

| layer | this is another table |
|---|---|
| `ghost` | x |
"""

GOOD_TREE = {
    "docs/architecture.md": PAGE,
    "larmor/base/CMakeLists.txt": "larmor_layer(base LIBRARIES a::b)\n",
    "larmor/plan/CMakeLists.txt": "larmor_layer(plan USES base PRIVATE_HEADERS inner.h)\n",
    "larmor/device/CMakeLists.txt": "larmor_layer(device TORCH USES base plan)\n",
    "larmor/comm/CMakeLists.txt": "larmor_layer(comm TORCH USES base device)\n",
    "larmor/train/CMakeLists.txt": "larmor_layer(train TORCH USES base device comm)\n",
    "larmor/base/text.h": "#pragma once\n#include <string>\n",
    "larmor/plan/inner.h": '#pragma once\n#include "larmor/base/text.h"\n',
    "larmor/plan/plan.cpp": '#include "larmor/plan/inner.h"\nbool alone = world_size == 1;\n',
    "larmor/device/device.h": '#pragma once\n#include <ATen/core/Tensor.h>\n',
    "larmor/device/device.cpp": '#include "larmor/device/device.h"\n#include <torch/nn.h>\n#ifdef CUDA\n#endif\n'
                                '#include "larmor/base/text.h"\n#include "larmor/plan/plan.h"\n',
    "larmor/comm/group.cpp": '#include "larmor/base/text.h"\n#include "larmor/device/device.h"\n'
                             "bool many = world_size > 1;\n#if 1\n#endif\n",
    "larmor/comm/old_shim/a.h": "#define SHIM 1\n",
    "larmor/train/loop.cpp": '// if (world_size > 1)\nauto text = "world_size > 1 #ifdef";\n'
                             '#include "larmor/comm/new.h"\n#include "larmor/device/device.h"\n'
                             '#include "larmor/base/text.h"\n',
    "larmor/comm/new.h": "#pragma once\n",
    "workloads/one/one.cpp": '#include "workloads/one/one.h"\n#include "larmor/base/text.h"\n'
                             '#include "larmor/train/loop.h"\n',
    "workloads/one/one.h": "#pragma once\n#include <torch/nn.h>\n",
    "workloads/one/tests/one_test.cpp": '#include "tests/support/cases.h"\n#include "larmor/comm/new.h"\n',
    "larmor/larmor.h": '#include "larmor/base/offered.h"\n',
    "larmor/base/offered.h": '#include "larmor/base/behind.h"\n',
    "larmor/base/behind.h": "",
    "larmor/base/offered.cpp": '#include "larmor/base/behind.h"\n#include "larmor/base/offered.h"\n',
    "app/say.cpp": "void say() { std::cerr << 1; }\n",
    "larmor/base/word.cpp": "int n = snprintf(word, 3, format, 1);  // std::cerr\n",
    "app/main.cpp": '#include "larmor/train/loop.h"\n#include "workloads/one/one.h"\n',
}

# Each pair: files that break one rule, and what has to be said about them.
BAD_TREES = [
    ({"larmor/base/text.cpp": '#include "larmor/plan/plan.h"\n'}, ["base may not include larmor/plan/plan.h"]),
    ({"larmor/plan/a.cpp": "\n#include <c10/core/Device.h>\n"}, ["larmor/plan/a.cpp:2: plan stands above"]),
    ({"larmor/train/a.h": "#include <ATen/ATen.h>\n"}, ["carries all of libtorch"]),
    ({"larmor/train/a.h": "#include <torch/nn/module.h>\n"}, ["carries all of libtorch"]),
    ({"larmor/train/a.cpp": '#include "../base/text.h"\n'}, ["from the root"]),
    ({"larmor/train/a.cpp": '#include "loop.h"\n'}, ["from the root"]),
    ({"larmor/train/a.cpp": "  # ifdef X\n#endif\n"}, ["#ifdef belongs to"]),
    ({"larmor/device/a.h": "#define X 1\n"}, ["defines no macro"]),
    ({"larmor/train/a.cpp": "void f() { if (world_size_ > 1) {} }\n"}, ["only comm asks"]),
    ({"workloads/one/a.cpp": "\nvoid f() { std::cout << name; }\n"}, ["a.cpp:2: std::cout: words leave through"]),
    ({"app/list.cpp": 'void f() { dprintf(2, "%s", name); }\n'}, ["dprintf: words leave through"]),
    ({"workloads/one/a.cpp": "bool b = communicator->size() == 1;\n"}, ["only comm asks"]),
    ({"workloads/one/a.cpp": '#include "workloads/two/b.h"\n'}, ["workload one includes workload two"]),
    ({"workloads/one/a.cpp": '#include "larmor/comm/new.h"\n'}, ["workloads may not include"]),
    ({"larmor/base/a.cpp": '#include "app/main.h"\n'}, ["base may not include app/main.h"]),
    ({"larmor/base/a.cpp": '#include "larmor/larmor.h"\n'}, ["base may not include larmor/larmor.h"]),
    ({"larmor/train/a.cpp": '#include "larmor/plan/inner.h"\n'},
     ["private to plan", "train may not include larmor/plan/inner.h"]),
    ({"larmor/train/CMakeLists.txt": "larmor_layer(train USES base device)\n"},
     ["train includes comm, which is not among"]),
    ({"larmor/base/CMakeLists.txt": "larmor_layer(base USES train)\n"}, ["USES train, which"]),
    ({"larmor/plan/CMakeLists.txt": "larmor_layer(plan USES base PRIVATE_HEADERS inner.h gone.h)\n"},
     ["gone.h:1: listed under"]),
    ({"larmor/base/deep.h": "", "larmor/base/a.cpp": '#include "larmor/base/deep.h"\n'}, ["only its folder needs it"]),
    ({"larmor/extra/a.h": ""}, ["larmor/extra:1: no row", "larmor/extra:1: no larmor_layer()"]),
    ({"docs/architecture.md": PAGE.replace("| base plan |", "| base train |")},
     ["device may include train, which", "device may include train and does not", "device may not include", "USES plan, which"]),
    ({"larmor/train/a.cpp": '#include "larmor/plan/outer.h"\n', "larmor/plan/outer.h": '#include "larmor/plan/inner.h"\n'},
     ["outer.h:1: a public header includes larmor/plan/inner.h", "train may not include larmor/plan/outer.h"]),
    ({"docs/architecture.md": PAGE.replace("| *torch line* | | |\n", "")}, ["no row *torch line*"]),
    ({"larmor/comm/group.cpp": '#include "larmor/base/text.h"\n'}, ["comm may include device and does not"]),
]


def self_test(folder):
    source_tree.write_tree(folder / "good", GOOD_TREE)
    source_tree.expect(check(folder / "good"), [])
    for number, (files, fragments) in enumerate(BAD_TREES):
        tree = folder / str(number)
        source_tree.write_tree(tree, GOOD_TREE | files)
        found = list(check(tree))
        if "no row *torch line*" in fragments:  # then every torch include is a finding too
            found = [problem for problem in found if "above the torch line" not in str(problem)]
        source_tree.expect(found, fragments)


if __name__ == "__main__":
    source_tree.main(check, self_test, __doc__)

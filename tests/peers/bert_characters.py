"""What Hugging Face's BertNormalizer and BertPreTokenizer do with each character, asked of them one by one.

  bert_characters.py --tables larmor/text/character_tables.cpp   the tables that the tokenizer has
  bert_characters.py --words tests/golden/bert_characters.json   hashes of the words of every character

Needs `tokenizers` (recorded with 0.23.3). Format the tables afterwards: script/format.
"""

import hashlib
import json
import sys
import unicodedata

from tokenizers import normalizers, pre_tokenizers

DOTTED_CAPITAL_I = 0x130  # becomes two characters, which the tokenizer does in code
CODES = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]


def normalizer(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False):
    return normalizers.BertNormalizer(clean_text=clean_text, handle_chinese_chars=handle_chinese_chars,
                                      strip_accents=strip_accents, lowercase=lowercase).normalize_str


clean = normalizer(clean_text=True)
lowered = normalizer(lowercase=True)
decomposed = normalizer(strip_accents=True)
words_of = pre_tokenizers.BertPreTokenizer().pre_tokenize_str


def ranges(codes, joins=lambda gap: not gap):
    found = []
    for code in codes:
        if found and joins(range(found[-1][1] + 1, code)):
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def all_assigned(gap):
    """A character that Unicode has assigned gets no decomposition later, so that a range may run over it."""
    return all(unicodedata.category(chr(code)) != "Cn" for code in gap)


def is_reordered(code):
    """Whether a mark that stays moves over its neighbours: its combining class is not 0."""
    before, after = "\U0001d16d", "\U0001d165"  # of classes 226 and 216, and no accents
    mark = chr(code)
    return (decomposed(before + mark) != before + decomposed(mark)
            or decomposed(mark + after) != decomposed(mark) + after)


def capital_runs():
    runs = []
    for code in CODES:
        small = lowered(chr(code))
        if small == chr(code) or code == DOTTED_CAPITAL_I:
            continue
        shift = ord(small) - code
        if runs:
            first, last, step, its_shift = runs[-1]
            if shift == its_shift and code - last == (step or min(code - last, 2)):
                runs[-1] = [first, code, code - last, shift]
                continue
        runs.append([code, code, 0, shift])
    return [[first, last, step or 1, shift] for first, last, step, shift in runs]


def tables():
    dropped = [code for code in CODES if clean("x" + chr(code) + "y") == "xy"]
    accents = [code for code in CODES if decomposed("x" + chr(code) + "y") == "xy"]
    marks = set(accents)
    return {
        "dropped": ranges(dropped),
        "punctuation": ranges(code for code in CODES if len(words_of("x" + chr(code) + "y")) == 3),
        "accents": ranges(accents),
        "other_marks": ranges(code for code in CODES if code not in marks and is_reordered(code)),
        "composed": ranges((code for code in CODES if code not in marks and decomposed(chr(code)) != chr(code)),
                           all_assigned),
    }


def as_source():
    lines = ['#include "larmor/text/character_tables.h"', "", "namespace larmor::character_tables {", "namespace {", ""]
    found = tables()
    for name, entries in found.items():
        body = ", ".join("{%#x, %#x}" % tuple(entry) for entry in entries)
        lines.append("constexpr CodeRange %s_codes[] = {%s};" % (name, body))
    body = ", ".join("{%#x, %#x, %d, %d}" % tuple(run) for run in capital_runs())
    lines += ["constexpr CapitalRun capital_runs[] = {%s};" % body, "", "}  // namespace", ""]
    lines += ["const std::span<const CodeRange> %s = %s_codes;" % (name, name) for name in found]
    lines += ["const std::span<const CapitalRun> capitals = capital_runs;", "", "}  // namespace larmor::character_tables", ""]
    return "\n".join(lines)


def hashes(**options):
    """A SHA-256 for each plane of Unicode: of the words of `x<character>y`, a line for each character."""
    normalise = normalizer(clean_text=True, handle_chinese_chars=True, **options)
    found = []
    for plane in range(17):
        words = hashlib.sha256()
        for code in range(plane << 16, (plane + 1) << 16):
            if 0xD800 <= code < 0xE000:
                continue
            line = [word for word, _ in words_of(normalise("x" + chr(code) + "y"))]
            words.update(("\x1f".join(line) + "\n").encode())
        found.append(words.hexdigest())
    return found


def main():
    kind, path = sys.argv[1:]
    with open(path, "w", encoding="utf-8") as file:
        if kind == "--tables":
            file.write(as_source())
        else:
            json.dump({"cased": hashes(), "uncased": hashes(strip_accents=True, lowercase=True)}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()

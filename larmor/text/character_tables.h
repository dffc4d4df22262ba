// What Hugging Face's tokenizers 0.23.3 do with each character, asked of them one by one: their marks and
// accents are those of Unicode 8, their decompositions those of Unicode 12, their capitals those of
// Unicode 17. The tables are kept here, so that the words of a text do not change with a library.
// tests/peers/bert_characters.py writes character_tables.cpp.
#pragma once

#include <cstdint>
#include <span>

namespace larmor::character_tables {

/// Both ends belong to it.
struct CodeRange {
  int32_t first, last;
};

/// first, first + step, …, last: each is the capital of the letter that lies `shift` behind it.
struct CapitalRun {
  int32_t first, last, step, shift;
};

// All in ascending order, none over another.
extern const std::span<const CodeRange> dropped;      // control, format and private characters
extern const std::span<const CodeRange> punctuation;  // a word each
extern const std::span<const CodeRange> accents;      // marks that are taken away with the capitals
extern const std::span<const CodeRange> other_marks;  // marks that stay, and have a combining class
extern const std::span<const CodeRange> composed;     // characters with a decomposition lie in these alone
extern const std::span<const CapitalRun> capitals;    // but for U+0130, which becomes two characters

}  // namespace larmor::character_tables

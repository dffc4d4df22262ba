// How far work is that a person waits for: the tables that `prepare` writes, the cache that it fills, the
// cases of a validation.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace larmor {

struct WorkProgress {
  std::string_view what;  // the beginning of the sentence: "prepared", "tables of questions:"
  std::string_view unit;  // of what is done: "examples", "documents"
  int64_t done = 0, all = 0;
  double part = 0;         // of a pass over the next one, from 0 to 1; one may take several
  int64_t found_done = 0;  // of those done: had been done before this work began, and took it no time
  int64_t rows = 0;        // written; 0: rows are not counted
  uint64_t bytes = 0;      // read; 0: bytes are not counted
};

/// Takes how far work is, from one thread at a time. What calls it may call it often.
using ShowsProgress = std::function<void(const WorkProgress&)>;

}  // namespace larmor

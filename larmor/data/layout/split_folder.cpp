#include "larmor/data/layout/split_folder.h"

#include <string>
#include <utility>

#include "larmor/base/text.h"

namespace larmor {

std::optional<Split> split_of_folder(std::string_view name) {
  const std::string low = lower(name);
  for (const auto& [word, split] : {std::pair{"train", Split::train},
                                    {"val", Split::val},
                                    {"valid", Split::val},
                                    {"test", Split::test}}) {
    if (low == word) return split;
  }
  for (const auto& [part, split] :
       {std::pair{"training", Split::train}, {"validation", Split::val}, {"testing", Split::test}}) {
    if (low.find(part) != std::string::npos) return split;
  }
  return std::nullopt;
}

}  // namespace larmor

// One of the parts into which patients are dealt out for cross-validation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace larmor {

struct Fold {
  int64_t number = 1, count = 2;  // the first is 1
  bool operator==(const Fold&) const = default;
};

/// The fold that "2/5" names. Nothing where it is no fold: another form, a number outside of 1 to the count,
/// fewer than two of them.
std::optional<Fold> fold_from_text(std::string_view written);

}  // namespace larmor

#include "larmor/data/layout/layout.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace larmor {

const std::vector<FolderLayout>& layouts() {
  static const std::vector<FolderLayout> all = {nnunet_layout, decathlon_layout, bids_layout, brats_layout,
                                                mimic_cxr_layout};
  return all;
}

const FolderLayout& layout_called(std::string_view name) {
  const auto found = std::find_if(layouts().begin(), layouts().end(),
                                  [name](const FolderLayout& layout) { return layout.name == name; });
  if (found == layouts().end()) throw std::out_of_range("no layout of this name");
  return *found;
}

bool is_all_digits(std::string_view word) {
  const auto is_digit = [](unsigned char letter) { return std::isdigit(letter) != 0; };
  return !word.empty() && std::all_of(word.begin(), word.end(), is_digit);
}

}  // namespace larmor

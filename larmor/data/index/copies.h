// Images of equal contents under several names: one scan that counts as two people, or lies in train and in
// val.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "larmor/data/index/index.h"

namespace larmor {

/// An image file of a case, which is a number of Index::cases.
struct CopiedImage {
  std::string file;
  std::size_t of_case = 0;
};

/// Images with the same bytes that belong to different patients or splits, those of one content in a row.
/// Those are compared whole of which `states` (states_of_files()) say that they look alike; files that cannot
/// be read, or are known to be bad, are none. Masks and labels are no images: many a patient has an empty
/// one. Blocks.
std::vector<std::vector<CopiedImage>> copied_images(const Index& index,
                                                    const std::map<std::string, FileState>& states);

/// A sentence on each kind of copies that there are; empty without any. Throws Error (data) where the same
/// image lies in two splits and data.allow_copies does not say that it may. Blocks.
std::vector<std::string> check_copies(const Index& index, const std::map<std::string, FileState>& states,
                                      const DataConfig& data);

}  // namespace larmor

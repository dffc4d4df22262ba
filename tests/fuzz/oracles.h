// What holds of every reader, whatever bytes it gets. What breaks it ends the process with a sentence, which
// libFuzzer takes for a finding:
//   an Error is the one way to refuse, and its words have no control character;
//   memory stays below 64 times the input or 512 MiB, whichever is more, beyond the voxels themselves;
//   what is read does not depend on what memory held before: two fillings give the same;
//   a file that is read and then cut is refused, or gives the same: nothing is made up in place of what is
//   missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>

#include "larmor/formats/bytes.h"
#include "larmor/formats/stored_array.h"

namespace larmor::fuzz {

/// What a reader made of its bytes.
struct Product {
  uint64_t hash = 0;
  std::size_t bytes = 0;  // that it takes: voxels

  Product& add(std::string_view bytes);
  Product& add(const StoredArray& array);
  Product& add(const at::Tensor& tensor);
  bool operator==(const Product&) const = default;
};

struct Rules {
  bool whole = true;  // a cut file is refused or gives the same; false for texts, whose beginning is a text
};

/// Throws Error to refuse.
using Reader = Product (*)(std::string_view bytes);

/// Holds the reader to the rules; ends the process when it breaks one. Gives 0, as a fuzz target does.
int hold(const uint8_t* data, std::size_t size, Reader read, Rules rules = {});

/// Ends the process: `what` was broken.
[[noreturn]] void broken(const std::string& what);

Bytes copied(std::string_view bytes);
/// A file in memory with these bytes, under the same name at each call: for readers that open a path.
std::filesystem::path file_of(std::string_view bytes, const std::string& name = "input");
/// The folder of those files.
std::filesystem::path scratch_folder();

}  // namespace larmor::fuzz

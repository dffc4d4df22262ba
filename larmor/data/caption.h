// What a person is told of an example beside its picture.
#pragma once

#include <string>

namespace larmor {

struct Caption {
  std::string title = {};  // what the example is called; empty where its name does
  std::string words = {};  // a question; as its file has it
  /// Width over height of the picture in its file, where the tensors have another shape; 0: not known.
  double shape = 0;
};

}  // namespace larmor

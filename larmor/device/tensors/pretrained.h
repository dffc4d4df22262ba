// Weights that were trained elsewhere as the start of a network: whatever fits is taken, and what does not is
// named.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "larmor/device/tensors/tensor_file.h"

namespace torch::nn {
class Module;
}

namespace larmor {

/// Names after renaming, in the order of their tables.
struct StartReport {
  std::string source;             // the file
  int64_t copied = 0;             // tensors
  int64_t in_network = 0;         // tensors that the network has
  std::vector<std::string> left;  // of the file, left there on purpose: the last layer, a decoder
  std::vector<std::string> not_in_network;
  std::vector<std::string> not_in_file;  // they stay as the network had them
  std::vector<std::string> advice;       // sentences: what the two lists hint at
};

/// A part of a name that is called otherwise here, wherever in the name it stands: "LayerNorm.gamma" to
/// "LayerNorm.weight".
struct NameChange {
  std::string from, to;
};

struct PretrainedOptions {
  std::vector<std::string> left_behind =
      {};  // beginnings of names that are not taken: they answer another question
  std::vector<NameChange> renames = {};  // of the file's names, each after the one before it
  /// Whether the file has to have all of the network, but for names that begin with one of `may_lack`.
  /// Without it what the file has not stays as it was drawn.
  bool needs_all = false;
  std::vector<std::string> may_lack = {};
  /// What to do about a file of which nothing fits, or that lacks something.
  std::string what_fits = "give the weights of a network of this kind, under the names that are listed";
  /// What to do about shapes that differ, from the network's tensors and the file's; may be empty.
  std::function<std::string(const NamedTensors& own, const NamedTensors& file)> shape_hint = {};
  /// Sentences for the report; may be empty.
  std::function<std::vector<std::string>(const StartReport& report, const NamedTensors& own,
                                         const NamedTensors& file)>
      advise = {};
};

/// Copies tensors into a network by name, after renaming them; read_published_weights() has taken the
/// prefixes of wrappers off. The network is untouched when this throws. Throws Error (usage): shapes that
/// differ, a file of which nothing fits or that lacks what the network needs, two tensors of one name.
StartReport start_from(torch::nn::Module& network, const NamedTensors& tensors, const std::string& source,
                       const PretrainedOptions& options);

/// What to log: one line of counts, one for each list that is not empty (the first names, and how many more),
/// and the advice.
std::vector<std::string> lines_of(const StartReport& report);

}  // namespace larmor

// The parts of the loss that a step shows: summed over micro-batches, averaged over ranks.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>

#include "larmor/comm/communicator.h"
#include "larmor/track/tracker.h"

namespace larmor {

/// What stands before the names of what a step has recorded.
inline constexpr const char* records_prefix = "train/";

/// The names that ranks have agreed on, the same on all of them.
struct RecordNames {
  std::set<std::string> means, ratios;
};

class Records {
 public:
  /// Adds one micro-batch's value, from any device. It stays where it is until mean().
  void add(const std::string& name, const at::Tensor& value);
  /// Adds to a ratio's sum and count.
  void add_ratio(const std::string& name, const at::Tensor& sum, const at::Tensor& count);
  /// Whether some name is not among those that ranks have agreed on.
  bool has_new(const RecordNames& known) const;
  /// Adds every rank's names to those that are known. Collective.
  void share_names(RecordNames& known, Communicator& communicator) const;
  /// Means over `micro_batches` and ranks, and the sums and counts of ratios over both, of the names that are
  /// known: numbers for values_of(), float64 [n] on the communicator's device, where they are reduced. A rank
  /// that has not recorded a name counts as zero. Collective, unless no name is known.
  at::Tensor reduce(int64_t micro_batches, const RecordNames& known, Communicator& communicator) const;
  /// Reads what reduce() gave, once it is on the host, as "<prefix><name>"; names that no rank has recorded
  /// are left out.
  static Values values_of(const at::Tensor& reduced, const std::string& prefix, const RecordNames& known);
  /// Both. Requires: has_new(known) is false on every rank. Collective.
  Values mean(int64_t micro_batches, const std::string& prefix, const RecordNames& known,
              Communicator& communicator) const;

 private:
  std::map<std::string, at::Tensor> sums_;                           // float64 scalars, of any device
  std::map<std::string, std::pair<at::Tensor, at::Tensor>> ratios_;  // sum and count, likewise
};

}  // namespace larmor

// Dropout whose masks belong to the examples.
#pragma once

#include <string>

#include "larmor/nn/blocks/block.h"

namespace larmor::nn {

class Dropout final : public Block {
 public:
  /// Drops each element with probability `drop`. `path` is where it stands in its network
  /// ("encoder.3.attention"): no other dropout of the run may have it, since it is the purpose of the draw.
  /// Throws Error (usage) unless 0 <= drop < 1.
  Dropout(double drop, std::string path);
  /// input [N, …], a row an example. The input itself outside training, and where nothing is dropped. A
  /// network that runs more than once in a pass gives each run a DrawTurn.
  at::Tensor forward(const at::Tensor& input) override;
  /// Whether forward() gives anything but its input.
  bool drops() const { return is_training() && keep_ < 1; }

 private:
  double keep_;
  std::string purpose_;
};

}  // namespace larmor::nn

// In which order blocks run, and threads between the places where they meet. A card promises none.
#pragma once

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace cuda_on_cpu {

struct Order {
  enum Kind { forward, reversed, shuffled };
  Kind kind = forward;
  uint32_t seed = 1;
};

/// For launches that begin from now on, of every thread of the process.
void set_order(Order order);
Order order_of_launches();
/// "forward", "reversed" or "shuffled". Throws std::invalid_argument for another word.
Order order_named(std::string_view word);

/// Orders of one launch; each is another one where they are shuffled.
class Turns {
 public:
  Turns(Order order, uint64_t launch)
      : kind_(order.kind), random_(order.seed + static_cast<uint32_t>(launch) * 7919U) {}
  /// The numbers below `count`.
  const std::vector<uint64_t>& of(uint64_t count, std::vector<uint64_t>& memory);

 private:
  Order::Kind kind_;
  std::minstd_rand random_;
};

}  // namespace cuda_on_cpu

// Votes as what travels: one flag each, in a fixed order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "larmor/parallel/parallelism.h"

namespace larmor {

constexpr size_t vote_count = 7;
constexpr int64_t non_finite_place = 0;

inline std::array<bool, vote_count> to_flags(const Votes& votes) {
  return {votes.non_finite,    votes.stop,      votes.failed,    votes.bad_file,
          votes.out_of_memory, votes.new_names, votes.save_ended};
}

inline Votes from_flags(const std::array<bool, vote_count>& flags) {
  return {.non_finite = flags[0],
          .stop = flags[1],
          .failed = flags[2],
          .bad_file = flags[3],
          .out_of_memory = flags[4],
          .new_names = flags[5],
          .save_ended = flags[6]};
}

}  // namespace larmor

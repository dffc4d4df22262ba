// An operator of our own and its peer, timed in turns. Times are those of the processor, since the machine
// may be busy, and memory is kept between calls, as ranks keep it.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>
#include <ctime>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <malloc.h>

#include "larmor/base/error.h"
#include "larmor/base/json.h"

namespace larmor {

inline double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <class Work>
double processor_milliseconds(const Work& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) * 1e3 / CLOCKS_PER_SEC;
}

using Milliseconds = std::function<double()>;

/// Adds to `row` median times, the median of the ratios, the least of them, and libtorch beside itself (A/A).
/// Requires: at least 2 pairs.
inline void measure_in_turns(const Milliseconds& by_larmor, const Milliseconds& by_libtorch, int pairs,
                             Json& row) {
  std::vector<double> own, peer, ratio, same;
  by_larmor();
  by_libtorch();
  for (int turn = 0; turn < pairs; ++turn) {
    // Who comes first changes from pair to pair; between two of the peer's lies one of ours.
    if (turn % 2 == 0) own.push_back(by_larmor());
    peer.push_back(by_libtorch());
    if (turn % 2 == 1) own.push_back(by_larmor());
    ratio.push_back(peer.back() / own.back());
    if (turn % 2 == 1) same.push_back(peer[peer.size() - 2] / peer.back());
  }
  row["larmor_ms"] = median_of(own);
  row["libtorch_ms"] = median_of(peer);
  row["times_as_fast"] = median_of(ratio);
  row["times_as_fast_least"] = *std::min_element(ratio.begin(), ratio.end());
  row["libtorch_beside_itself"] = median_of(same);
}

struct NormSizes {
  int64_t channels, edge;
};

/// The whole of a program NAME THREADS PAIRS [EDGE CHANNELS...]: measures what the words name, or `usual`.
/// Gives the exit status.
inline int measure_norms(int count, char** words, const std::vector<NormSizes>& usual,
                         const std::function<void(const NormSizes&, int pairs)>& measure) {
  if (count < 3 || (count > 3 && count < 5)) {
    std::cerr << words[0] << " takes THREADS PAIRS [EDGE CHANNELS...]\n";
    return static_cast<int>(Exit::usage);
  }
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  at::set_num_threads(std::stoi(words[1]));
  const int pairs = std::max(std::stoi(words[2]), 2);
  std::vector<NormSizes> named;
  for (int i = 4; i < count; ++i) named.push_back({std::stoll(words[i]), std::stoll(words[3])});
  for (const NormSizes& sizes : named.empty() ? usual : named) measure(sizes, pairs);
  return 0;
}

}  // namespace larmor

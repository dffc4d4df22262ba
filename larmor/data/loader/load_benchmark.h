// How long volumes take from file to sample, stage by stage: what `bench loader` shows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "larmor/base/json.h"
#include "larmor/data/dataset.h"
#include "larmor/data/index/index.h"

namespace larmor {

/// Milliseconds in the calling thread: "load" (read, unpack, convert), one key a step of the chain
/// ("orientation", "spacing", "crop", "percentile", …), each made to do its work before the next begins, and
/// "chain": everything as training does it, steps joined where they can be.
using StageTimes = std::map<std::string, double>;

struct LoadTimes {
  int64_t volumes = 0;
  StageTimes mean_ms;  // over the volumes, of each one's median over the repeats
};

/// Reads every case of the index once to warm the page cache, then `repeats` times. `done(round, rounds)` is
/// called between rounds. Throws Error: a chain that is none (usage), a file that cannot be used (data), an
/// index without files (usage).
LoadTimes time_loading(const Index& index, const Json& transforms, int repeats,
                       const std::function<void(int, int)>& done);

/// Milliseconds that a sample takes in the calling thread, through whatever cache the dataset has: the mean
/// over the examples, of each one's median over `repeats` epochs behind one that fills the cache. Throws as
/// get() does.
double time_samples(const Dataset& dataset, uint64_t seed, int repeats);

}  // namespace larmor

// A sink with a thread of its own: what the training loop records goes into a queue, and no disk or program
// that is slow, or hangs, holds up a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "larmor/base/clock.h"
#include "larmor/track/tracker.h"

namespace larmor {

/// How much waits for a sink, and how long the end of a run does.
struct BackgroundLimits {
  size_t records = 10'000;
  size_t bytes = size_t{64} << 20;
  double seconds = 10;  // that flush() and the destructor wait for what is queued
};

/// Makes a sink, whose clock tells the wall time at which a record was handed in, not when it is written.
using OpensSink = std::function<std::unique_ptr<Tracker>(const Clock&)>;

/// The sink that `open` makes at once, and throws where it cannot. Records reach it in their order. Where the
/// queue is full, the oldest steps and pictures are dropped, then the oldest of the others; that is said
/// once, and flush() writes how many. `what` is lost then, and where the sink throws, which is said once and
/// ends nothing. A checkpoint has the sink flushed, and waits for nothing. After Error (rank_lost) in the
/// sink the next call throws it. The destructor writes what is queued; what the sink is busy with it waits
/// for, however long that takes, because the sink borrows from the caller. Borrows the clock.
std::unique_ptr<Tracker> make_background(std::string what, const Clock& clock, const OpensSink& open,
                                         const BackgroundLimits& limits = {});

}  // namespace larmor

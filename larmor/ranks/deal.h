// Work that is dealt out to ranks, piece by piece: each asks for the next when it is done with one. No
// collective joins them, so that one that is killed or hangs costs the piece that it was at and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/ranks/job.h"
#include "larmor/ranks/live_rank.h"

namespace larmor::ranks {

/// What became of a piece.
struct Dealt {
  enum class End { done, lost, hung, stopped, not_tried };
  End end = End::not_tried;
  Json result = {};       // of one that is done
  std::string loss = {};  // of one that is lost or hung: "rank 0 ended with it: killed by SIGKILL"
  Exit exit = Exit::rank_lost;
};

struct Dealing {
  std::function<void(std::size_t)> before;            // told of each piece that is given away
  std::function<void(const std::string&)> said;       // what ranks have printed
  std::function<std::string(std::size_t)> name = {};  // of a piece, for warnings
};

/// Starts the ranks with the words of the job, deals out so many pieces and blocks until nothing is left of
/// them: what became of each, whoever computed it. A rank that ends at a piece, or shows no heartbeat for
/// longer than the job's hang limit, is started again while pieces are left; one that hangs while it starts
/// is not. A stop signal (launch/stop_signal.h) is passed on, and no more is dealt out. Where no rank is left
/// the other pieces end with the exit status of the first that ended; throws Error with it where none was
/// begun.
std::vector<Dealt> deal(const Job& job, std::size_t count, const Dealing& dealing);

/// Computes a piece. `upcoming` holds the one that the rank is likely given next, for who reads ahead: no
/// other rank is told the same, but one that is done when nothing else is left takes it.
using Compute = std::function<Json(int64_t piece, const std::vector<int64_t>& upcoming)>;
/// The other side, in a rank that deal() has started: computes what it is given until nothing is left.
void serve(LiveRank& rank, const Compute& compute);

}  // namespace larmor::ranks

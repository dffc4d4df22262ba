#include "larmor/device/rank_sum.h"

#include <utility>

namespace larmor {
namespace {

thread_local RankSum* open_door = nullptr;

}  // namespace

RankSum* rank_sum() { return open_door; }

RankSumScope::RankSumScope(RankSum* sum) : outer_(std::exchange(open_door, sum)) {}

RankSumScope::~RankSumScope() { open_door = outer_; }

}  // namespace larmor

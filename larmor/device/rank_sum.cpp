#include "larmor/device/rank_sum.h"

#include <utility>

namespace larmor {
namespace {

thread_local RankSum* rank_sum_of_thread = nullptr;

}  // namespace

RankSum* rank_sum() { return rank_sum_of_thread; }

RankSumScope::RankSumScope(RankSum* sum) : outer_(std::exchange(rank_sum_of_thread, sum)) {}

RankSumScope::~RankSumScope() { rank_sum_of_thread = outer_; }

}  // namespace larmor

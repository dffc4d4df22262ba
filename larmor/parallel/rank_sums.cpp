#include "larmor/parallel/rank_sums.h"

#include "larmor/base/error.h"

namespace larmor {

RankSums::RankSums(Communicator& communicator)
    : communicator_(communicator), group_(communicator.duplicate()) {}

void RankSums::join_again() { group_ = communicator_.duplicate(); }

int RankSums::ranks() const { return group_->size(); }

void RankSums::add_up(const at::Tensor& values) {
  try {
    group_->all_reduce(values, Reduce::sum).wait();
  } catch (const Error& error) {
    throw error.within("in batch norm over all ranks");
  }
}

bool RankSums::leave() {
  group_->abort();
  return group_->device().is_cpu();
}

}  // namespace larmor

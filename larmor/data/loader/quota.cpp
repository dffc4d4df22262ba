#include "larmor/data/loader/quota.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/keyed_permutation.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {
// Keeps these permutations apart from those of the epochs.
constexpr uint64_t layout_seed = 0x71756f7461;
}  // namespace

Quota::Quota(uint64_t seed, int64_t examples, std::vector<int64_t> members, int64_t least, int64_t batch)
    : seed_(seed ^ layout_seed), batch_(batch), least_(least) {
  const auto count = static_cast<int64_t>(members.size());
  if (least >= batch) {
    fail(Exit::usage, text("a batch of ", batch, " cannot hold ", least, " members and anything else"),
         "ask for fewer, or for a larger train.global_batch");
  }
  if (least > 0 && (count == 0 || count == examples)) {
    fail(Exit::data,
         text(count, " of ", examples, " examples are of the kind of which each batch shall hold ", least),
         "there have to be some, and others beside them");
  }
  for (int64_t example = 0; example < examples; ++example) {
    if (!std::ranges::binary_search(members, example)) examples_[0].push_back(example);
  }
  examples_[1] = std::move(members);
}

int64_t Quota::count(bool is_member) const {
  return static_cast<int64_t>(examples_[is_member ? 1 : 0].size());
}

int64_t Quota::example(bool is_member, int64_t rank) const {
  return examples_[is_member ? 1 : 0][static_cast<size_t>(rank)];
}

// Their share of the examples, rounded so that it comes out over many batches; or the least.
int64_t Quota::members_before(int64_t batch) const {
  const int64_t members = count(true), all = members + count(false);
  const bool share_suffices = batch_ * members / all >= least_;
  return share_suffices ? batch * batch_ * members / all : batch * least_;
}

QuotaPlace Quota::place_of(int64_t position) const {
  assert(position >= 0);
  const int64_t batch = position / batch_;
  const KeyedPermutation layout(seed_, static_cast<uint64_t>(batch), batch_);
  const int64_t before = members_before(batch), members = members_before(batch + 1) - before;
  const int64_t slot = layout.at(position % batch_);  // the first ones are the members'
  if (slot < members) return {.is_member = true, .index = before + slot};
  return {.is_member = false, .index = batch * batch_ - before + slot - members};
}

}  // namespace larmor

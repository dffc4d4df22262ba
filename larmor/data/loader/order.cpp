#include "larmor/data/loader/order.h"

#include <cassert>
#include <cstddef>
#include <numeric>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/keyed_permutation.h"

namespace larmor {

ExampleOrder::ExampleOrder(uint64_t seed, int64_t examples, int64_t together)
    : seed_(seed), examples_(examples), examples_per_case_(together) {
  assert(together >= 1 && examples % together == 0);
  if (examples <= 0) {
    fail(Exit::data, "there are no cases to train on: the training split is empty",
         "give data.split.train a larger share, or more data");
  }
}

ExampleOrder::ExampleOrder(uint64_t seed, SmartWindow window, int64_t together)
    : seed_(seed),
      examples_(window.size() * together),
      examples_per_case_(together),
      window_(std::move(window)) {}

ExampleOrder::ExampleOrder(uint64_t seed, int64_t examples, Quota quota)
    : seed_(seed), examples_(examples), examples_per_case_(1), quota_(std::move(quota)) {
  assert(quota_->count(true) + quota_->count(false) == examples);
}

ExampleKey ExampleOrder::by_quota(int64_t position, int64_t places) const {
  const auto [is_member, index] = quota_->place_of(position);
  const int64_t count = quota_->count(is_member), number = index / count;
  // The members' permutations have a seed of their own.
  const KeyedPermutation drawn(is_member ? ~seed_ : seed_, static_cast<uint64_t>(number), count);
  const int64_t rank = drawn.at((index % count + places) % count);
  return {.seed = seed_, .epoch = number, .example = quota_->example(is_member, rank)};
}

ExampleKey ExampleOrder::substitute(int64_t position, int64_t places) const {
  assert(position >= 0 && places >= 0);
  if (quota_) return by_quota(position, places);
  const int64_t number = position / examples_;
  const int64_t place = (position % examples_ + places) % examples_;
  const KeyedPermutation permutation(seed_, static_cast<uint64_t>(number), examples_ / examples_per_case_);
  const int64_t drawn = permutation.at(place / examples_per_case_);
  const int64_t first = (window_ ? window_->example(number, drawn) : drawn) * examples_per_case_;
  return {.seed = seed_, .epoch = number, .example = first + place % examples_per_case_};
}

ExampleOrder make_order(const DataConfig& data, uint64_t seed, int64_t examples, int64_t together) {
  if (data.cache != "smart" || examples <= 0) return ExampleOrder(seed, examples, together);
  return ExampleOrder(seed, SmartWindow(seed, examples / together, data.cache_rate, data.replace_rate),
                      together);
}

std::vector<int64_t> BatchSlice::positions(int64_t consumed, int64_t micro) const {
  assert(global_batch == micro_batch * accumulation * ranks);
  assert(rank >= 0 && rank < ranks && micro >= 0 && micro < accumulation);
  std::vector<int64_t> positions(static_cast<size_t>(micro_batch));
  std::iota(positions.begin(), positions.end(), consumed + (rank * accumulation + micro) * micro_batch);
  return positions;
}

}  // namespace larmor

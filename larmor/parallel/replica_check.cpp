#include "larmor/parallel/replica_check.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

c10::ScalarType integers_as_wide_as(const at::Tensor& tensor) {
  switch (tensor.element_size()) {
    case 1:
      return at::kByte;
    case 2:
      return at::kShort;
    case 4:
      return at::kInt;
    default:
      return at::kLong;
  }
}

/// "rank 2", "ranks 0 and 1", "ranks 0, 1 and 3".
std::string named_ranks(const std::vector<int64_t>& ranks) {
  std::string words = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) words += i + 1 == ranks.size() ? " and " : ", ";
    words += std::to_string(ranks[i]);
  }
  return words;
}

/// Ranks by what they hold, those that most hold first. `all` is [ranks, tensors].
std::vector<std::vector<int64_t>> camps_of(const at::Tensor& all) {
  std::map<std::vector<int64_t>, std::vector<int64_t>> by_numbers;
  const auto numbers = all.accessor<int64_t, 2>();
  for (int64_t rank = 0; rank < all.size(0); ++rank) {
    std::vector<int64_t> held;
    for (int64_t i = 0; i < all.size(1); ++i) held.push_back(numbers[rank][i]);
    by_numbers[held].push_back(rank);
  }
  std::vector<std::vector<int64_t>> camps;
  for (auto& [held, ranks] : by_numbers) camps.push_back(ranks);
  std::ranges::stable_sort(camps, [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return camps;
}

/// "decoder.weight and 3 more tensors".
std::string unequal_tensors(const TensorList& tensors, const at::Tensor& all) {
  std::string first;
  int64_t more = -1;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto column = all.select(1, static_cast<int64_t>(i));
    if (column.min().item<int64_t>() == column.max().item<int64_t>()) continue;
    if (++more == 0) first = tensors[i].first;
  }
  return more == 0 ? first : text(first, " and ", more, more == 1 ? " more tensor" : " more tensors");
}

}  // namespace

at::Tensor fingerprints_of(const TensorList& tensors) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> numbers;
  numbers.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors)
    numbers.push_back(tensor.detach().view(integers_as_wide_as(tensor)).sum(at::kLong));
  return at::stack(numbers);
}

void require_equal_replicas(const TensorList& tensors, Communicator& communicator) {
  if (tensors.empty()) return;
  const auto own = fingerprints_of(tensors);
  const auto gathered = at::empty({communicator.size() * own.numel()}, own.options());
  communicator.all_gather(own, gathered).wait();
  const auto all = gathered.view({communicator.size(), own.numel()}).cpu();
  const auto camps = camps_of(all);
  if (camps.size() == 1) return;
  const bool has_majority = camps[0].size() > camps[1].size();
  std::vector<int64_t> named;
  for (size_t camp = has_majority ? 1 : 0; camp < camps.size(); ++camp)
    named.insert(named.end(), camps[camp].begin(), camps[camp].end());
  std::ranges::sort(named);
  const auto tensors_named = unequal_tensors(tensors, all);
  fail(Exit::rank_lost,
       has_majority ? text(named_ranks(named), " of ", communicator.size(), " no longer ",
                           named.size() == 1 ? "has" : "have", " the weights of the others: ", tensors_named)
                    : text(named_ranks(named), " no longer have the same weights: ", tensors_named),
       "a device, its memory or a link has changed bits. What is saved was compared before: larmor train RUN "
       "goes on "
       "from there; look at that host (larmor doctor) before you trust it");
}

}  // namespace larmor

#include "larmor/train/whole_batch.h"

#include <array>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/device/send.h"

namespace larmor {

namespace {

at::Tensor as_table(const std::vector<at::Tensor>& parts) {
  std::vector<at::Tensor> tables;
  for (const at::Tensor& part : parts)
    tables.push_back(part.detach().reshape({part.size(0), -1}).to(at::kCPU, at::kDouble));
  return at::cat(tables).contiguous();
}

void append(std::string& bytes, const at::Tensor& table) {
  for (const int64_t size : table.sizes()) bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
  bytes.append(reinterpret_cast<const char*>(table.const_data_ptr<double>()),
               static_cast<std::size_t>(table.numel()) * sizeof(double));
}

/// Takes what append() has put there off the front.
at::Tensor take_table(std::string_view& bytes) {
  std::array<int64_t, 2> sizes{};
  std::memcpy(sizes.data(), bytes.data(), sizeof(sizes));
  at::Tensor table = at::empty(sizes, at::kDouble);
  const auto length = static_cast<std::size_t>(table.numel()) * sizeof(double);
  std::memcpy(table.mutable_data_ptr<double>(), bytes.data() + sizeof(sizes), length);
  bytes.remove_prefix(sizeof(sizes) + length);
  return table;
}

/// The rows of a table, each as `like` has them.
at::Tensor rows_like(const at::Tensor& like, const at::Tensor& table, at::ScalarType type) {
  std::vector<int64_t> sizes = like.sizes().vec();
  sizes[0] = table.size(0);
  return send(table.reshape(sizes).to(type), like.device());
}

}  // namespace

WholeBatch::WholeBatch(WholeBatchLoss& loss, const torch::nn::Module& network,
                       const WholeBatchOptions& options)
    : loss_(loss), network_(network), options_(options) {}

void WholeBatch::forward(Batch batch, const StepContext& context) {
  if (batches_.empty() && options_.accumulation > 1) kept_.emplace(std::vector{&network_});
  const at::AutoGradMode graph(options_.accumulation == 1);
  rows_.push_back(rows_of(loss_, batch, context, options_.pass));
  targets_.push_back(loss_.targets(batch).detach());
  batches_.push_back(std::move(batch));
}

std::string WholeBatch::packed() const {
  std::string bytes;
  append(bytes, as_table(rows_));
  append(bytes, as_table(targets_));
  return bytes;
}

bool WholeBatch::gather(bool well, const StepContext& context, Communicator& communicator) {
  const auto of_ranks = all_gather_bytes(communicator, well ? packed() : std::string());
  std::vector<at::Tensor> rows, targets;
  int64_t before = 0;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    if (of_ranks[rank].empty()) return false;
    std::string_view bytes = of_ranks[rank];
    rows.push_back(take_table(bytes));
    targets.push_back(take_table(bytes));
    if (static_cast<int>(rank) < communicator.rank()) before += rows.back().size(0);
  }
  ranks_ = static_cast<double>(communicator.size());
  const auto type = rows_.front().scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor all = rows_like(rows_.front(), at::cat(rows), type).requires_grad_();
  const at::AutoGradMode graph(true);
  // Targets keep the width they have travelled in: float32 cannot tell times from each other that lie beyond
  // 2^24 of their unit, such as seconds.
  const at::Tensor loss =
      loss_.loss(all, rows_like(targets_.front(), at::cat(targets), at::kDouble), context);
  assert(loss.dim() == 0);
  const at::Tensor gradient = torch::autograd::grad({loss}, {all}).front();
  for (const at::Tensor& part : rows_) {
    gradients_.push_back(gradient.narrow(0, before, part.size(0)));
    before += part.size(0);
  }
  loss_value_ = loss.item<double>();
  if (kept_) kept_->restore();
  return true;
}

at::Tensor WholeBatch::share_of(int64_t micro, const StepContext& context) {
  const auto place = static_cast<std::size_t>(micro);
  const at::Tensor rows =
      options_.accumulation == 1 ? rows_[place] : rows_of(loss_, batches_[place], context, options_.pass);
  return (rows.to(gradients_[place].scalar_type()) * gradients_[place]).sum() * ranks_;
}

}  // namespace larmor

#include "larmor/train/step/whole_batch.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/module.h>

#include "larmor/task/batch_device.h"

namespace larmor {

namespace {

at::Tensor as_table(const std::vector<at::Tensor>& parts) {
  std::vector<at::Tensor> tables;
  for (const at::Tensor& part : parts)
    tables.push_back(part.detach().reshape({part.size(0), -1}).to(at::kCPU, at::kDouble));
  return at::cat(tables).contiguous();
}

std::string packed(const at::Tensor& table) {
  std::string bytes;
  for (const int64_t size : table.sizes()) bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
  bytes.append(reinterpret_cast<const char*>(table.const_data_ptr<double>()),
               static_cast<std::size_t>(table.numel()) * sizeof(double));
  return bytes;
}

/// What packed() has made of it.
at::Tensor unpacked(const std::string& bytes) {
  std::array<int64_t, 2> sizes{};
  std::memcpy(sizes.data(), bytes.data(), sizeof(sizes));
  at::Tensor table = at::empty(sizes, at::kDouble);
  const auto length = static_cast<std::size_t>(table.numel()) * sizeof(double);
  std::memcpy(table.mutable_data_ptr<double>(), bytes.data() + sizeof(sizes), length);
  return table;
}

/// The rows of a table, each as `like` has them.
at::Tensor rows_like(const at::Tensor& like, const at::Tensor& table) {
  std::vector<int64_t> sizes = like.sizes().vec();
  sizes[0] = table.size(0);
  return table.reshape(sizes);
}

}  // namespace

WholeBatch::WholeBatch(WholeBatchLoss& loss, const torch::nn::Module& network,
                       const WholeBatchOptions& options)
    : loss_(loss), network_(network), options_(options) {}

void WholeBatch::forward(Batch batch, const StepContext& context) {
  if (batches_.empty() && options_.accumulation > 1) kept_.emplace(std::vector{&network_});
  const at::AutoGradMode graph(options_.accumulation == 1);
  targets_.push_back(loss_.targets(batch).detach());
  batch = options_.take ? options_.take(std::move(batch))
                        : to_device(std::move(batch), options_.pass.device, options_.pass.precision);
  rows_.push_back(rows_of(loss_, batch, context, options_.pass));
  batches_.push_back(std::move(batch));
}

at::Tensor WholeBatch::gathered_rows(const std::vector<int64_t>& counts, Communicator& communicator) const {
  std::vector<at::Tensor> tables;
  for (const at::Tensor& part : rows_) tables.push_back(part.detach().reshape({part.size(0), -1}));
  at::Tensor own = at::cat(tables);
  own = own.to(own.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  // Shorter ones are padded: a collective moves equal shares.
  const int64_t longest = *std::ranges::max_element(counts), width = own.size(1);
  if (own.size(0) < longest) own = at::cat({own, own.new_zeros({longest - own.size(0), width})});
  const auto ranks = static_cast<int64_t>(counts.size());
  const at::Tensor all = at::empty({ranks * longest, width}, own.options());
  communicator.all_gather(own.contiguous(), all).wait();
  std::vector<at::Tensor> of_ranks;
  for (int64_t rank = 0; rank < ranks; ++rank)
    of_ranks.push_back(all.narrow(0, rank * longest, counts[static_cast<std::size_t>(rank)]));
  return rows_like(rows_.front(), at::cat(of_ranks));
}

bool WholeBatch::gather(bool well, const StepContext& context, Communicator& communicator,
                        Communicator& on_host) {
  const auto of_ranks = all_gather_bytes(on_host, well ? packed(as_table(targets_)) : std::string());
  std::vector<at::Tensor> targets;
  std::vector<int64_t> counts;
  int64_t before = 0;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    if (of_ranks[rank].empty()) return false;
    targets.push_back(unpacked(of_ranks[rank]));
    counts.push_back(targets.back().size(0));
    if (static_cast<int>(rank) < communicator.rank()) before += counts.back();
  }
  ranks_ = static_cast<double>(communicator.size());
  const at::Tensor all = gathered_rows(counts, communicator).requires_grad_();
  const at::AutoGradMode graph(true);
  // Targets keep the width they have travelled in: float32 cannot tell times from each other that lie beyond
  // 2^24 of their unit, such as seconds.
  const at::Tensor loss = loss_.loss(all, rows_like(targets_.front(), at::cat(targets)), context);
  assert(loss.dim() == 0);
  const at::Tensor gradient = torch::autograd::grad({loss}, {all}).front();
  for (const at::Tensor& part : rows_) {
    gradients_.push_back(gradient.narrow(0, before, part.size(0)));
    before += part.size(0);
  }
  loss_value_ = loss.detach();
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

#include "workloads/xray_vqa/network/region_pooling.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/maximum.h>

namespace larmor::xray_vqa {
namespace {

/// Which of `cells` lie between two edges [N, O] of an axis: [N, O, cells].
at::Tensor cells_between(const at::Tensor& low, const at::Tensor& high, int64_t cells) {
  const auto count = static_cast<double>(cells);
  const at::Tensor first = (low * count).floor().clamp(0, count - 1);
  const at::Tensor end = at::maximum((high * count).floor().clamp_max(count), first + 1);
  const at::Tensor cell = at::arange(cells, low.options());
  return (cell >= first.unsqueeze(-1)) & (cell < end.unsqueeze(-1));
}

}  // namespace

at::Tensor looked_at(const at::Tensor& objects_mask) {
  const at::Tensor first = objects_mask.narrow(1, 0, 1) | objects_mask.any(1, true).bitwise_not();
  return at::cat({first, objects_mask.narrow(1, 1, objects_mask.size(1) - 1)}, 1);
}

at::Tensor pool_regions(const at::Tensor& map, const at::Tensor& boxes, const at::Tensor& objects_mask) {
  const int64_t height = map.size(2), width = map.size(3);
  const at::Tensor edges = boxes.to(at::kDouble);
  const auto edge = [&edges](int64_t which) { return edges.select(2, which); };
  const at::Tensor rows = cells_between(edge(1), edge(3), height).unsqueeze(-1);
  const at::Tensor columns = cells_between(edge(0), edge(2), width).unsqueeze(-2);
  const at::Tensor is_alone = objects_mask.any(1, true).bitwise_not().unsqueeze(-1);  // [N, 1, 1]
  const at::Tensor seen = looked_at(objects_mask).unsqueeze(-1);                      // [N, O, 1]
  const at::Tensor cells = ((rows & columns).flatten(2) | is_alone) & seen;           // [N, O, H W]
  // Sums of cells, which are exact in any type, divided by how many there are.
  const at::Tensor sums = at::bmm(cells.to(map.scalar_type()), map.flatten(2).transpose(1, 2));
  return sums / cells.sum(-1, true).clamp_min(1).to(sums.scalar_type());
}

at::Tensor masked_mean(const at::Tensor& tokens, const at::Tensor& mask) {
  const at::Tensor weight = mask.unsqueeze(-1).to(tokens.scalar_type());
  return (tokens * weight).sum(1) / weight.sum(1).clamp_min(1);
}

}  // namespace larmor::xray_vqa

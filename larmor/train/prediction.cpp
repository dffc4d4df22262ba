#include "larmor/train/prediction.h"

#include <ATen/core/TensorBody.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/train/task.h"
#include "larmor/transforms/resample_like.h"

namespace larmor {

Volume PredictionContext::on_grid_of(std::string_view input, const at::Tensor& voxels) const {
  const auto found = grids.find(input);
  ensure(found != grids.end());  // the task asks for an input that it was given
  const auto& [of_file, prepared, size_of_file] = found->second;
  const Volume result{.voxels = voxels.to(at::kCPU, at::kFloat).contiguous(), .affine = prepared};
  const bool is_there =
      prepared == of_file && result.voxels.sizes().slice(1) == at::IntArrayRef(size_of_file);
  return is_there ? result : resample_like(result, of_file, size_of_file);
}

Prediction Task::predict(const Batch&, const PredictionContext&) {
  fail(Exit::usage, "this stage predicts nothing", "predict with another stage of the workload");
}

}  // namespace larmor

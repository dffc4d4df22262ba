#include "larmor/train/measure/validation_count.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <string>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/nn/module.h>

#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/device/meta_kernels.h"
#include "larmor/device/meta_memory.h"
#include "larmor/formats/volume_size.h"
#include "larmor/train/networks.h"
#include "larmor/transforms/declared_chain.h"

namespace larmor {
namespace {

constexpr std::size_t axes_of_case = 3;

struct CaseGrid {
  std::vector<int64_t> size;
  std::vector<double> spacing_mm{1, 1, 1};
};

const Case* largest_of(const Index& index) {
  const Case* largest = nullptr;
  for (const int64_t number : index.of(Split::val)) {
    const Case& one = index.cases[static_cast<std::size_t>(number)];
    if (largest == nullptr || one.bytes > largest->bytes) largest = &one;
  }
  return largest;
}

CaseGrid grid_of(const RunConfig& config, const Index& index) {
  CaseGrid grid{.size = {64, 64, 64}};
  if (config.data.kind == "phantom") grid.size = config.data.phantom_size;
  const Case* const largest = index.is_invented() ? nullptr : largest_of(index);
  if (largest == nullptr) return grid;
  const auto image = std::find_if(largest->files.begin(), largest->files.end(),
                                  [](const auto& file) { return is_image(file.first); });
  if (image == largest->files.end()) return grid;
  const auto found = size_of_volume(index.folder / image->second);
  if (!found) return grid;  // whoever reads the case will say what is wrong with it
  grid.size.assign(found->voxels.begin(), found->voxels.end());
  grid.spacing_mm.assign(found->spacing_mm.begin(), found->spacing_mm.end());
  return grid;
}

/// A number for each axis, or one for all; nothing where it is neither.
std::vector<double> per_axis(const Json& parameters, const char* name) {
  const auto found = parameters.find(name);
  if (found == parameters.end()) return {};
  if (found->is_number()) return std::vector<double>(axes_of_case, found->get<double>());
  const bool is_list =
      found->is_array() && found->size() == axes_of_case &&
      std::all_of(found->begin(), found->end(), [](const Json& one) { return one.is_number(); });
  return is_list ? found->get<std::vector<double>>() : std::vector<double>{};
}

void apply_size(const std::string& name, const Json& parameters, CaseGrid& grid) {
  const auto spacing = name == "Spacing" ? per_axis(parameters, "pixdim") : std::vector<double>{};
  const auto size = per_axis(parameters, "spatial_size");
  for (std::size_t axis = 0; axis < axes_of_case; ++axis) {
    auto& voxels = grid.size[axis];
    if (!spacing.empty() && spacing[axis] > 0) {
      voxels = std::llround(static_cast<double>(voxels) * grid.spacing_mm[axis] / spacing[axis]);
      grid.spacing_mm[axis] = spacing[axis];
    }
    if (size.empty() || size[axis] < 1) continue;
    const auto wanted = static_cast<int64_t>(size[axis]);
    voxels = name == "SpatialPad" ? std::max(voxels, wanted) : wanted;
  }
}

at::Tensor on_meta(int64_t channels, const std::vector<int64_t>& size) {
  std::vector<int64_t> shape{1, channels};
  shape.insert(shape.end(), size.begin(), size.end());
  return at::empty(shape, at::TensorOptions(at::kMeta).dtype(at::kFloat));
}

}  // namespace

std::vector<int64_t> largest_case(const RunConfig& config, const Index& index) {
  CaseGrid grid = grid_of(config, index);
  for (const Json& step : prediction_chain(config.data.transforms)) {
    if (!step.is_object() || step.empty() || !step.front().is_object()) continue;
    std::string name = step.begin().key();
    if (name.ends_with('d') && name != "SpatialPad") name.pop_back();
    apply_size(name, step.front(), grid);
  }
  return grid.size;
}

void count_validation(Task& task, int64_t channels, const std::vector<int64_t>& case_size,
                      const ValidationConfig& validation,
                      const std::function<void(const at::Tensor& images)>& judge, Demand& demand) {
  register_meta_kernels();
  for (torch::nn::Module* const network : networks_of(task)) {
    move_to_meta(*network);
    network->eval();
  }
  const at::NoGradGuard no_grad;
  std::vector<int64_t> window;
  for (std::size_t axis = 0; axis < axes_of_case; ++axis)
    window.push_back(std::min(case_size[axis], validation.roi_size[axis]));
  const auto peak_over = [&](const std::vector<int64_t>& size) {
    const MetaMemoryScope memory;
    judge(on_meta(channels, size));
    return memory.peak();
  };
  try {
    const int64_t of_window = peak_over(window), of_case = peak_over(case_size);
    demand.validation_window_bytes = of_window;
    demand.validation_case_bytes = std::max<int64_t>(of_case - of_window, 0);
  } catch (const std::exception& error) {
    const std::string words = error.what();
    log::info(text("What validation of whole cases keeps in memory is not known before it runs: ",
                   words.substr(0, words.find('\n'))));
  }
}

}  // namespace larmor

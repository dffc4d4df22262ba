#include "larmor/measure/validation_count.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/nn/module.h>

#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/device/meta/meta_kernels.h"
#include "larmor/device/meta/meta_memory.h"
#include "larmor/formats/volume_size.h"
#include "larmor/task/networks.h"
#include "larmor/transforms/declared_chain.h"

namespace larmor {
namespace {

constexpr std::size_t axes_of_case = 3;
/// So many cases, those with most bytes, have their headers read: some milliseconds each.
constexpr std::size_t headers_read = 16;
/// What it leaves of a case depends on voxels.
constexpr std::string_view cut_by_voxels = "CropForeground";

struct CaseGrid {
  std::vector<int64_t> size{64, 64, 64};
  std::vector<double> spacing_mm{1, 1, 1};
};

/// Of a split, at most so many, those with most bytes first.
std::vector<const Case*> with_most_bytes(const Index& index, Split split, std::size_t most) {
  std::vector<const Case*> cases;
  for (const int64_t number : index.of(split))
    cases.push_back(&index.cases[static_cast<std::size_t>(number)]);
  std::stable_sort(cases.begin(), cases.end(),
                   [](const Case* one, const Case* other) { return one->bytes > other->bytes; });
  cases.resize(std::min(cases.size(), most));
  return cases;
}

/// Nothing where no header can be read: whoever reads the case will say what is wrong with it.
std::optional<CaseGrid> grid_of(const Index& index, const Case& one) {
  const auto image =
      std::find_if(one.files.begin(), one.files.end(), [](const auto& file) { return is_image(file.first); });
  if (image == one.files.end()) return std::nullopt;
  const auto found = size_of_volume(index.folder / image->second);
  if (!found) return std::nullopt;
  CaseGrid grid;
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

/// A step's name, without the d of MONAI's transforms for dictionaries.
std::string name_of(const Json& step) {
  if (step.is_string()) return step.get<std::string>();
  if (!step.is_object() || step.empty()) return "";
  std::string name = step.begin().key();
  if (name.ends_with('d') && name != "SpatialPad" && name != cut_by_voxels) name.pop_back();
  return name;
}

void apply_size(const std::string& name, const Json& parameters, CaseGrid& grid) {
  const bool crops = name.ends_with("SpatialCrop") || name == "RandSpatialCropSamples";
  const auto spacing = name == "Spacing" ? per_axis(parameters, "pixdim") : std::vector<double>{};
  const auto size = per_axis(parameters, crops ? "roi_size" : "spatial_size");
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

std::vector<int64_t> transformed(const Json& chain, CaseGrid grid) {
  for (const Json& step : chain) {
    if (step.is_object() && !step.empty() && step.front().is_object())
      apply_size(name_of(step), step.front(), grid);
  }
  return grid.size;
}

double voxels_in(const std::vector<int64_t>& size) {
  double product = 1;
  for (const int64_t along : size) product *= static_cast<double>(along);
  return product;
}

/// "176 x 208 x 176 voxels".
std::string shown(const std::vector<int64_t>& size) {
  std::vector<std::string> words;
  for (const int64_t along : size) words.push_back(text(along));
  return join(words, " x ") + " voxels";
}

/// Of the cases with most bytes, that with most voxels after the chain; empty where no header can be read.
std::vector<int64_t> largest_example(const Index& index, const Json& chain) {
  std::vector<int64_t> largest;
  for (const Case* const one : with_most_bytes(index, Split::train, headers_read)) {
    const auto grid = grid_of(index, *one);
    if (!grid) continue;
    auto size = transformed(chain, *grid);
    if (largest.empty() || voxels_in(size) > voxels_in(largest)) largest = std::move(size);
  }
  return largest;
}

bool says_all(const std::vector<int64_t>& crop) {
  return crop.size() == axes_of_case &&
         std::all_of(crop.begin(), crop.end(), [](int64_t size) { return size > 0; });
}

at::Tensor on_meta(int64_t channels, const std::vector<int64_t>& size) {
  std::vector<int64_t> shape{1, channels};
  shape.insert(shape.end(), size.begin(), size.end());
  return at::empty(shape, at::TensorOptions(at::kMeta).dtype(at::kFloat));
}

/// `count` with the task on the meta device, as validation has it. What cannot be counted there, because it
/// looks at values, is told in the log: `what` is not known.
void count_on_meta(Task& task, const char* what, const std::function<void()>& count) {
  register_meta_kernels();
  for (torch::nn::Module* const network : networks_of(task)) {
    move_to_meta(*network);
    network->eval();
  }
  const at::NoGradGuard no_grad;
  try {
    count();
  } catch (const std::exception& error) {
    const std::string words = error.what();
    log::info(text("What ", what,
                   " keeps in memory is not known before it runs: ", words.substr(0, words.find('\n'))));
  }
}

int64_t peak_of(const std::function<void()>& pass) {
  const MetaMemoryScope memory;
  pass();
  return memory.peak();
}

}  // namespace

std::vector<int64_t> largest_case(const RunConfig& config, const Index& index) {
  CaseGrid grid;
  if (config.data.kind == "phantom") grid.size = config.data.phantom_size;
  if (!index.is_invented()) {
    for (const Case* const largest : with_most_bytes(index, Split::val, 1))
      grid = grid_of(index, *largest).value_or(grid);
  }
  return transformed(prediction_chain(config.data.transforms), grid);
}

std::vector<int64_t> size_of_example(const RunConfig& config, const Index& index,
                                     const std::vector<int64_t>& configured, int64_t divisor) {
  const Json chain = training_chain(config.data.transforms);
  const bool is_known = index.is_invented() || index.of(Split::train).empty() ||
                        says_all(training_crop(config.data.transforms));
  if (is_known) return configured;
  const bool is_cut = std::any_of(chain.begin(), chain.end(),
                                  [](const Json& step) { return name_of(step) == cut_by_voxels; });
  auto largest = is_cut ? std::vector<int64_t>{} : largest_example(index, chain);
  const bool is_found = !largest.empty();
  for (int64_t& size : largest) size = (std::max<int64_t>(size, 1) + divisor - 1) / divisor * divisor;
  if (!is_found) largest = configured;
  const std::size_t cases = index.of(Split::train).size();
  log::info(text("The plan counts an example as ", shown(largest), ": no crop says how large it is, and ",
                 is_cut ? text(cut_by_voxels, " goes by voxels, which are not read before")
                 : is_found
                     ? text("the largest of ", cases, cases == 1 ? " training case" : " training cases",
                            " is that large by the headers of files")
                     : "no header of a training case can be read"));
  return largest;
}

void count_validation(Task& task, int64_t channels, const std::vector<int64_t>& case_size,
                      const ValidationConfig& validation,
                      const std::function<void(const at::Tensor& images)>& judge, Demand& demand) {
  std::vector<int64_t> window;
  for (std::size_t axis = 0; axis < axes_of_case; ++axis)
    window.push_back(std::min(case_size[axis], validation.roi_size[axis]));
  const auto peak_over = [&](const std::vector<int64_t>& size) {
    return peak_of([&] { judge(on_meta(channels, size)); });
  };
  count_on_meta(task, "validation of whole cases", [&] {
    const int64_t of_window = peak_over(window), of_case = peak_over(case_size);
    demand.validation_window_bytes = of_window;
    demand.validation_case_bytes = std::max<int64_t>(of_case - of_window, 0);
    demand.validation_image_bytes = static_cast<int64_t>(on_meta(channels, case_size).nbytes());
  });
}

void count_sampling(Task& task, const std::function<void()>& sample, Demand& demand) {
  count_on_meta(task, "sampling for a picture", [&] { demand.validation_window_bytes = peak_of(sample); });
}

}  // namespace larmor

#include "larmor/data/index/mask_voxels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <exception>
#include <set>

#include "larmor/base/text.h"
#include "larmor/data/cache/source_files.h"
#include "larmor/formats/memory_budget.h"
#include "larmor/formats/volume.h"

namespace larmor {
namespace {

constexpr uint64_t shared_bytes = uint64_t{1} << 30;
constexpr std::size_t most_images = 500;

std::vector<std::string> some_images(const Index& index) {
  std::set<std::string> all;
  for (const Case& entry : index.cases) {
    for (const auto& [name, file] : entry.files)
      if (is_image(name)) all.insert(file);
  }
  std::vector<std::string> images(all.begin(), all.end());
  const std::size_t wanted = std::min(images.size(), most_images);
  for (std::size_t i = 0; i < wanted; ++i) images[i] = images[i * images.size() / wanted];
  images.resize(wanted);
  return images;
}

int classes_of_file(const std::filesystem::path& path, MemoryBudget& budget) {
  try {
    const BudgetScope scope(budget);
    const Volume volume = read_volume(path);
    const at::Tensor voxels = volume.voxels.contiguous();
    return count_classes({voxels.const_data_ptr<float>(), static_cast<std::size_t>(voxels.numel())})
        .value_or(0);
  } catch (const std::exception&) {
    return 0;  // it is a bad file, or larger than masks are
  }
}

}  // namespace

std::optional<int> count_classes(std::span<const float> voxels) {
  constexpr std::size_t most = 16;
  std::array<float, most> classes{};
  std::size_t count = 0;
  for (const float value : voxels) {
    if (count > 0 && value == classes[count - 1]) continue;
    if (std::find(classes.begin(), classes.begin() + static_cast<std::ptrdiff_t>(count), value) !=
        classes.begin() + static_cast<std::ptrdiff_t>(count))
      continue;
    if (count == most || value < 0 || value != std::floor(value)) return std::nullopt;
    classes[count++] = value;
  }
  return count > 1 ? std::optional(static_cast<int>(count)) : std::nullopt;
}

std::vector<LikelyMask> find_likely_masks(const Index& index) {
  if (index.is_invented()) return {};
  const auto images = some_images(index);
  std::vector<int> classes(images.size(), 0);
  MemoryBudget budget(shared_bytes);
  over_threads(images.size(),
               [&](std::size_t i) { classes[i] = classes_of_file(index.folder / images[i], budget); });
  std::vector<LikelyMask> masks;
  for (std::size_t i = 0; i < images.size(); ++i)
    if (classes[i] > 0) masks.push_back({images[i], classes[i]});
  return masks;
}

std::optional<std::string> likely_masks_warning(const std::vector<LikelyMask>& masks) {
  if (masks.empty()) return std::nullopt;
  return text(masks.size(), masks.size() == 1 ? " image holds" : " images hold",
              " few whole values, as masks do (", masks.front().path, ": ", masks.front().classes,
              " of them): data.exclude leaves them out, "
              "data.modalities makes them a case's label or mask");
}

}  // namespace larmor

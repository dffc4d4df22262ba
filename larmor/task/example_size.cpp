#include "larmor/task/example_size.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/data/synthetic/phantom.h"
#include "larmor/formats/volume_size.h"
#include "larmor/transforms/declared_chain.h"
#include "larmor/transforms/transforms.h"

namespace larmor {
namespace {

/// So many cases, those with most bytes, have their headers read: some milliseconds each.
constexpr std::size_t headers_read = 16;
constexpr int64_t usual_size = 64;  // voxels an axis

bool is_known(const GridSize& size) {
  return std::all_of(size.begin(), size.end(), [](int64_t voxels) { return voxels > 0; });
}

std::vector<int64_t> with_usual(const GridSize& size) {
  std::vector<int64_t> sizes;
  for (const int64_t voxels : size) sizes.push_back(voxels > 0 ? voxels : usual_size);
  return sizes;
}

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

/// What the chain leaves of a case. Nothing where its header cannot be read, or the chain cannot take it:
/// whoever reads the case will say what is wrong with it.
std::optional<GridSize> size_behind(const TransformChain& chain, const Index& index, const Case& one) {
  const auto image =
      std::find_if(one.files.begin(), one.files.end(), [](const auto& file) { return is_image(file.first); });
  if (image == one.files.end()) return std::nullopt;
  const auto found = size_of_volume(index.folder / image->second);
  if (!found) return std::nullopt;
  try {
    return chain.size_after({found->voxels, found->affine});
  } catch (const Error&) {
    return std::nullopt;
  }
}

double voxels_in(const GridSize& size) {
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

/// Of the cases with most bytes, that with most voxels behind the chain; nothing where no header can be read.
std::optional<GridSize> largest_example(const TransformChain& chain, const Index& index) {
  std::optional<GridSize> largest;
  for (const Case* const one : with_most_bytes(index, Split::train, headers_read)) {
    const auto size = size_behind(chain, index, *one);
    if (size && (!largest || voxels_in(*size) > voxels_in(*largest))) largest = size;
  }
  return largest;
}

}  // namespace

Extent extent_of_phantoms(const DataConfig& data) {
  if (data.kind != "phantom") return {};
  const auto& size = data.phantom_size;
  return {{size[0], size[1], size[2]}, phantom_affine(size)};
}

std::vector<int64_t> configured_size(const RunConfig& config, const Extent& made) {
  return with_usual(TransformChain(training_chain(config.data.transforms)).size_after(made));
}

std::vector<int64_t> size_of_example(const RunConfig& config, const Index& index, const Extent& made,
                                     int64_t divisor) {
  const TransformChain chain(training_chain(config.data.transforms));
  auto size = configured_size(config, made);
  if (index.is_invented() || index.of(Split::train).empty() || is_known(chain.size_after({}))) return size;
  const auto largest = largest_example(chain, index);
  const bool is_found = largest && is_known(*largest);
  if (is_found) {
    size.assign(largest->begin(), largest->end());
    for (int64_t& along : size) along = (along + divisor - 1) / divisor * divisor;
  }
  const std::size_t cases = index.of(Split::train).size();
  log::info(text("The plan counts an example as ", shown(size), ": no crop says how large it is, and ",
                 is_found  ? text("the largest of ", cases, cases == 1 ? " training case" : " training cases",
                                  " is that large by the headers of files")
                 : largest ? "CropForeground goes by voxels, which are not read before"
                           : "no header of a training case can be read"));
  return size;
}

std::vector<int64_t> largest_case(const RunConfig& config, const Index& index, const Extent& made) {
  const TransformChain chain(prediction_chain(config.data.transforms));
  if (!index.is_invented()) {
    for (const Case* const largest : with_most_bytes(index, Split::val, 1)) {
      const auto size = size_behind(chain, index, *largest);
      if (size) return with_usual(*size);
    }
  }
  return with_usual(chain.size_after(made));
}

}  // namespace larmor

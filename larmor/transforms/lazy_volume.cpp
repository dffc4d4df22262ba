#include "larmor/transforms/lazy_volume.h"

#include <utility>

#include <ATen/core/Tensor.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"

namespace larmor {

namespace {

GridSize size_of(const at::Tensor& voxels) { return {voxels.size(1), voxels.size(2), voxels.size(3)}; }

Affine shift_by(const GridSize& corner) {
  Affine shift = identity_affine();
  for (std::size_t axis = 0; axis < 3; ++axis) shift[axis][3] = static_cast<double>(corner[axis]);
  return shift;
}

}  // namespace

LazyVolume::LazyVolume(Volume source) : source_(std::move(source)) {
  const GridSize size = size_of(source_.voxels);
  part_ = {size, {}, size};
  channels_ = source_.voxels.size(0);
}

LazyVolume::LazyVolume(DeferredVoxels source)
    : source_{{}, source.affine}, deferred_(std::move(source)), channels_(deferred_.shape[0]) {
  const GridSize size{deferred_.shape[1], deferred_.shape[2], deferred_.shape[3]};
  part_ = {size, {}, size};
}

void LazyVolume::load() {
  if (source_.voxels.defined()) return;
  source_.voxels = deferred_.read({0, 0, 0}, {deferred_.shape[1], deferred_.shape[2], deferred_.shape[3]});
}

Volume LazyVolume::volume() const {
  const bool samples = pending_ || flipped_;
  const bool reads_crop = !source_.voxels.defined() && cropped_ && !samples;
  if (!source_.voxels.defined() && !reads_crop) {
    LazyVolume loaded = *this;
    loaded.load();
    return loaded.volume();
  }
  Volume result{source_.voxels, compose(source_.affine, to_source_)};
  if (reads_crop) {
    result.voxels =
        deferred_.read({part_.corner.begin(), part_.corner.end()}, {part_.size.begin(), part_.size.end()});
  } else if (samples) {
    // Flips alone fall on voxels.
    result.voxels =
        sample(source_.voxels, to_source_, part_, pending_.value_or(Sampling{Interpolation::nearest}));
  } else if (cropped_) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      result.voxels =
          result.voxels.narrow(static_cast<int64_t>(axis) + 1, part_.corner[axis], part_.size[axis]);
    }
  }
  if (!cropped_) return result;
  // In two steps, as if it had been settled at the fence: rounding is part of a result.
  GridSize behind_fence = part_.corner;
  for (std::size_t axis = 0; axis < 3; ++axis) behind_fence[axis] -= fence_corner_[axis];
  result.affine = compose(compose(result.affine, shift_by(fence_corner_)), shift_by(behind_fence));
  if (reads_crop) return result;
  // Its own memory, or a crop kept in a cache would keep the whole volume.
  result.voxels = samples ? result.voxels.contiguous() : result.voxels.clone(at::MemoryFormat::Contiguous);
  return result;
}

void LazyVolume::settle() {
  const bool at_fence = fenced_;
  if (pending_ || flipped_ || cropped_) *this = LazyVolume(volume());
  if (!at_fence) return;
  // As a cache gives voxels back: sums and interpolations round by the order that voxels lie in.
  load();
  source_.voxels = source_.voxels.contiguous();
  fenced_ = false;
}

void LazyVolume::fence() {
  fenced_ = true;
  fence_corner_ = part_.corner;
}

void LazyVolume::change(const std::function<at::Tensor(const at::Tensor&)>& function,
                        const Affine& to_present) {
  if (fenced_) settle();
  Volume present = volume();
  *this = LazyVolume({function(present.voxels), compose(present.affine, to_present)});
}

void LazyVolume::orient(const std::string& axcodes) {
  turn(turn_to(compose(source_.affine, to_source_), axcodes));
}

void LazyVolume::turn(const Turn& turn) {
  if (cropped_ || fenced_) settle();
  load();
  // New index to present index, and the same permutation of the source's axes, so that parallel grids stay
  // parallel.
  Affine to_present{}, permuted{};
  to_present[3][3] = permuted[3][3] = 1;
  GridSize size{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto old = static_cast<std::size_t>(turn.order[axis]);
    size[axis] = part_.size[old];
    permuted[old][axis] = 1;
    to_present[old][axis] = turn.flip[axis] ? -1 : 1;
    if (turn.flip[axis]) to_present[old][3] = static_cast<double>(size[axis] - 1);
  }
  Affine permuted_back{};
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t column = 0; column < 4; ++column) permuted_back[row][column] = permuted[column][row];
  }
  to_source_ = compose(permuted_back, compose(to_source_, to_present));
  source_ = {source_.voxels.permute({0, turn.order[0] + 1, turn.order[1] + 1, turn.order[2] + 1}),
             compose(source_.affine, permuted)};
  part_ = {size, {}, size};
  flipped_ = flipped_ || turn.flips();
}

void LazyVolume::resample(const std::array<double, 3>& spacing, Interpolation interpolation) {
  // MONAI's rule for the new grid looks at the one that is there.
  if (cropped_ || pending_ || fenced_) settle();
  const auto grid = spaced_grid(part_.whole, compose(source_.affine, to_source_), spacing);
  if (grid) map(grid->size, grid->to_source, {.interpolation = interpolation});
}

void LazyVolume::map(const GridSize& size, const Affine& to_present, const Sampling& sampling) {
  if (cropped_ || fenced_ || (pending_ && *pending_ != sampling)) settle();
  double bytes = static_cast<double>(channels()) * sizeof(float);
  for (const int64_t length : size) bytes *= static_cast<double>(length);
  if (bytes > 0x1p31) {
    fail(Exit::data, "the resampled volume would be larger than 2 GiB",
         "choose a larger pixdim, or look at the file's spacing");
  }
  to_source_ = compose(to_source_, to_present);
  part_ = {size, {}, size};
  pending_ = sampling;
}

void LazyVolume::crop(const std::vector<int64_t>& corner, const std::vector<int64_t>& size) {
  ensure(corner.size() == 3 && size.size() == 3);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    ensure(corner[axis] >= 0 && size[axis] > 0 && corner[axis] + size[axis] <= part_.size[axis]);
    part_.corner[axis] += corner[axis];
    part_.size[axis] = size[axis];
  }
  cropped_ = true;
}

}  // namespace larmor

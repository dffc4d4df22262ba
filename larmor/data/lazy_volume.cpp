#include "larmor/data/lazy_volume.h"

#include <cassert>
#include <utility>

#include <ATen/core/Tensor.h>

#include "larmor/base/error.h"
#include "larmor/data/grids.h"

namespace larmor {

namespace {

GridSize size_of(const at::Tensor& voxels) { return {voxels.size(1), voxels.size(2), voxels.size(3)}; }

}  // namespace

LazyVolume::LazyVolume(Volume source) : source_(std::move(source)) {
  const GridSize size = size_of(source_.voxels);
  part_ = {size, {}, size};
}

Volume LazyVolume::volume() const {
  Volume result{source_.voxels, compose(source_.affine, to_source_)};
  if (pending_ != Pending::nothing) {
    result.voxels = sample(source_.voxels, to_source_, part_, pending_ != Pending::trilinear);
  } else if (cropped_) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      result.voxels =
          result.voxels.narrow(static_cast<int64_t>(axis) + 1, part_.corner[axis], part_.size[axis]);
    }
  }
  if (!cropped_) return result;
  Affine shift = identity_affine();
  for (std::size_t axis = 0; axis < 3; ++axis) shift[axis][3] = static_cast<double>(part_.corner[axis]);
  result.affine = compose(result.affine, shift);
  // Its own memory, or a crop kept in a cache would keep the whole volume.
  const bool own = pending_ != Pending::nothing;
  result.voxels = own ? result.voxels.contiguous() : result.voxels.clone(at::MemoryFormat::Contiguous);
  return result;
}

void LazyVolume::settle() { *this = LazyVolume(volume()); }

void LazyVolume::orient(const std::string& axcodes) {
  if (pending_ != Pending::nothing || cropped_) settle();
  const Turn turn = turn_to(source_.affine, axcodes);
  Affine permuted{};
  permuted[3][3] = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) permuted[static_cast<std::size_t>(turn.order[axis])][axis] = 1;
  source_ = {source_.voxels.permute({0, turn.order[0] + 1, turn.order[1] + 1, turn.order[2] + 1}),
             compose(source_.affine, permuted)};
  const GridSize size = size_of(source_.voxels);
  part_ = {size, {}, size};
  if (!turn.flips()) return;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!turn.flip[axis]) continue;
    to_source_[axis][axis] = -1;
    to_source_[axis][3] = static_cast<double>(size[axis] - 1);
  }
  pending_ = Pending::flip;
}

void LazyVolume::resample(const std::array<double, 3>& spacing, bool nearest) {
  // Interpolating what was interpolated is not one interpolation.
  if (cropped_ || pending_ == Pending::nearest || pending_ == Pending::trilinear) settle();
  const auto grid = spaced_grid(part_.whole, compose(source_.affine, to_source_), spacing);
  if (!grid) return;
  double bytes = static_cast<double>(source_.voxels.size(0)) * sizeof(float);
  for (const int64_t size : grid->size) bytes *= static_cast<double>(size);
  if (bytes > 0x1p31) {
    fail(Exit::data, "the resampled volume would be larger than 2 GiB",
         "choose a larger pixdim, or look at the file's spacing");
  }
  to_source_ = compose(to_source_, grid->to_source);
  part_ = {grid->size, {}, grid->size};
  pending_ = nearest ? Pending::nearest : Pending::trilinear;
}

void LazyVolume::crop(const std::vector<int64_t>& corner, const std::vector<int64_t>& size) {
  assert(corner.size() == 3 && size.size() == 3);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    assert(corner[axis] >= 0 && size[axis] > 0 && corner[axis] + size[axis] <= part_.size[axis]);
    part_.corner[axis] += corner[axis];
    part_.size[axis] = size[axis];
  }
  cropped_ = true;
}

}  // namespace larmor

#include "larmor/formats/stored_array.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "larmor/base/error.h"
#include "larmor/base/load_clock.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

bool is_machine_float(const StoredArray& array) {
  const auto address = std::bit_cast<std::uintptr_t>(array.file.data() + array.offset);
  return array.format.type == VoxelType::float32 && !array.format.is_scaled() &&
         array.format.big_endian == (std::endian::native == std::endian::big) &&
         address % alignof(float) == 0;
}

/// What has become a number is not needed any more, so that stored and decoded voxels never lie whole beside
/// each other.
void decode_and_release(StoredArray& array, std::span<float> out) {
  constexpr std::size_t piece = std::size_t{1} << 20;
  const std::size_t width = bytes_of(array.format.type);
  for (std::size_t begin = 0; begin < out.size(); begin += piece) {
    const std::size_t size = std::min(piece, out.size() - begin);
    decode_voxels(array.voxels().subspan(begin * width, size * width), array.format,
                  out.subspan(begin, size));
    array.file.release_before(array.offset + (begin + size) * width);
  }
}

at::Tensor take_over(StoredArray& array, at::IntArrayRef sizes) {
  auto owner = std::make_shared<Bytes>(std::move(array.file));
  std::byte* const voxels = owner->data() + array.offset;
  return at::from_blob(
      voxels, sizes, [owner](void*) mutable { owner.reset(); }, at::TensorOptions(at::kFloat));
}

}  // namespace

int64_t StoredArray::count() const {
  int64_t product = 1;
  for (const int64_t size : shape) product *= size;
  return product;
}

std::size_t checked_bytes(std::span<const int64_t> shape, std::size_t bytes_per_voxel) {
  // float32 is what the voxels become, so a byte a voxel counts as four.
  uint64_t total = std::max<uint64_t>(bytes_per_voxel, sizeof(float));
  uint64_t voxels = 1;
  std::string sizes;
  for (const int64_t size : shape) sizes += text(sizes.empty() ? "" : "x", size);
  for (const int64_t size : shape) {
    if (size <= 0) fail(Exit::data, text("a shape of ", sizes, " is not possible"));
    const auto factor = static_cast<uint64_t>(size);
    if (__builtin_mul_overflow(total, factor, &total) || total > largest_voxels) {
      fail(Exit::data,
           text("claims ", sizes, " voxels, more than the ", human_bytes(largest_voxels), " that are read"));
    }
    voxels *= factor;
  }
  return voxels * bytes_per_voxel;
}

std::string attach_bytes(StoredArray& array, Bytes file, uint64_t offset, std::size_t bytes,
                         std::vector<std::string>& problems) {
  if (offset > file.size() || bytes > file.size() - offset)
    return text("is cut short: its header claims ", bytes, " bytes of voxels from byte ", offset,
                " on, but there are only ", file.size(), " bytes in all");
  const uint64_t left = file.size() - offset - bytes;
  // Bytes of the voxels that a size one smaller along some axis would leave over.
  const uint64_t thinnest_slab = bytes / static_cast<uint64_t>(*std::ranges::max_element(array.shape));
  const auto is_something = [](std::byte value) { return value != std::byte{0}; };
  if (left >= thinnest_slab && std::ranges::any_of(file.view().last(left), is_something))
    return text("contradicts itself: its header claims ", bytes, " bytes of voxels by its sizes, and ", left,
                " more lie behind them");
  if (left > 0) problems.push_back(text(left, " bytes behind the voxels are ignored"));
  array.offset = offset;
  array.bytes = bytes;
  array.file = std::move(file);
  return "";
}

at::Tensor to_tensor(StoredArray array) {
  const LoadScope stage(LoadStage::decode);
  std::vector<int64_t> sizes = array.shape;
  if (array.first_axis_fastest) std::reverse(sizes.begin(), sizes.end());
  at::Tensor voxels;
  if (is_machine_float(array)) {
    voxels = take_over(array, sizes);
  } else {
    voxels = at::empty(sizes, at::TensorOptions(at::kFloat));
    decode_and_release(
        array, std::span<float>(voxels.mutable_data_ptr<float>(), static_cast<std::size_t>(voxels.numel())));
  }
  if (!array.first_axis_fastest) return voxels;
  std::vector<int64_t> axes(sizes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(axes.size() - 1 - i);
  return voxels.permute(axes);
}

}  // namespace larmor

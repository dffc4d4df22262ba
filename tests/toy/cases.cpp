#include "tests/toy/cases.h"

#include <ATen/ATen.h>

#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/text.h"
#include "larmor/formats/volume.h"
#include "larmor/kernels/draw/draw.h"

namespace larmor::toy {

namespace {

constexpr int64_t contract_cases = 24;

Affine scaled(double millimetres) {
  Affine affine = identity_affine();
  for (size_t axis = 0; axis < 3; ++axis) affine[axis][axis] = millimetres;
  return affine;
}

}  // namespace

void write_cases(const std::filesystem::path& folder, int64_t count) {
  DiskStorage storage;
  storage.create_folders(folder);
  for (int64_t number = 0; number < count; ++number) {
    const auto name = text("case_", number);
    const auto write = [&](const char* modality, const at::Tensor& voxels, double millimetres) {
      write_nifti(storage, folder / text(name, "_", modality, ".nii.gz"),
                  {.voxels = voxels.contiguous(), .affine = scaled(millimetres)});
    };
    const auto coarse = draw_normal(/*seed=*/7, name, {1, 1, 4, 4, 4}).sigmoid();
    const auto image = at::upsample_nearest3d(coarse, {8, 8, 8})[0];
    write("t1", image, 1);
    if (number % 3 != 2) write("t2", 1 - image, 1);
    write("guide", coarse[0], 2);
  }
}

std::vector<std::string> contract_overrides(const std::string& stage) {
  if (stage != "refiner") return {};
  static const ScratchFolder folder;
  static const bool written = (write_cases(folder.path(), contract_cases), true);
  return written ? std::vector<std::string>{"data.folder=" + folder.path().string()}
                 : std::vector<std::string>{};
}

}  // namespace larmor::toy

// libFuzzer target: the slices of a DICOM series, four at most, with `slice_mark` between them, are refused
// with an Error or read as one volume (tests/fuzz/oracles.h). Less of them is another volume.
#include <vector>

#include "larmor/formats/dicom/dicom_series.h"
#include "larmor/formats/volume.h"

#include "tests/fuzz/oracles.h"
#include "tests/support/seeds.h"

namespace {

std::vector<std::string_view> slices_of(std::string_view bytes) {
  constexpr std::size_t most = 4;
  std::vector<std::string_view> slices;
  for (std::size_t end;
       slices.size() + 1 < most && (end = bytes.find(larmor::testing::slice_mark)) != bytes.npos;) {
    slices.push_back(bytes.substr(0, end));
    bytes.remove_prefix(end + larmor::testing::slice_mark.size());
  }
  slices.push_back(bytes);
  return slices;
}

larmor::fuzz::Product read(std::string_view bytes) {
  const auto folder = larmor::fuzz::scratch_folder() / "series";
  std::filesystem::remove_all(folder);
  std::vector<std::string> names;
  for (const auto slice : slices_of(bytes)) {
    names.push_back(std::to_string(names.size()) + ".dcm");
    larmor::fuzz::file_of(slice, "series/" + names.back());
  }
  larmor::fuzz::Product product;
  for (const auto& series : larmor::find_dicom_series(folder, names))
    product.add(larmor::read_volume(larmor::path_of(folder, series, /*alone=*/false)).voxels);
  return product;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read, {.whole = false});
}

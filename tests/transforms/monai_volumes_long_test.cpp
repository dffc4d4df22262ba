// Chains of transforms on every real head and body against MONAI itself, where LARMOR_ORACLES names a Python
// that has it.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"
#include "larmor/device/tensors/tensor_file.h"
#include "larmor/formats/volume.h"

#include "tests/support/image_files.h"
#include "tests/transforms/support/monai_chains.h"

namespace larmor {
namespace {

constexpr const char* chains = "monai_volume_chains.json";

/// Every volume below the folders of heads and bodies, masks left out: they have no intensities.
std::vector<std::filesystem::path> volumes() {
  std::vector<std::filesystem::path> files;
  for (const char* const part : {"brain", "ct"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::shared_data() / part)) {
      const auto name = entry.path().filename().string();
      const bool is_mask = name.find("seg") != std::string::npos || name.find("mask") != std::string::npos ||
                           name.find("lesion") != std::string::npos;
      if (name.ends_with(".nii.gz") && !is_mask) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

Ending run_python(std::vector<std::string> arguments) {
  ProcessOptions options;
  options.program = std::filesystem::path(std::getenv("LARMOR_ORACLES")) / "bin" / "python";
  options.arguments = std::move(arguments);
  return Process::start(options).wait();
}

bool has_monai() {
  return std::getenv("LARMOR_ORACLES") != nullptr && run_python({"-c", "import monai"}).ok();
}

Ending run_monai(const std::vector<std::filesystem::path>& files, const std::filesystem::path& out) {
  const std::filesystem::path source = std::getenv("LARMOR_SOURCE");
  std::vector<std::string> arguments{(source / "tests" / "peers" / "monai_chains.py").string(),
                                     testing::chains_file(chains).string(), out.string()};
  for (const auto& file : files) arguments.push_back(file.string());
  return run_python(arguments);
}

TEST(MonaiVolumes, GiveTheSameChainByChain) {
  if (testing::shared_data().empty()) GTEST_SKIP() << "the folder of real images is not on this machine";
  if (!has_monai()) GTEST_SKIP() << "LARMOR_ORACLES names no Python with MONAI";
  const auto files = volumes();
  ASSERT_GE(files.size(), 20U);
  const ScratchFolder scratch;
  ASSERT_TRUE(run_monai(files, scratch.path()).ok());
  for (size_t i = 0; i < files.size(); ++i) {
    SCOPED_TRACE(files[i].filename());
    const auto monai = read_tensors(scratch.path() / text(i, ".safetensors"));
    testing::expect_chains_like_monai(testing::chains_of(chains), read_volume(files[i]), monai);
  }
}

}  // namespace
}  // namespace larmor

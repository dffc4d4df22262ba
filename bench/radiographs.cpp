// Radiographs as xray_vqa reads them, on one thread: from PNG or JPEG to three normalised channels of 224 by
// 224, in a batch of their own. As JSON, in milliseconds for all of them, the median of some passes:
// radiographs FOLDER [BLOCKS].
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include "larmor/base/json.h"

#include "workloads/xray_vqa/data/question_data.h"

int main(int count, char** words) {
  if (count < 2) {
    std::cerr << "radiographs FOLDER [BLOCKS]\n";
    return 2;
  }
  at::set_num_threads(1);
  std::vector<std::filesystem::path> files;
  for (const auto& item : std::filesystem::recursive_directory_iterator(words[1])) {
    const auto suffix = item.path().extension();
    if (suffix == ".png" || suffix == ".jpg" || suffix == ".jpeg") files.push_back(item.path());
  }
  std::sort(files.begin(), files.end());
  const larmor::xray_vqa::SampleSizes sizes{.image = 224};
  const int blocks = count > 2 ? std::stoi(words[2]) : 5;
  const auto images = static_cast<int64_t>(files.size());
  at::Tensor batch = at::empty({images, 3, sizes.image, sizes.image});
  std::vector<double> times;
  for (int block = 0; block <= blocks; ++block) {  // the first one fetches the files
    const auto began = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < images; ++i)
      batch[i].copy_(larmor::xray_vqa::read_image(files[static_cast<std::size_t>(i)], sizes));
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count());
  }
  times.erase(times.begin());
  std::sort(times.begin(), times.end());
  std::cout << larmor::Json({{"images", images},
                             {"image_sum", batch.sum(at::kDouble).item<double>()},
                             {"median_ms", times[times.size() / 2]},
                             {"min_ms", times.front()}})
                   .dump()
            << "\n";
  return 0;
}

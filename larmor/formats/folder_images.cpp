#include "larmor/formats/folder_images.h"

#include <cstdint>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/file_kinds.h"

namespace larmor {

namespace {

namespace fs = std::filesystem;

class Search {
 public:
  explicit Search(ImageChoice choice) : choice_(std::move(choice)) {
    if (!choice_.takes) return;
    choice_.takes = [this, takes = choice_.takes](const fs::path& image, const DicomSeries* object) {
      const bool is_taken = takes(image, object);
      has_left_out_ = has_left_out_ || !is_taken;
      return is_taken;
    };
  }

  void enter(const fs::path& folder) {
    std::error_code error;
    if (!seen_.insert(fs::canonical(folder, error).string()).second) return;
    const auto images = images_in(folder, choice_);
    images_.insert(images_.end(), images.begin(), images.end());
    if (!images.empty()) return;
    std::set<fs::path> folders;
    for (fs::directory_iterator entries(folder, error); !error && entries != fs::directory_iterator();
         entries.increment(error)) {
      const auto& path = entries->path();
      std::error_code unknown;
      if (path.filename().string().starts_with('.')) continue;
      if (fs::is_directory(path, unknown))
        folders.insert(path);
      else
        ++others_[path.extension().empty() ? "without a suffix" : path.extension().string()];
    }
    folders_ += static_cast<int64_t>(folders.size());
    for (const auto& below : folders) enter(below);
  }

  std::vector<fs::path> take() { return std::move(images_); }
  bool has_left_out() const { return has_left_out_; }

  /// "12 files (.csv 2, .txt 10) and 3 folders".
  std::string instead() const {
    int64_t files = 0;
    std::vector<std::string> counts;
    for (const auto& [suffix, count] : others_) {
      files += count;
      counts.push_back(text(suffix, " ", count));
    }
    const auto folders =
        folders_ == 0 ? std::string() : text(folders_, folders_ == 1 ? " folder" : " folders");
    if (files == 0) return folders.empty() ? "nothing lies there" : text("there lie no files, but ", folders);
    return text("there lie ", files, files == 1 ? " file (" : " files (", join(counts, ", "), ")",
                folders.empty() ? "" : " and ", folders);
  }

 private:
  ImageChoice choice_;
  bool has_left_out_ = false;
  std::vector<fs::path> images_;
  std::set<std::string> seen_;
  std::map<std::string, int64_t> others_;
  int64_t folders_ = 0;
};

}  // namespace

std::vector<fs::path> images_below(const fs::path& folder, ImageChoice choice) {
  Search search(std::move(choice));
  search.enter(folder);
  auto images = search.take();
  if (images.empty() && !search.has_left_out()) {
    fail(Exit::data, text("no image was found in ", folder.string(), " or below: ", search.instead()),
         text("name a folder of files as ", known_suffixes(), ", or with the slices of a DICOM series"));
  }
  return images;
}

}  // namespace larmor

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/image.h"
#include "larmor/base/text.h"
#include "larmor/track/sink_guard.h"
#include "larmor/track/tracker.h"

namespace larmor {
namespace {

/// "val/case 3" -> "val-case-3": one file name, whatever a task calls its picture.
std::string as_file_name(std::string_view name) {
  std::string out(name);
  std::replace_if(
      out.begin(), out.end(),
      [](char letter) {
        const bool plain = std::isalnum(static_cast<unsigned char>(letter)) || letter == '_' || letter == '.';
        return !plain;
      },
      '-');
  return out;
}

std::string eight_digits(int64_t step) {
  const std::string digits = text(step);
  return std::string(digits.size() < 8 ? 8 - digits.size() : 0, '0') + digits;
}

class PictureFolder final : public Tracker {
 public:
  PictureFolder(Storage& storage, std::filesystem::path folder)
      : storage_(storage), folder_(std::move(folder)), guard_("pictures") {
    storage_.create_folders(folder_);
  }

  void event(const Moment&, std::string_view, const Values&, std::string_view) override {}

  void picture(const Moment& moment, std::string_view name, const Picture& picture) override {
    const std::string file = text(as_file_name(name), "-", eight_digits(moment.step), ".png");
    guard_.attempt([&] { write_text(storage_, folder_ / file, picture.png()); });
  }

  void flush() override {}

  std::string take_complaint() override { return guard_.take_complaint(); }

 private:
  Storage& storage_;
  std::filesystem::path folder_;
  SinkGuard guard_;
};

}  // namespace

std::unique_ptr<Tracker> make_picture_folder(Storage& storage, const std::filesystem::path& folder) {
  return std::make_unique<PictureFolder>(storage, folder);
}

}  // namespace larmor

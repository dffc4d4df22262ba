#include "larmor/launch/launcher_log.h"

#include "larmor/base/error.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"

namespace larmor {

LauncherLog::LauncherLog(const std::filesystem::path& file) : file_(storage_.append(file)) {}

void LauncherLog::line(std::string_view words) {
  if (!file_) return;
  try {
    file_->write(text(utc_text(clock_.wall_seconds()), " ", bounded(words), "\n"));
  } catch (const Error&) {
    file_.reset();
  }
}

}  // namespace larmor

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/log.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"
#include "larmor/track/sink_guard.h"
#include "larmor/track/tfevents.h"
#include "larmor/track/tracker.h"

namespace larmor {
namespace {

constexpr double seconds_between_writes = 2;
constexpr size_t most_waiting_bytes = size_t{1} << 20;

class TensorBoard final : public Tracker {
 public:
  TensorBoard(Storage& storage, const Clock& clock, const std::filesystem::path& folder)
      : clock_(clock), guard_("TensorBoard") {
    storage.create_folders(folder);
    const auto seconds = static_cast<int64_t>(clock.wall_seconds());
    // Readers take the files in the order of their names, so the time has the same width for centuries.
    const std::string digits = text(seconds);
    const std::string padded = std::string(digits.size() < 10 ? 10 - digits.size() : 0, '0') + digits;
    file_ = storage.append(folder / text("events.out.tfevents.", padded, ".", host_name(), ".", getpid()));
    file_->write(tfevents_version(clock.wall_seconds()));
    last_write_ = clock.steady_seconds();
  }
  ~TensorBoard() override {
    try {
      write_waiting();
    } catch (const Error& error) {  // this rank is fenced off: its next write throws rank_lost
      log::error(error.message());
    }
  }
  TensorBoard(const TensorBoard&) = delete;
  TensorBoard& operator=(const TensorBoard&) = delete;

  void event(const Moment& moment, std::string_view kind, const Values& values, std::string_view) override {
    if (kind == "step" && !std::exchange(has_steps_, true)) {
      add(tfevents_restart(clock_.wall_seconds(), moment.step));
    }
    if (!values.empty()) add(tfevents_scalars(clock_.wall_seconds(), moment.step, values));
    if (kind != "step" || clock_.steady_seconds() - last_write_ >= seconds_between_writes) write_waiting();
  }

  void picture(const Moment& moment, std::string_view name, const Picture& picture) override {
    if (file_)
      guard_.attempt([&] { add(tfevents_image(clock_.wall_seconds(), moment.step, name, picture)); });
  }

  void flush() override {
    write_waiting();
    if (file_ && !guard_.attempt([&] { file_->sync(); })) file_.reset();
  }

  std::string take_complaint() override { return guard_.take_complaint(); }

 private:
  void add(const std::string& record) {
    if (!file_) return;
    waiting_ += record;
    if (waiting_.size() > most_waiting_bytes) write_waiting();
  }

  void write_waiting() {
    if (!file_ || waiting_.empty()) return;
    // Behind a torn record a reader finds nothing more, so a failed write is the last.
    if (!guard_.attempt([&] { file_->write(waiting_); })) file_.reset();
    waiting_.clear();
    last_write_ = clock_.steady_seconds();
  }

  const Clock& clock_;
  SinkGuard guard_;
  std::unique_ptr<StorageFile> file_;
  std::string waiting_;
  double last_write_ = 0;
  bool has_steps_ = false;
};

}  // namespace

std::unique_ptr<Tracker> make_tensorboard(Storage& storage, const Clock& clock,
                                          const std::filesystem::path& folder) {
  return std::make_unique<TensorBoard>(storage, clock, folder);
}

}  // namespace larmor

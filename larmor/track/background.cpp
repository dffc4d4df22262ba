#include "larmor/track/background.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/track/sink_guard.h"

namespace larmor {
namespace {

/// The time of the record that is being written.
class RecordClock final : public Clock {
 public:
  explicit RecordClock(const Clock& real) : real_(real) {}
  double wall_seconds() const override { return wall_ > 0 ? wall_ : real_.wall_seconds(); }
  double steady_seconds() const override { return real_.steady_seconds(); }
  void sleep(double /*seconds*/) override {}  // sinks wait for nothing
  void set(double wall) { wall_ = wall; }

 private:
  const Clock& real_;
  double wall_ = 0;
};

struct Record {
  std::function<void(Tracker&)> write;
  double wall_seconds = 0;
  size_t bytes = 0;
  bool may_go = false;  // there will be more like it
};

class Background final : public Tracker {
 public:
  Background(std::string what, const Clock& clock, const OpensSink& open, const BackgroundLimits& limits)
      : what_(std::move(what)),
        limits_(limits),
        clock_(clock),
        record_clock_(clock),
        guard_(what_),
        sink_(open(record_clock_)),
        thread_([this] { write_records(); }) {}

  ~Background() override {
    {
      std::unique_lock lock(mutex_);
      ends_ = true;
      wake_.notify_all();
      wait_until_written(lock);
      // What is left then would keep the run waiting once more.
      dropped_ += static_cast<int64_t>(queue_.size());
      queue_.clear();
      if (dropped_ > 0) log::warning(text(what_, " lacks ", dropped_, " records: writing it took too long"));
    }
    thread_.join();
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void start(const Moment& moment, const RunFacts& run) override {
    push({.write = [moment, run](Tracker& sink) { sink.start(moment, run); }});
  }

  void event(const Moment& moment, std::string_view kind, const Values& values,
             std::string_view words) override {
    push({.write = [moment, kind = std::string(kind), values,
                    words = std::string(words)](Tracker& sink) { sink.event(moment, kind, values, words); },
          .bytes = words.size() + values.size() * sizeof(Values::value_type),
          .may_go = kind == "step"});
    if (kind == "checkpoint") push({.write = [](Tracker& sink) { sink.flush(); }});
  }

  void picture(const Moment& moment, std::string_view name, const Picture& picture) override {
    push({.write = [moment, name = std::string(name),
                    picture](Tracker& sink) { sink.picture(moment, name, picture); },
          .bytes = picture.image().pixels.size(),
          .may_go = true});
  }

  void flush() override {
    std::unique_lock lock(mutex_);
    add({.write = [this](Tracker& sink) {
      if (const int64_t missing = take_dropped(); missing > 0)
        sink.event({}, "warning", {}, text(missing, " records are missing: writing them took too long"));
      sink.flush();
    }});
    if (!wait_until_written(lock)) {
      log::warning(text(what_, " has not been written for ", limits_.seconds,
                        " s: the run goes on without what is still to be written"));
    }
    throw_if_lost();
  }

  std::string take_complaint() override {
    const std::scoped_lock lock(mutex_);
    return std::exchange(complaint_, {});
  }

 private:
  void push(Record record) {
    const std::scoped_lock lock(mutex_);
    throw_if_lost();
    add(std::move(record));
  }

  int64_t take_dropped() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(dropped_, 0);
  }

  // Requires: the lock, in this and what follows up to write_records().
  void add(Record record) {
    record.wall_seconds = clock_.wall_seconds();
    while (!queue_.empty() && (queue_.size() >= limits_.records || bytes_ + record.bytes > limits_.bytes)) {
      if (!make_room(record.may_go)) return;
    }
    bytes_ += record.bytes;
    queue_.push_back(std::move(record));
    wake_.notify_all();
  }

  // Whether a record that itself may go, or not, has room now.
  bool make_room(bool may_go) {
    if (dropped_++ == 0 && !std::exchange(has_said_dropping_, true)) {
      complaint_ = text(what_, " is written more slowly than the run records: old steps are left out");
      log::warning(complaint_);
    }
    auto oldest = std::find_if(queue_.begin(), queue_.end(), [](const Record& one) { return one.may_go; });
    if (oldest == queue_.end()) {
      if (may_go) return false;
      oldest = queue_.begin();
    }
    bytes_ -= oldest->bytes;
    queue_.erase(oldest);
    return true;
  }

  // Whether all has been written; not longer than once for the limit.
  bool wait_until_written(std::unique_lock<std::mutex>& lock) {
    const auto is_written = [this] { return queue_.empty() && !is_writing_; };
    const auto patience = std::chrono::duration<double>(has_given_up_ ? 0 : limits_.seconds);
    const bool written = idle_.wait_for(lock, patience, is_written);
    has_given_up_ = !written;
    return written;
  }

  void throw_if_lost() {
    if (lost_) std::rethrow_exception(lost_);
  }

  void write_records() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return ends_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const Record record = std::move(queue_.front());
      queue_.pop_front();
      bytes_ -= record.bytes;
      is_writing_ = true;
      lock.unlock();
      write(record);
      lock.lock();
      is_writing_ = false;
      if (queue_.empty()) idle_.notify_all();
    }
  }

  // On the sink's thread, without the lock.
  void write(const Record& record) {
    record_clock_.set(record.wall_seconds);
    std::exception_ptr lost;
    try {
      guard_.attempt([&] { record.write(*sink_); });
    } catch (...) {
      lost = std::current_exception();
    }
    std::string complaint = sink_->take_complaint() + guard_.take_complaint();
    const std::scoped_lock lock(mutex_);
    if (lost) lost_ = lost;
    if (!complaint.empty()) complaint_ = std::move(complaint);
  }

  const std::string what_;
  const BackgroundLimits limits_;
  const Clock& clock_;
  RecordClock record_clock_;       // of the thread, once there is one
  SinkGuard guard_;                // likewise
  std::unique_ptr<Tracker> sink_;  // likewise
  std::mutex mutex_;               // of all that follows
  std::condition_variable wake_, idle_;
  std::deque<Record> queue_;
  size_t bytes_ = 0;  // of the queue
  bool is_writing_ = false, ends_ = false, has_given_up_ = false, has_said_dropping_ = false;
  int64_t dropped_ = 0;  // since flush() told of them
  std::string complaint_;
  std::exception_ptr lost_;
  std::thread thread_;  // the last, since it uses the others
};

}  // namespace

std::unique_ptr<Tracker> make_background(std::string what, const Clock& clock, const OpensSink& open,
                                         const BackgroundLimits& limits) {
  return std::make_unique<Background>(std::move(what), clock, open, limits);
}

}  // namespace larmor

// Keeps the troubles of a sink away from the training loop.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "larmor/base/log.h"
#include "larmor/base/text.h"

namespace larmor {

class SinkGuard {
 public:
  /// `what` is lost when the sink fails: "events.jsonl".
  explicit SinkGuard(std::string what) : what_(std::move(what)) {}

  /// Whether `work` succeeded. The first failure is said in the log, later ones are not.
  template <class Work>
  bool attempt(Work&& work) {
    try {
      work();
      return true;
    } catch (const std::exception& error) {
      if (!std::exchange(has_warned_, true)) {
        complaint_ = text("training goes on without ", what_, ": ", error.what());
        log::warning(complaint_);
      }
      return false;
    }
  }

  std::string take_complaint() { return std::exchange(complaint_, {}); }

 private:
  std::string what_;
  std::string complaint_;
  bool has_warned_ = false;
};

}  // namespace larmor

// Keeps the troubles of a sink away from the training loop, all but one: a rank that the run went on without
// has to hear of it.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"

namespace larmor {

class SinkGuard {
 public:
  /// `what` is lost when the sink fails: "events.jsonl".
  explicit SinkGuard(std::string what) : what_(std::move(what)) {}

  /// Whether `work` succeeded. The first failure is said in the log, later ones are not. Passes on what a
  /// fence throws: Error (rank_lost).
  template <class Work>
  bool attempt(Work&& work) {
    try {
      work();
      return true;
    } catch (const Error& error) {
      if (error.exit() == Exit::rank_lost) throw;
      complain(error);
    } catch (const std::exception& error) {
      complain(error);
    }
    return false;
  }

  std::string take_complaint() { return std::exchange(complaint_, {}); }

 private:
  void complain(const std::exception& error) {
    if (std::exchange(has_warned_, true)) return;
    complaint_ = text("training goes on without ", what_, ": ", error.what());
    log::warning(complaint_);
  }

  std::string what_;
  std::string complaint_;
  bool has_warned_ = false;
};

}  // namespace larmor

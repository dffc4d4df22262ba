#include "app/report.h"

#include <iostream>
#include <string>
#include <string_view>

#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/out_of_memory.h"
#include "larmor/launch/rank.h"

namespace larmor::app {

namespace {

// A rank's stderr is its log, which takes no more when the disk is full: then rank 0 says it to the person.
void say_past_the_log(const std::string& words) {
  try {
    const auto rank = find_rank(process_environment());
    if (rank && rank->console_error >= 0)
      static_cast<void>(!write(rank->console_error, words.data(), words.size()));
  } catch (const Error&) {  // is reported already
  }
}

int report_error(const Error& error) {
  auto words = "larmor: " + error.message() + "\n";
  if (!error.hint().empty()) words += "  hint: " + error.hint() + "\n";
  if (!(std::cerr << words << std::flush)) say_past_the_log(words);
  return static_cast<int>(error.exit());
}

}  // namespace

int report(const std::exception_ptr& failure) {
  const bool no_memory = is_out_of_memory(failure);
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return report_error(error);
  } catch (const std::exception& error) {
    // libtorch adds its stack.
    const std::string_view words(error.what());
    if (no_memory) {
      return report_error({Exit::memory, text("memory ran out: ", words.substr(0, words.find('\n'))),
                           "use a smaller train.micro_batch, smaller examples or a smaller model"});
    }
    return report_error(
        {Exit::unexpected, error.what(), "this is a fault of larmor: please report it with the command"});
  }
}

}  // namespace larmor::app

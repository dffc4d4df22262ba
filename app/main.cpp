// The program: one verb a call, errors in one place, exit statuses of docs/cli.md.
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/launch/rank.h"

#include "app/program.h"

namespace {

// A rank's stderr is its log, which takes no more when the disk is full: then rank 0 says it to the person.
void say_past_the_log(const std::string& words) {
  try {
    const auto rank = larmor::find_rank(larmor::process_environment());
    if (rank && rank->console_error >= 0)
      static_cast<void>(!write(rank->console_error, words.data(), words.size()));
  } catch (const larmor::Error&) {  // is reported already
  }
}

int report(const larmor::Error& error) {
  auto words = "larmor: " + error.message() + "\n";
  if (!error.hint().empty()) words += "  hint: " + error.hint() + "\n";
  if (!(std::cerr << words << std::flush)) say_past_the_log(words);
  return static_cast<int>(error.exit());
}

}  // namespace

int main(int argc, char** argv) {
  using namespace larmor::app;
  try {
    Program program;
    for (const auto add : {add_list, add_inspect, add_doctor, add_plan, add_prepare, add_train, add_evaluate,
                           add_predict, add_export, add_checkpoint, add_config, add_bench, add_job, add_launch}) {
      add(program);
    }
    return program.run({argv + 1, argv + argc});
  } catch (const larmor::Error& error) {
    return report(error);
  } catch (const std::bad_alloc&) {
    return report(
        {larmor::Exit::memory, "out of memory", "use a smaller train.micro_batch or a smaller crop"});
  } catch (const std::exception& error) {
    return report({larmor::Exit::unexpected, error.what(),
                   "this is a fault of larmor: please report it with the command"});
  }
}

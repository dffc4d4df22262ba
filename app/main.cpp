// The program: one verb a call, errors in one place, exit statuses of docs/cli.md.
#include <exception>

#include "larmor/base/process/program_start.h"
#include "larmor/base/version.h"
#include "larmor/device/cpu_ability.h"

#include "app/build_words.h"
#include "app/program.h"
#include "app/report.h"

int main(int argc, char** argv) {
  using namespace larmor::app;
  larmor::begin_program();
  larmor::set_commit(commit());
  try {
    larmor::require_able_cpu();
    Program program;
    for (const auto add :
         {add_list,     add_init,    add_inspect, add_doctor,     add_plan,   add_prepare,   add_train,
          add_evaluate, add_predict, add_export,  add_checkpoint, add_runs,   add_report,    add_compare,
          add_sync,     add_config,  add_bench,   add_job,        add_launch, add_completion}) {
      add(program);
    }
    return program.run({argv + 1, argv + argc});
  } catch (...) {
    return report(std::current_exception());
  }
}

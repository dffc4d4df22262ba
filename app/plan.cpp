#include <filesystem>
#include <system_error>

#include "larmor/base/error.h"
#include "larmor/base/regular_file.h"
#include "larmor/base/text.h"
#include "larmor/train/begun_run.h"
#include "larmor/train/supposed_data.h"

#include "app/program.h"
#include "app/show_draft.h"

namespace larmor::app {

namespace {

Hardware read_hardware(const std::string& file) {
  std::error_code absent;
  if (!std::filesystem::exists(file, absent))
    fail(Exit::usage, text("there is no file ", file), "check --hardware");
  naming(file, [&] { open_regular(file, Exit::usage); });
  const auto hardware = hardware_from_json(read_json(file));
  if (hardware.cores.empty()) {
    fail(Exit::usage, text(file, " names no cores"),
         "a machine needs cores (a count or a list), memory_bytes and its gpus; larmor doctor --json shows "
         "this one's hardware");
  }
  return hardware;
}

int plan(Program& program, const std::string& hardware_file) {
  const auto& workload = program.workload(program.arguments().target);
  const auto loaded = program.load_to_show(workload);
  std::optional<Hardware> hardware;
  if (!hardware_file.empty()) hardware = read_hardware(hardware_file);
  const auto draft = draft_run_to_show(loaded, hardware);
  check_begun(workload, loaded, draft.index);
  show_draft(program, draft, loaded.config.config);
  return 0;
}

}  // namespace

void add_plan(Program& program) {
  const auto hardware = std::make_shared<std::string>();
  auto& verb = program.add_workload_verb("plan", "what would be done on this machine, and why",
                                         [&program, hardware] { return plan(program, *hardware); },
                                         {.stages = WorkloadVerb::Stages::each});
  verb.add_option("--hardware", *hardware, "plan for the machine of this hardware.json instead");
}

}  // namespace larmor::app

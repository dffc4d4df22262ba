#include <filesystem>
#include <system_error>

#include "larmor/base/error.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/text.h"
#include "larmor/run/earlier/begun_run.h"
#include "larmor/run/supposed_data.h"

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

struct PlanFlags {
  std::string hardware;
  bool no_check = false;
};

int plan(Program& program, const PlanFlags& flags) {
  const auto& workload = program.workload(program.arguments().target);
  const auto loaded = program.load_to_show(workload);
  std::optional<Hardware> hardware;
  if (!flags.hardware.empty()) hardware = read_hardware(flags.hardware);
  const auto draft = draft_run_to_show(loaded, hardware);
  check_begun(workload, loaded, draft.index);
  const auto& config = loaded.config.config;
  std::optional<DraftPlace> place;
  if (!hardware) place = {.folder = folder_to_be(config), .goes_on_without_room = flags.no_check};
  show_draft(program, draft, loaded.config, place);
  return 0;
}

}  // namespace

void add_plan(Program& program) {
  const auto flags = std::make_shared<PlanFlags>();
  auto& verb = program.add_workload_verb("plan", "what would be done on this machine, and why",
                                         [&program, flags] { return plan(program, *flags); },
                                         {.stages = WorkloadVerb::Stages::each});
  verb.add_option("--hardware", flags->hardware, "plan for the machine of this hardware.json instead");
  verb.add_flag("--no-check", flags->no_check, "do not refuse a disk that lacks room");
}

}  // namespace larmor::app

#include "larmor/base/error.h"
#include "larmor/base/files/whole_file.h"
#include "larmor/base/text.h"
#include "larmor/device/tensors/tensor_file.h"
#include "larmor/run/earlier/checkpoint_weights.h"
#include "larmor/run/earlier/trained.h"

#include "app/call_ranks.h"
#include "app/program.h"

namespace larmor::app {

namespace {

struct ExportArguments {
  std::string output, checkpoint = "best";
  WeightFlags weights;
};

int export_weights(Program& program, const ExportArguments& arguments) {
  program.refuse_overrides();
  const auto folder = program.run_folder();
  const auto loaded = load_run_stage(folder, program.workload(workload_of(folder)));
  const auto entry =
      choose_checkpoint(folder, arguments.checkpoint, loaded.config.config.checkpoint.mode == "min");
  const bool average = takes_average(arguments.weights.choice(), *loaded.stage, entry);
  // An output that cannot be is refused before anything is read.
  const auto file = open_output(program.storage(), arguments.output);
  const auto written = write_tensors(*file, read_weights(entry, average));
  Json json;
  json["output"] = arguments.output;
  json["checkpoint"] = entry.folder.filename().string();
  json["bytes"] = written.bytes;
  json["sha256"] = written.sha256;
  program.show(json, Lines(text(arguments.output, ": ", human_bytes(written.bytes), " of step ", entry.step,
                                ", sha256 ", written.sha256)));
  return 0;
}

}  // namespace

void add_export(Program& program) {
  const auto arguments = std::make_shared<ExportArguments>();
  auto& verb = program.add_run_verb("export", "write a run's weights as safetensors under reference names",
                                    [&program, arguments] { return export_weights(program, *arguments); });
  verb.add_option("--output", arguments->output, "the file to write")->required();
  verb.add_option("--checkpoint", arguments->checkpoint, "best, last or a checkpoint folder");
  add_weight_flags(verb, arguments->weights);
}

}  // namespace larmor::app

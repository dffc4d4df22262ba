#include "tests/gpu_emulation/support/emulated_program.h"

#include <utility>

namespace larmor::testing {
namespace {

std::vector<std::string> on_cards(std::vector<std::string> arguments, const EmulatedMachine& machine) {
  std::vector<std::string> words{machine.cards, "--", "larmor"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

ProgramOptions options_of(const std::filesystem::path& folder, const EmulatedMachine& machine) {
  return {.folder = folder, .environment = machine.environment, .program = ON_EMULATED_GPUS};
}

}  // namespace

std::string on_emulated_gpus() { return ON_EMULATED_GPUS; }

Running start_on_gpus(std::vector<std::string> arguments, const std::filesystem::path& folder,
                      const EmulatedMachine& machine) {
  return Running(on_cards(std::move(arguments), machine), options_of(folder, machine));
}

Finished run_on_gpus(std::vector<std::string> arguments, const std::filesystem::path& folder,
                     const EmulatedMachine& machine) {
  return start_on_gpus(std::move(arguments), folder, machine).wait();
}

std::vector<std::map<std::string, double>> training_values(const std::filesystem::path& run) {
  std::vector<std::map<std::string, double>> steps;
  for (const Json& event : events_of(run, "step")) {
    std::map<std::string, double> values;
    for (const auto& [name, value] : event.at("values").items()) {
      if (name.starts_with("train/") || name.starts_with("optim/")) values[name] = value.get<double>();
    }
    steps.push_back(std::move(values));
  }
  return steps;
}

}  // namespace larmor::testing

// `sync`: what a run has recorded, sent to a service that shows runs.
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <poll.h>

#include "larmor/base/error.h"
#include "larmor/base/process/descriptor.h"
#include "larmor/base/text.h"
#include "larmor/run/run_folder.h"
#include "larmor/services/service.h"
#include "larmor/sync/sender.h"

#include "app/program.h"
#include "app/say.h"
#include "app/train/sender_line.h"

namespace larmor::app {

namespace {

struct SyncFlags {
  std::vector<std::string> words;  // runs, and keys with values
  std::string folder = RunSection{}.folder, to;
  bool follow = false, dry_run = false;
};

bool is_over(const RunFolder& folder) {
  std::error_code unknown;
  return folder.is_done() || std::filesystem::exists(folder.root / "FAILED", unknown);
}

/// Of one run. `line`, where the training of the run has started this process, tells it what happens.
SyncSummary send_run(Program& program, const SyncFlags& flags, const RunFolder& folder,
                     const TrackingService& service, const std::vector<std::string>& keys, SenderLine& line) {
  const auto settings = settings_of_run(folder, service, keys);
  constexpr double seconds_of_a_person = 10, seconds_of_a_run = 600;
  SyncOptions options{.patience = line.is_there() ? seconds_of_a_run : seconds_of_a_person};
  if (line.is_there()) {
    options.is_trained = [&line] { return line.is_held(); };
    options.waits_for_other_sender = true;
  } else if (flags.follow) {
    options.is_trained = [&folder] { return !is_over(folder); };
  }
  options.on_open = [&](const std::string& place) {
    say(text(folder.root.string(), " is shown at ", place));
    line.tell(text(service.title, " shows the run at ", place));
  };
  options.on_silence = [&](const std::string& reason) {
    const auto words = text(service.title, " does not take the run for now: ", reason, "; it is tried again");
    say(words);
    line.tell(words);
  };
  return sync_run(folder, service, settings, program.storage(), system_clock(), options);
}

int sync(Program& program, const SyncFlags& flags) {
  const auto& service = service_named(flags.to);
  std::vector<RunFolder> folders;
  std::vector<std::string> keys;
  for (const auto& word : flags.words) {
    if (word.find('=') != std::string::npos && !std::filesystem::exists(word))
      keys.push_back(word);
    else
      folders.push_back(find_run(word, flags.folder));
  }
  require(!folders.empty(), Exit::usage, "no run is named", "larmor sync RUN --to SERVICE");
  require(!flags.follow || folders.size() == 1, Exit::usage, "--follow is for one run",
          "start one larmor for each, or leave --follow out");
  SenderLine line;
  Json rows = Json::array();
  Lines lines;
  for (const auto& folder : folders) {
    try {
      const auto sent = flags.dry_run
                            ? look_at_unsent(folder, service, settings_of_run(folder, service, keys))
                            : send_run(program, flags, folder, service, keys, line);
      rows.push_back({{"run", folder.root.string()},
                      {"place", sent.place},
                      {"events", sent.events},
                      {"pictures", sent.pictures},
                      {"unread_lines", sent.unread_lines}});
      const auto unread = sent.unread_lines == 0 ? std::string()
                                                 : text("; ", sent.unread_lines,
                                                        " lines of its log cannot be read and are left out");
      lines.add(text(folder.root.string(), ": ", sent.events, " events and ", sent.pictures, " pictures ",
                     flags.dry_run ? "are to be sent to " : "sent to ", service.title, unread));
    } catch (const Error& error) {
      line.tell(text(service.title, ": ", error.message()));
      throw;
    }
  }
  program.show({{"to", service.name}, {"runs", rows}}, lines);
  return 0;
}

}  // namespace

void add_sync(Program& program) {
  const auto flags = std::make_shared<SyncFlags>();
  auto& verb = program.add_verb("sync", "sends what runs have recorded to W&B, MLflow or Trackio",
                                [&program, flags] { return sync(program, *flags); });
  verb.add_option("RUN", flags->words,
                  "run folders or names of runs; track.SERVICE.KEY=VALUE stands over what the run says")
      ->required();
  verb.add_option("--to", flags->to, "wandb, mlflow or trackio")->required();
  verb.add_option("--folder", flags->folder, "where runs that are named lie");
  verb.add_flag("--dry-run", flags->dry_run, "says how much there is to be sent, and sends nothing");
  verb.add_flag("--follow", flags->follow, "goes on until the run is done or has failed");
}

}  // namespace larmor::app

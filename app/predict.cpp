// `predict`: what a trained network makes of a person's files, of a table of them, or of nothing.
#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/files/whole_file.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/data/index/index.h"
#include "larmor/device/device.h"
#include "larmor/device/module_state.h"
#include "larmor/device/tensors/weights_file.h"
#include "larmor/judge/prediction/ensemble.h"
#include "larmor/judge/prediction/prediction_run.h"
#include "larmor/judge/prediction/prediction_samples.h"
#include "larmor/judge/stoppable_work.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/ranks/deal.h"
#include "larmor/ranks/run.h"
#include "larmor/run/earlier/checkpoint_reference.h"
#include "larmor/run/earlier/trained.h"
#include "larmor/task/networks.h"
#include "larmor/task/undrawn_task.h"

#include "app/call_ranks.h"
#include "app/program.h"
#include "app/say.h"
#include "app/train/gpu_watch.h"

namespace larmor::app {

namespace fs = std::filesystem;

namespace {

constexpr auto said_every = std::chrono::seconds(10);
constexpr const char* saliency_picture = "saliency";

struct PredictArguments {
  PredictionRequest request;
  std::string table, output, weights, checkpoint = "best";
  std::optional<int64_t> seed;
  bool saliency = false, mirrored = false;
  HeaderText header_text = HeaderText::left_out;
  std::vector<std::string> with;  // further members of an ensemble
  CallFlags call;
};

bool is_of_run(const Program& program) { return !program.is_workload(program.arguments().target); }

/// The stage of a run, or the one that a weights file is for; its config is checked, nothing else is loaded.
LoadedStage stage_for(const Program& program, const PredictArguments& arguments) {
  const auto& words = program.arguments();
  if (is_of_run(program)) {
    require(arguments.weights.empty(), Exit::usage, "--weights: a run has its own weights",
            "choose among them with --checkpoint, or name a workload");
    const auto folder = program.run_folder();
    return load_run_stage(folder, program.workload(workload_of(folder)), words.overrides);
  }
  require(!arguments.weights.empty(), Exit::usage, "a workload without a run needs weights",
          "add --weights FILE, or name a run");
  std::error_code absent;
  if (!fs::exists(arguments.weights, absent))
    fail(Exit::usage, text("there is no file ", arguments.weights), "check --weights");
  naming(arguments.weights, [&] { open_regular(arguments.weights, Exit::usage); });
  return program.load(program.workload(words.target));
}

/// The trained networks that predict together with the one of the run; nothing of them is loaded.
std::vector<CheckpointReference> find_members(const Program& program, const LoadedStage& loaded,
                                              const PredictArguments& arguments, const PredictionForm& form) {
  constexpr const char* flag = "--with";
  std::vector<CheckpointReference> members;
  if (arguments.with.empty()) return members;
  require(is_of_run(program), Exit::usage, "--with: weights of a file predict alone", "name a run");
  require(!arguments.saliency, Exit::usage, "--saliency shows what one network goes by", "leave --with out");
  const auto folder = program.run_folder();
  const auto& workload = program.workload(workload_of(folder));
  for (const std::string& words : arguments.with) {
    members.push_back(find_reference(flag, words, loaded.config.config.run.folder));
    const RunFolder& run = members.back().run;
    check_stage(flag, run, workload, stage_of(folder));
    const auto member = load_run_stage(run, workload, program.arguments().overrides);
    const auto reason = why_apart(form, member.stage->prediction(member.config.config));
    if (!reason.empty())
      fail(Exit::usage,
           text(flag, " ", words, " does not predict what ", folder.root.string(), " does: ", reason),
           "put runs together that were trained with the same data.transforms and inputs");
  }
  return members;
}

void check_mirroring(const PredictionForm& form) {
  const bool has_image = std::ranges::any_of(
      form.inputs, [](const auto& input) { return input.kind == PredictionInput::Kind::image; });
  const std::string reason = has_image ? form.why_not_mirrored : "no image is given that could be mirrored";
  if (!reason.empty()) fail(Exit::usage, text("--mirrored: ", reason), "leave it out");
}

/// Its networks hold their weights, on the device, and are in evaluation mode.
std::unique_ptr<Task> task_for(const Program& program, const LoadedStage& loaded,
                               const PredictArguments& arguments, c10::Device device, Precision precision) {
  if (is_of_run(program)) {
    const auto folder = program.run_folder();
    return load_trained(folder, program.workload(workload_of(folder)), program.arguments().overrides,
                        {.checkpoint = arguments.checkpoint,
                         .weights = arguments.call.weights.choice(),
                         .device = device,
                         .precision = precision})
        .task;
  }
  auto task = undrawn_task(*loaded.stage, loaded.config.config, Index{});
  place(*task, device, precision);
  auto& network = *task->objectives().front().network;
  load_state_dict(network, read_published_weights(arguments.weights));
  network.eval();
  return task;
}

/// The table of numbers and words goes to its file, and to the person with the names of the other files.
void write_results(Storage& storage, const PredictionForm& form, const PredictionFiles& files,
                   const std::vector<PredictionCase>& cases, const std::vector<PredictedCase>& results,
                   Lines& lines) {
  for (const auto& result : results) {
    for (const auto& [name, file] : result.files) lines.add(file);
  }
  const bool has_table = std::any_of(results.begin(), results.end(), [](const PredictedCase& one) {
    return !one.numbers.empty() || !one.words.empty();
  });
  if (!has_table) return;
  std::string table;
  for (const auto& line : prediction_table(form, cases, results)) {
    lines.add(line);
    table += line + "\n";
  }
  const auto file = files.table();
  if (file.empty()) return;
  if (file.has_parent_path()) storage.create_folders(file.parent_path());
  write_output(storage, file, table);
  lines.add("written to " + file.string());
}

/// Long cases say now and then how far they are, and how long the pass that they are in goes on.
std::function<void(double)> progress_for_person(bool quiet) {
  if (quiet) return [](double) {};
  const auto start = std::chrono::steady_clock::now();
  return [next = start + said_every, began = start, last = 0.0](double share) mutable {
    const auto now = std::chrono::steady_clock::now();
    const bool is_new_pass = share < last;
    last = share;
    if (is_new_pass) began = now;
    if (now < next || share >= 1) return;
    next = now + said_every;
    const double seconds = std::chrono::duration<double>(now - began).count();
    const std::string left =
        is_new_pass || share <= 0 ? "" : text(", ETA ", human_seconds(seconds * (1 - share) / share));
    say(text("  ", fixed(100 * share, 0), " %", left));
  };
}

/// Everything that a call is about, before any weights are read.
struct Call {
  LoadedStage loaded;
  PredictionForm form;
  PredictionCases found;
  PredictionFiles files;
  Plan plan;
  std::vector<CheckpointReference> members = {};  // beside the run's own
};

/// The network of the call, or several of them as one.
std::unique_ptr<Task> tasks_for(const Program& program, const Call& call, const PredictArguments& arguments,
                                c10::Device device) {
  const Precision precision = call.plan.precision;
  auto first = task_for(program, call.loaded, arguments, device, precision);
  if (call.members.empty() && !arguments.mirrored) return first;
  std::vector<std::unique_ptr<Task>> all;
  all.push_back(std::move(first));
  for (const CheckpointReference& member : call.members) {
    all.push_back(load_trained(member.run, program.workload(workload_of(member.run)),
                               program.arguments().overrides,
                               {.checkpoint = member.folder.empty() ? member.choice : member.folder.string(),
                                .weights = arguments.call.weights.choice(),
                                .device = device,
                                .precision = precision})
                      .task);
  }
  return std::make_unique<Ensemble>(std::move(all), TakenTogether{.mirrored = arguments.mirrored});
}

/// What is left for a pass: of an ensemble all networks are there at once, and the estimate knows of one.
uint64_t memory_beside(Task& task, const Call& call, int rank) {
  const uint64_t all = memory_for(call.plan, rank);
  const auto count = call.members.size();
  const uint64_t others = bytes_of_weights(task) / (count + 1) * count;
  return others < all ? all - others : 0;
}

/// By what training told its files apart; where a list named its modalities, in the list's order.
DataConfig data_of_training(const Program& program, const LoadedStage& loaded) {
  DataConfig data = loaded.config.config.data;
  if (data.kind != "list" || !data.modalities.is_null() || !is_of_run(program)) return data;
  for (const std::string& channel : index_from_json(read_json(program.run_folder().index())).channels)
    data.modalities[channel] = Json::array({channel});
  return data;
}

PredictionCases cases_for(const PredictArguments& arguments, const PredictionForm& form,
                          const DataConfig& trained) {
  auto found = find_prediction_cases(form, arguments.request, trained);
  for (const auto& line : account_messages(found.account)) log::warning(line);
  return found;
}

/// Brings the network to where the rank runs, and calls `go` with all that predicts a case there.
void predict_here(Program& program, const PredictArguments& arguments, const Call& call, int rank,
                  const std::function<void(PredictionRun&)>& go) {
  const auto& config = call.loaded.config.config;
  const auto device = device_of(call.plan, rank);
  set_up_process(call.plan, device);
  const auto task = tasks_for(program, call, arguments, device);
  lay_out_kernels(*task, call.plan.layout);
  if (const auto missing = task->missing_values(); !missing.empty() && rank == 0) log::warning(missing);
  const bool quiet = program.arguments().quiet || call.plan.world_size() > 1;
  const Predictor predictor(*task, call.form,
                            {.seed = static_cast<uint64_t>(arguments.seed.value_or(config.run.seed)),
                             .device = device,
                             .precision = call.plan.precision,
                             .layout = call.plan.layout,
                             .resamples = config.data.grids == "resample",
                             .progress = progress_for_person(quiet)});
  watch_stop_signals();
  const StoppableWork here(asked_by_signal);
  PredictionRun run({predictor, call.files, call.found.cases, program.storage()},
                    {.device = device,
                     .ahead = std::min(1, call.plan.loader_threads),
                     .fits_in_one_pass = room_for_one_pass(*call.loaded.stage, config, call.plan.precision,
                                                           memory_beside(*task, call, rank))});
  go(run);
}

std::vector<PredictedCase> predict_alone(Program& program, const PredictArguments& arguments,
                                         const Call& call) {
  std::vector<PredictedCase> results;
  const auto all = call.found.cases.size();
  predict_here(program, arguments, call, /*rank=*/0, [&](PredictionRun& run) {
    results = run.predict_all([&, number = std::size_t{0}](const PredictionCase& one) mutable {
      ++number;
      const auto place = all == 1 ? "" : text(" (", number, " of ", all, ")");
      if (!program.arguments().quiet) say(text(one.label, place, " …"));
    });
  });
  return results;
}

/// Of what became of a case on some rank.
PredictedCase case_of(const ranks::Dealt& dealt, const PredictionCase& one) {
  using End = ranks::Dealt::End;
  if (dealt.end == End::done) return predicted_case_from_json(dealt.result);
  if (dealt.end == End::stopped) return stopped_at(one);
  if (dealt.end == End::not_tried) return not_tried(one, dealt.exit);
  return {.failure = text(one.label, ": ", dealt.loss),
          .hint = dealt.end == End::hung
                      ? "predict this case again; where one block of its network takes longer, set "
                        "parallel.hang_limit"
                      : "predict this case again; if the rank ends again, its memory may not do",
          .exit = dealt.exit};
}

/// A rank that ends costs the case that it was at, and nothing else.
std::vector<PredictedCase> predict_by_ranks(const Program& program, const Call& call) {
  const auto& cases = call.found.cases;
  ranks::Job job{.plan = call.plan, .request = to_json(call.found), .words = program.words()};
  job.hang = parse_hang_limit(call.loaded.config.config.parallel.hang_limit);
  const GpuWatch gpus(gpus_of(call.plan));
  watch_stop_signals();
  const auto all = ranks::deal(job, cases.size(),
                               {.before =
                                    [&](std::size_t number) {
                                      if (!program.arguments().quiet) say(cases[number].label + " …");
                                    },
                                .said = [](const std::string& lines) { say(Lines().add_text(lines)); },
                                .name = [&](std::size_t number) { return cases[number].label; }});
  std::vector<PredictedCase> results;
  for (std::size_t number = 0; number < cases.size(); ++number)
    results.push_back(case_of(all[number], cases[number]));
  return results;
}

int serve_as_rank(Program& program, const PredictArguments& arguments, const Call& call,
                  const ranks::Job& job) {
  return run_on_ranks(program, job, [&] {
    return [&](ranks::LiveRank& rank) {
      predict_here(program, arguments, call, rank.place().index, [&](PredictionRun& run) {
        ranks::serve(rank, [&](int64_t number, const std::vector<int64_t>& upcoming) {
          return to_json(run.predict(number, upcoming));
        });
      });
    };
  });
}

/// Leaves those pictures in the form that are asked for.
void choose_pictures(PredictionForm& form, const PredictArguments& arguments) {
  const bool can = std::ranges::find(form.pictures, saliency_picture) != form.pictures.end();
  form.pictures.clear();
  if (!arguments.saliency) return;
  require(can, Exit::usage, "--saliency: this stage draws none", "leave it out");
  require(!arguments.output.empty(), Exit::usage, "--saliency needs --output",
          "say where the pictures go: a folder, or a file beside which they lie");
  form.pictures = {saliency_picture};
}

int predict(Program& program, PredictArguments arguments) {
  const auto job = ranks::inherited_job();
  arguments.request.table = arguments.table;
  arguments.call.weights.choice();
  auto loaded = stage_for(program, arguments);
  auto form = loaded.stage->prediction(loaded.config.config);
  choose_pictures(form, arguments);
  form.header_text = arguments.header_text;
  if (arguments.mirrored) check_mirroring(form);
  auto members = find_members(program, loaded, arguments, form);
  if (const auto words = steps_without_input(form); !words.empty() && !job) log::warning(words);
  require(!arguments.output.empty() || form.volumes.empty(), Exit::usage, "--output is required",
          "say where the volumes go that come out");
  auto found = job ? prediction_cases_from_json(job->request)
                   : cases_for(arguments, form, data_of_training(program, loaded));
  PredictionFiles files(form, found, arguments.output);
  auto plan = job ? job->plan : plan_call(arguments.call, loaded.config.config, std::ssize(found.cases));
  const bool is_shared = plan.world_size() > 1;
  if (!is_shared) set_up_environment(plan);
  const Call call{std::move(loaded), form, std::move(found), std::move(files), std::move(plan),
                  std::move(members)};
  if (job) return serve_as_rank(program, arguments, call, *job);
  const auto results = is_shared ? predict_by_ranks(program, call) : predict_alone(program, arguments, call);
  const auto& cases = call.found.cases;
  Lines lines;
  auto json = prediction_json(call.files, cases, results);
  if (!form.units.empty()) {
    for (auto& row : json) {
      if (!row["outputs"].empty()) row["units"] = form.units;
    }
    if (!program.arguments().quiet) say(text("voxels: ", form.units));
  }
  std::exception_ptr unwritten;
  try {
    write_results(program.storage(), form, call.files, cases, results, lines);
    for (const auto& summary : summarize_samples(program.storage(), call.files, form, cases, results)) {
      for (const auto& [name, file] : summary.files) lines.add(file);
      json.push_back(to_json(summary));
    }
  } catch (const Error&) {
    unwritten = std::current_exception();  // what was computed is shown all the same
  }
  program.show(json, lines);
  if (unwritten) std::rethrow_exception(unwritten);
  throw_failed_cases(cases, results);
  return 0;
}

}  // namespace

void add_predict(Program& program) {
  const auto arguments = std::make_shared<PredictArguments>();
  auto& verb = program.add_workload_or_run_verb(
      "predict", "what a trained network makes of images",
      [&program, arguments] { return predict(program, *arguments); }, {.place_is_config = false});
  verb.add_option("--input", arguments->request.inputs,
                  "a file, a folder or a text for the stage's first input, or NAME=VALUE; repeatable");
  verb.add_option("--table", arguments->table, "a CSV file of inputs, one case a row");
  verb.add_option("--count", arguments->request.count,
                  "how many samples, of each case where there are inputs");
  verb.add_option("--output", arguments->output,
                  "the file to write, or a folder for several; numbers and words are shown in any case");
  verb.add_flag("--saliency", arguments->saliency, "a picture of what the answer goes by, beside the output");
  verb.add_flag_callback(
      "--keep-header-text", [arguments] { arguments->header_text = HeaderText::kept; },
      "volumes keep the free text of the input's header, which may name the patient");
  verb.add_option("--with", arguments->with,
                  "RUN[#best|last|step-…]: its network, too, and the mean of both; repeatable");
  verb.add_flag("--mirrored", arguments->mirrored,
                "each image once more with left and right exchanged, and the mean of both");
  verb.add_option("--seed", arguments->seed, "of all draws, instead of the run's")->check(at_least(0));
  verb.add_option("--weights", arguments->weights, "safetensors weights, for a workload without a run");
  verb.add_option("--checkpoint", arguments->checkpoint, "best, last or a checkpoint folder");
  add_call_flags(verb, arguments->call);
}

}  // namespace larmor::app

// `job`: files that start a training on several nodes, and again where it was stopped.
#include <system_error>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/files/whole_file.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"
#include "larmor/config/units.h"

#include "app/job/job_script.h"
#include "app/job/kubernetes_manifest.h"
#include "app/program.h"
#include "app/stage_chain.h"

namespace larmor::app {

namespace fs = std::filesystem;

namespace {

struct JobFlags {
  JobRequest request;
  std::string signal_before = "5min", output;
};

struct KubernetesFlags : JobFlags {
  KubernetesRequest kubernetes{.shared_memory = "8Gi"};
  std::string grace = "5min";
};

bool names_a_value_of_the_environment(const Origin& origin) {
  return origin.origin.starts_with("environment ");
}

// What `train` is to be called with beside the words as they were given: the values that this shell's
// environment adds, which the job will not have. `prefix` is said of a stage where there are several.
RunConfig add_run(Program& program, JobRequest& request, const std::string& prefix) {
  const auto config = program.load(program.workload(program.arguments().target)).config;
  if (config.config.parallel.strategy == "dp" && request.nodes > 1) {
    fail(Exit::usage,
         text("parallel.strategy dp is one process, and --nodes asks for ", request.nodes, " hosts"),
         "parallel.strategy=ddp");
  }
  for (const auto& origin : config.origins) {
    if (names_a_value_of_the_environment(origin))
      request.train.push_back(text(prefix, origin.key, "=", origin.value));
  }
  request.runs.push_back(config.config.run.name);
  return config.config;
}

// A run without a name gets one, so that a second start is no second run.
void fill_runs(Program& program, JobRequest& request) {
  const auto asked = program.arguments();
  auto& train = request.train = {asked.target};
  for (const auto& name : asked.configs) train.insert(train.end(), {"-c", name});
  if (!asked.stage.empty()) train.insert(train.end(), {"--stage", asked.stage});
  fs::path runs_folder;
  std::string name;
  if (asks_for_every_stage(asked)) {
    const auto& workload = program.workload(asked.target);
    StageChain chain(program, workload, StageChain::Runs::to_come);
    name = chain.name();
    for (const auto& stage : workload.stages()) {
      chain.begin(stage);
      runs_folder = add_run(program, request, stage + ":").run.folder;
    }
  } else {
    const auto config = add_run(program, request, "");
    runs_folder = config.run.folder;
    auto& run = request.runs.front();
    if (run == "auto") run = planned_run_name(SystemClock(), asked.target, config.stage);
    name = run;
  }
  for (const auto& word : asked.overrides) {
    if (!word.starts_with("run.name=")) train.push_back(word);
  }
  train.push_back("run.name=" + name);
  request.runs_folder = (fs::path(request.folder) / runs_folder).lexically_normal().string();
}

int write_job(Program& program, const JobFlags& flags, const std::string& script) {
  const auto& output = flags.output;
  Json said;
  said["output"] = output.empty() ? Json(nullptr) : Json(output);
  const auto& runs = flags.request.runs;
  said["run"] = runs.back();
  if (runs.size() > 1) said["runs"] = runs;
  if (output.empty()) {
    said["script"] = script;
    program.show(said, Lines().add_text(script));
    return 0;
  }
  std::error_code unknown;  // is said where it is written
  if (fs::is_regular_file(output, unknown))
    fail(Exit::usage, text("--output ", output, " is there already"),
         "give another name, or remove it first");
  write_output(program.storage(), output, script);
  program.show(said, Lines(text("wrote ", output, " for the run ", runs.back())));
  return 0;
}

int64_t seconds_of(const std::string& flag, const std::string& word) {
  const auto length = parse_length(word);
  if (length.unit != Length::Unit::seconds)
    fail(Exit::usage, text(flag, " ", word, " is no time"), "give seconds, minutes or hours: 90s, 5min");
  return static_cast<int64_t>(length.amount);
}

JobRequest here(Program& program, const JobRequest& asked) {
  auto request = asked;
  request.program = own_program().string();
  request.folder = fs::current_path().string();
  fill_runs(program, request);
  return request;
}

int job_kubernetes(Program& program, KubernetesFlags& flags) {
  auto& request = flags.kubernetes;
  flags.request.program = "larmor";
  fill_runs(program, flags.request);
  request.job = flags.request;
  request.grace_seconds = seconds_of("--grace", flags.grace);
  return write_job(program, flags, kubernetes_manifest(request));
}

int job_slurm(Program& program, JobFlags& flags) {
  auto& request = flags.request = here(program, flags.request);
  if (request.gpus_per_node == 0 && request.cpus_per_task == 0) {
    fail(Exit::usage, "the job asks for neither GPUs nor cores",
         "say --gpus-per-node 4, or --cpus-per-task 16 to train on the CPU");
  }
  request.signal_before_seconds = seconds_of("--signal-before", flags.signal_before);
  return write_job(program, flags, slurm_script(request));
}

int job_shell(Program& program, JobFlags& flags) {
  flags.request = here(program, flags.request);
  return write_job(program, flags, shell_script(flags.request));
}

void add_shared_flags(CLI::App& verb, JobFlags& flags) {
  constexpr int64_t most_nodes = 65536;
  verb.add_option("--nodes", flags.request.nodes, "how many")
      ->required()
      ->check(CLI::Range(int64_t{1}, most_nodes));
  verb.add_option("--max-restarts", flags.request.max_restarts,
                  "how often ranks that fail are started again without a new start of the job (3)")
      ->check(at_least(0));
  verb.add_option("--output", flags.output, "the file to write; stdout without it");
}

void add_port_flag(CLI::App& verb, JobFlags& flags) {
  constexpr int64_t default_port = 29400, most_port = 65535;
  flags.request.port = default_port;
  verb.add_option("--port", flags.request.port, "of the first node, on which the others find it (29400)")
      ->check(CLI::Range(int64_t{1}, most_port));
}

void add_kubernetes(Program& program, CLI::App& family) {
  const auto flags = std::make_shared<KubernetesFlags>();
  auto& verb = program.add_workload_verb(
      "kubernetes", "a manifest of a job in pods, one a node, that goes on until the run is done",
      [&program, flags] { return job_kubernetes(program, *flags); }, {.stages = WorkloadVerb::Stages::own},
      &family);
  add_shared_flags(verb, *flags);
  add_port_flag(verb, *flags);
  auto& request = flags->kubernetes;
  verb.add_option("--image", request.image, "an image with larmor in its PATH")->required();
  verb.add_option("--claim", request.claims,
                  "NAME=/PATH: a PersistentVolumeClaim and where pods have it; repeatable")
      ->allow_extra_args(false);
  verb.add_option("--folder", flags->request.folder,
                  "of the pods, to train in; the first claim's without it");
  verb.add_option("--namespace", request.name_space, "of the job");
  verb.add_option("--gpus-per-node", request.gpus, "GPUs of each pod")->check(at_least(1));
  verb.add_option("--cpus-per-node", request.cpus, "cores of each pod")->check(at_least(1));
  verb.add_option("--memory", request.memory, "of each pod: 64Gi");
  verb.add_option("--shared-memory", request.shared_memory, "of each pod, in /dev/shm (8Gi)");
  verb.add_option("--grace", flags->grace, "from TERM to KILL, for a step and a checkpoint (5min)");
}

}  // namespace

void add_job(Program& program) {
  auto& family = program.add_family("job", "files that train on several nodes: slurm, shell, kubernetes");
  const auto slurm_flags = std::make_shared<JobFlags>(), shell_flags = std::make_shared<JobFlags>();
  auto& slurm = program.add_workload_verb(
      "slurm", "an sbatch file that goes back into the queue until the run is done",
      [&program, slurm_flags] { return job_slurm(program, *slurm_flags); },
      {.stages = WorkloadVerb::Stages::own}, &family);
  add_shared_flags(slurm, *slurm_flags);
  auto& request = slurm_flags->request;
  slurm.add_option("--gpus-per-node", request.gpus_per_node, "GPUs of each")->check(at_least(1));
  slurm.add_option("--cpus-per-task", request.cpus_per_task, "cores of each")->check(at_least(1));
  slurm.add_option("--time", request.time, "limit of one start of the job, as sbatch reads it: 12:00:00")
      ->required();
  slurm.add_option("--partition", request.partition, "the scheduler's partition");
  slurm.add_option("--account", request.account, "who pays");
  slurm.add_option("--signal-before", slurm_flags->signal_before, "how long before the limit to stop (5min)");
  auto& shell = program.add_workload_verb(
      "shell", "a shell script for nodes without a scheduler, to start on each",
      [&program, shell_flags] { return job_shell(program, *shell_flags); },
      {.stages = WorkloadVerb::Stages::own}, &family);
  add_shared_flags(shell, *shell_flags);
  shell.add_option("--master", shell_flags->request.master, "the first node, as the others reach it")
      ->required();
  add_port_flag(shell, *shell_flags);
  add_kubernetes(program, family);
}

}  // namespace larmor::app

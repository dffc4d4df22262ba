// Maps flags of other training scripts to the Larmor key that replaces them, for error hints.
#include <algorithm>
#include <array>
#include <utility>

#include "larmor/base/text.h"
#include "larmor/config/foreign/script_flags.h"
#include "larmor/config/load.h"

namespace larmor {
namespace {

using Answer = std::pair<std::string_view, const char*>;

constexpr const char* batch =
    "say `train.global_batch=` (all ranks together) or `train.micro_batch=` (per device)";
constexpr const char* rate = "say `optim.learning_rate=`";
constexpr const char* length = "say `train.length=100ep` (or 5000st, 90s, 12h)";
constexpr const char* ranks = "say `--ranks N`, `--ranks auto`, or `--ranks 0,2` for a list of devices";
constexpr const char* config = "say `-c FILE`, or `-c NAME` for a shipped config";
constexpr const char* folder = "say `data.folder=`";
constexpr const char* list = "say `data.kind=list data.list=FILE.csv`";
constexpr const char* runs = "say `run.folder=`, and `run.name=` for the run's own folder";
constexpr const char* workers = "say `data.workers=` (loader threads of a rank)";
constexpr const char* accumulation = "say `train.accumulation=`";
constexpr const char* launched =
    "leave it out: larmor starts its own ranks, and under torchrun reads what torchrun sets";
constexpr const char* nodes =
    "`larmor train` and `larmor launch` take it, the same command on every host: --nnodes N --node-rank R "
    "--master-addr HOST";
constexpr const char* strategy = "say `parallel.strategy=ddp`, or leave the choice to the plan";
constexpr const char* zero =
    "say `parallel.strategy=zero2` (or zero1, zero3), or leave the choice to the plan";
constexpr const char* offload =
    "say `parallel.offload=optimizer`, under `parallel.strategy=zero1`, zero2 or zero3";
constexpr const char* recomputation =
    "say `train.activation_checkpointing=blocks`: backward computes each block again";
constexpr const char* deepspeed_file =
    "say `-c FILE` with DeepSpeed's JSON: what it asks for is taken over, and each key is answered";
constexpr const char* planned = "leave it out: `larmor plan` shows what is chosen for this machine, and why";
constexpr const char* smart = "say `data.cache=smart`";
constexpr const char* full = "say `data.cache=full`: prepared examples on disk, shared by all ranks and runs";
constexpr const char* saved = "say `checkpoint.every=2000st` (or 1ep, 30min)";
constexpr const char* validated = "say `train.validate_every=1000st` (or 1ep)";
constexpr const char* clipped = "say `optim.clip_norm=`";
constexpr const char* tried =
    "say `--try`: every phase once on a few cases, and what the whole run will take";
constexpr const char* profiled = "say `larmor bench step WORKLOAD --profile FILE`: a trace of a step";

constexpr std::array<Answer, 5> for_batch{{{"batch-size", batch},
                                           {"total-batch-size", batch},
                                           {"batch-size-per-gpu", batch},
                                           {"train-batch-size", batch},
                                           {"per-device-batch-size", batch}}};

constexpr std::array<Answer, 40> for_training{
    {{"lr", rate},
     {"learning-rate", rate},
     {"epochs", length},
     {"num-epochs", length},
     {"max-epochs", length},
     {"n-epochs", length},
     {"max-steps", length},
     {"amp", "say `train.precision=auto` (or bf16, fp16)"},
     {"mixed-precision", "say `train.precision=bf16` or `train.precision=fp16`"},
     {"fp16", "say `train.precision=fp16`"},
     {"bf16", "say `train.precision=bf16`"},
     {"accum", accumulation},
     {"accumulation-steps", accumulation},
     {"gradient-accumulation-steps", accumulation},
     {"gradient-checkpointing", recomputation},
     {"activation-checkpointing", recomputation},
     {"compile",
      "leave it out: larmor is compiled already; on a GPU `train.graphs=auto` spares the launches of a step"},
     {"seed", "say `run.seed=`"},
     {"optimizer", "say `optim.name=`"},
     {"scheduler", "say `optim.schedule.name=`"},
     {"clip-grad", clipped},
     {"max-grad-norm", clipped},
     {"patience", "say `train.early_stopping=`"},
     {"resume-from", "say `--resume CHECKPOINT`, or `larmor train RUN`"},
     {"no-images", "say `track.pictures_every=0`"},
     {"init", "say `model.weights=FILE.safetensors` for weights to start from; without it they are drawn"},
     {"pretrained-path", "say `model.weights=FILE.safetensors`"},
     {"weight-decay", "say `optim.weight_decay=`"},
     {"eta-min", "say `optim.schedule.final_rate=`"},
     {"image-size", "say it in `data.transforms`"},
     {"save-every", saved},
     {"validate-every", validated},
     {"accumulate-grad-batches", accumulation},
     {"gradient-clip-val", clipped},
     {"gradient-clip", clipped},
     {"early-stopping", "say `train.early_stopping=` with how many validations without a better one"},
     {"fast-dev-run", tried},
     {"debug", tried},
     {"max-samples", "say `--cases N`: the run learns from so many"},
     {"limit-train-batches", "say `--steps N`"}}};

constexpr std::array<Answer, 46> for_ranks{
    {{"gpus", ranks},
     {"num-gpus", ranks},
     {"devices", ranks},
     {"world-size", ranks},
     {"num-processes", ranks},
     {"nproc-per-node", ranks},
     {"local-rank", launched},
     {"rank", launched},
     {"master-addr", nodes},
     {"master-port", nodes},
     {"standalone", launched},
     {"nnodes", nodes},
     {"node-rank", nodes},
     {"use-ddp", strategy},
     {"ddp", strategy},
     {"multi-gpu", strategy},
     {"distributed", strategy},
     {"method", strategy},
     {"strategy", "say `parallel.strategy=`"},
     {"use-deepspeed", zero},
     {"deepspeed", zero},
     {"zero-stage", zero},
     {"fsdp", "say `parallel.strategy=zero3`"},
     {"offload-optimizer", offload},
     {"cpu-offload", offload},
     {"deepspeed-config", deepspeed_file},
     {"zero-optimization", deepspeed_file},
     {"auto-optimize", planned},
     {"no-auto-optimize", "give the values that the plan should not choose, such as `train.micro_batch=`"},
     {"backend", "say `--device cpu` or `--device cuda`: the backend follows"},
     {"precision", "say `train.precision=`"},
     {"sync-batchnorm",
      "leave it out: several ranks share the statistics of batch norm; `parallel.sync_batchnorm=false` does "
      "not"},
     {"sync-bn",
      "leave it out: several ranks share the statistics of batch norm; `parallel.sync_batchnorm=false` does "
      "not"},
     {"profile", profiled},
     {"pin-memory", planned},
     {"g", ranks},
     {"gpu-ids", ranks},
     {"num-machines", nodes},
     {"num-nodes", nodes},
     {"machine-rank", nodes},
     {"main-process-ip", nodes},
     {"main-process-port", nodes},
     {"hostfile",
      "start the same command on every host: `larmor launch --nnodes N --node-rank R --master-addr HOST -- "
      "train …`"},
     {"include", ranks},
     {"accelerator", "say `--device cpu` or `--device cuda`"},
     {"profiler", profiled}}};

constexpr std::array<Answer, 35> for_files{
    {{"config-file", config},
     {"config-path", config},
     {"environment-file", "say `data.folder=` and `run.folder=`"},
     {"data-dir", folder},
     {"data-path", folder},
     {"data-root", folder},
     {"dataset-path", folder},
     {"csv", list},
     {"csv-path", list},
     {"workers", workers},
     {"num-workers", workers},
     {"dataloader-num-workers", workers},
     {"persistent-workers", "leave it out: loader threads live as long as the run"},
     {"output", runs},
     {"prefetch-factor", "say `data.prefetch=`"},
     {"use-smart-cache", smart},
     {"cache-rate", "say `data.cache=smart data.cache_rate=`"},
     {"replace-rate", "say `data.cache=smart data.replace_rate=`"},
     {"cache-in-memory", full},
     {"out", runs},
     {"output-dir", runs},
     {"log-dir", runs},
     {"logdir", runs},
     {"checkpoint-dir", runs},
     {"save-dir", runs},
     {"doc", "say `run.name=`"},
     {"name", "say `run.name=`"},
     {"use-wandb", "say `track.wandb.enabled=true`"},
     {"wandb", "say `track.wandb.enabled=true`"},
     {"wandb-project", "say `track.wandb.project=`"},
     {"mlflow", "say `track.mlflow.uri=` with the address of its server"},
     {"report-to",
      "say `track.tensorboard=true`, `track.wandb.enabled=true`, or `track.mlflow.uri=` with the address of "
      "a server"},
     {"tensorboard", "say `track.tensorboard=true`"},
     {"wandb-entity", "say `track.wandb.entity=`"},
     {"logger", "say `track.tensorboard=true`; events.jsonl holds every step in any case"}}};

template <size_t Count>
const char* find_answer(const std::array<Answer, Count>& answers, std::string_view name) {
  for (const auto& [known, answer] : answers) {
    if (known == name) return answer;
  }
  return "";
}

}  // namespace

std::vector<std::pair<std::string_view, const char*>> all_foreign_flags() {
  std::vector<Answer> all(for_batch.begin(), for_batch.end());
  all.insert(all.end(), for_training.begin(), for_training.end());
  all.insert(all.end(), for_ranks.begin(), for_ranks.end());
  all.insert(all.end(), for_files.begin(), for_files.end());
  return all;
}

std::string hint_for_foreign_flag(std::string_view flag, const ForeignFlags& own) {
  std::string name = lower(flag.substr(std::min(flag.find_first_not_of('-'), flag.size())));
  std::replace(name.begin(), name.end(), '_', '-');
  if (const auto found = own.find(name); found != own.end()) return found->second;
  std::string answer = find_answer(for_batch, name);
  if (answer.empty()) answer = find_answer(for_training, name);
  if (answer.empty()) answer = find_answer(for_ranks, name);
  if (answer.empty()) answer = find_answer(for_files, name);
  return answer;
}

}  // namespace larmor

// People come with the flags of the guides in their fingers: each is answered with the key to use instead.
#include <algorithm>
#include <array>
#include <utility>

#include "larmor/base/text.h"
#include "larmor/config/load.h"

namespace larmor {

namespace {

constexpr const char* batch = "say `train.global_batch=` (all ranks together) or `train.micro_batch=` (per device)";
constexpr const char* rate = "say `optim.learning_rate=`";
constexpr const char* length = "say `train.length=100ep` (or 5000st, 90s, 12h)";
constexpr const char* ranks = "say `--ranks N`, `--ranks auto` or a list of devices";
constexpr const char* config = "say `-c FILE`, or `-c NAME` for a shipped config";
constexpr const char* folder = "say `data.folder=`";
constexpr const char* launched = "not needed: larmor starts its own ranks, and takes those of torchrun as they are";

constexpr std::array<std::pair<std::string_view, const char*>, 42> answers{{
    {"batch-size", batch}, {"total-batch-size", batch}, {"per-device-batch-size", batch}, {"train-batch-size", batch}, {"bs", batch},
    {"lr", rate}, {"learning-rate", rate}, {"max-lr", rate},
    {"epochs", length}, {"max-epochs", length}, {"num-epochs", length}, {"max-steps", length},
    {"gpus", ranks}, {"num-gpus", ranks}, {"world-size", ranks}, {"nproc-per-node", ranks}, {"devices", ranks},
    {"config-file", config}, {"environment-file", "say `data.folder=` and `run.folder=`"}, {"deepspeed-config", "say what it asks for with keys; larmor plan shows the result"},
    {"data-dir", folder}, {"data-path", folder}, {"data-root", folder}, {"csv", "say `data.list=FILE.csv`"}, {"csv-path", "say `data.list=FILE.csv`"},
    {"amp", "say `train.precision=bf16` (or fp16, auto)"}, {"fp16", "say `train.precision=fp16`"}, {"bf16", "say `train.precision=bf16`"}, {"mixed-precision", "say `train.precision=auto`"},
    {"compile", "has no meaning here: larmor is compiled already"},
    {"no-images", "say `track.pictures_every=0`"}, {"profile", "larmor bench step times a step"},
    {"local-rank", launched}, {"rank", launched}, {"master-port", launched}, {"master-addr", launched},
    {"workers", "say `data.workers=`"}, {"num-workers", "say `data.workers=`"}, {"prefetch-factor", "say `data.prefetch=`"},
    {"gradient-accumulation-steps", "say `train.accumulation=`"}, {"seed", "say `run.seed=`"}, {"output-dir", "say `run.folder=`"},
}};

}  // namespace

std::string hint_for_foreign_flag(std::string_view flag) {
  auto name = lower(flag);
  name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
  std::replace(name.begin(), name.end(), '_', '-');
  for (const auto& [known, answer] : answers) {
    if (known == name) return answer;
  }
  return "";
}

}  // namespace larmor

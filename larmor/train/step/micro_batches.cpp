#include "larmor/train/step/micro_batches.h"

#include "larmor/device/memory/out_of_memory.h"

namespace larmor {

namespace {

LoaderSetting setting_of(const Plan& plan, int rank, bool is_prepared) {
  const auto cores = static_cast<int>(plan.ranks.at(static_cast<size_t>(rank)).cores.size());
  return {.workers = plan.loader_threads,
          .free_cores = cores - (plan.device == DeviceKind::cpu ? plan.threads_per_rank : 1),
          .is_prepared = is_prepared};
}

}  // namespace

MicroBatches::MicroBatches(Loop& loop)
    : loop_(loop),
      loader_(loop.parts.open_loader(loop.plan, loop.state.progress.examples, {})),
      feed_(loop.parts.device, loop.plan.precision),
      wait_(setting_of(loop.plan, loop.rank(), loop.parts.config.data.cache != "none")) {}

Batch MicroBatches::from_loader() {
  loop_.enter(Phase::waiting_for_data);
  auto batch = loader_->next();
  note_bad_files();
  loop_.enter(Phase::computing);
  return batch;
}

Batch MicroBatches::read() {
  if (kept_.empty()) return from_loader();
  auto batch = std::move(kept_.front());
  kept_.pop_front();
  return batch;
}

const Batch& MicroBatches::keep_next() { return kept_.emplace_back(from_loader()); }

Batch MicroBatches::send(Batch host) {
  auto batch = feed_.take(std::move(host));
  copy_ahead();
  return batch;
}

void MicroBatches::copy_ahead() {
  const auto* const next = kept_.empty() ? loader_->upcoming() : &kept_.front();
  if (next != nullptr) feed_.copy_ahead(*next);
}

void MicroBatches::open_again() {
  note_bad_files();
  kept_.clear();
  feed_.clear();
  loader_.reset();  // before the next one: its batches take memory
  release_cached_memory(loop_.parts.device);
  loader_ = loop_.parts.open_loader(loop_.plan, loop_.state.progress.examples, loop_.bad.left_out());
}

double MicroBatches::note_step(double seconds) {
  const double waited = loader_->take_wait_seconds();
  wait_.add_step(seconds, waited, loader_->take_stage_seconds());
  return waited;
}

}  // namespace larmor

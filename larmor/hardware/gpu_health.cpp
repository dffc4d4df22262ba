#include "larmor/hardware/gpu_health.h"

#include <algorithm>
#include <set>

#include "larmor/base/text.h"
#include "larmor/hardware/nvml.h"
#include "larmor/hardware/probes.h"

namespace larmor {

struct GpuHealth::State {
  struct WatchedGpu {
    Nvml::Device device = nullptr;
    Gpu gpu;
    uint64_t slowing_told = 0;
    bool is_lost = false;
    std::set<uint64_t> xids_told;

    std::string name() const { return text("GPU ", gpu.index, " (", gpu.name, ")"); }
  };

  State(const std::vector<Gpu>& gpus, const std::string& library);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void find(const std::vector<Gpu>& gpus);
  void listen();
  void take_events(std::vector<GpuTrouble>& news);
  void look_at(WatchedGpu& watched, std::vector<GpuTrouble>& news) const;

  Nvml nvml;
  bool is_started = false;
  Nvml::EventSet events = nullptr;
  std::vector<WatchedGpu> all;
};

GpuHealth::State::State(const std::vector<Gpu>& gpus, const std::string& library) : nvml(library) {
  is_started = nvml.is_complete() && nvml.init() == Nvml::success;
  if (!is_started) return;
  find(gpus);
  listen();
}

GpuHealth::State::~State() {
  if (events != nullptr) nvml.free_events(events);
  if (is_started) nvml.shutdown();
}

void GpuHealth::State::find(const std::vector<Gpu>& gpus) {
  unsigned count = 0;
  if (nvml.device_count(&count) != Nvml::success) return;
  for (unsigned index = 0; index < count; ++index) {
    Nvml::Device device = nullptr;
    Nvml::TextBuffer uuid{};
    if (nvml.device_by_index(index, &device) != Nvml::success ||
        nvml.uuid(device, uuid.data(), uuid.size()) != Nvml::success)
      continue;
    const auto found = std::ranges::find(gpus, std::string(uuid.data()), &Gpu::uuid);
    if (found != gpus.end()) all.push_back({.device = device, .gpu = *found});
  }
}

void GpuHealth::State::listen() {
  if (!nvml.has_events() || all.empty() || nvml.make_events(&events) != Nvml::success) return;
  for (const WatchedGpu& watched : all) nvml.register_events(watched.device, Nvml::xid_events, events);
}

void GpuHealth::State::take_events(std::vector<GpuTrouble>& news) {
  constexpr int most_at_a_time = 100;  // of a GPU that fails without end
  Nvml::Event event{};
  for (int taken = 0; events != nullptr && taken < most_at_a_time; ++taken) {
    if (nvml.wait_for_event(events, &event, /*milliseconds=*/0) != Nvml::success) return;
    const auto watched = std::ranges::find(all, event.device, &WatchedGpu::device);
    if (watched == all.end() || event.kind != Nvml::xid_events) continue;
    if (!watched->xids_told.insert(event.data).second) continue;
    news.push_back(
        {.gpu = watched->gpu.index, .words = text(watched->name(), ": ", Nvml::xid_message(event.data))});
  }
}

void GpuHealth::State::look_at(WatchedGpu& watched, std::vector<GpuTrouble>& news) const {
  if (watched.is_lost) return;
  Nvml::Memory memory{};
  const int status = nvml.memory(watched.device, &memory);
  watched.is_lost = status == Nvml::gpu_is_lost;
  if (watched.is_lost) {
    news.push_back({.gpu = watched.gpu.index, .words = text(watched.name(), ": ", nvml.explain(status))});
    return;
  }
  const uint64_t more = nvml.slowing_of(watched.device) & ~watched.slowing_told;
  if (more == 0) return;
  watched.slowing_told |= more;
  news.push_back({.gpu = watched.gpu.index,
                  .words = text(watched.name(), " runs slower than it could: ", Nvml::slowing_message(more)),
                  .is_end = false});
}

GpuHealth::GpuHealth(const std::vector<Gpu>& gpus, const HardwareSources& sources)
    : state_(std::make_unique<State>(gpus, surroundings_of(sources).nvml_library())) {}

GpuHealth::~GpuHealth() = default;

std::vector<GpuTrouble> GpuHealth::take_news() {
  std::vector<GpuTrouble> news;
  state_->take_events(news);
  for (State::WatchedGpu& watched : state_->all) state_->look_at(watched, news);
  return news;
}

}  // namespace larmor

#include <cstdlib>
#include <optional>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/comm/backends.h"
#include "larmor/comm/communicator.h"

namespace larmor {
namespace {

/// Libtorch notes every collective for a debugger of its own, in a map that threads enter without a lock:
/// two groups of one process, training's and the checkpoints', may meet there, and the process dies of it.
/// Whoever sets the variable has it back.
void stop_flight_recorder() {
  [[maybe_unused]] static const int once = setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/0);
}

}  // namespace

struct Rendezvous::State {
  Rank rank;
  PeerLimits limits;
  std::optional<Meeting> meeting;  // none for a rank alone
  int groups = 0;
};

Rendezvous::Rendezvous(const Rank& rank, const PeerLimits& limits)
    : state_(std::make_unique<State>(State{rank, limits, std::nullopt, 0})) {
  if (rank.count > 1) state_->meeting = meet(rank, limits.meeting);
}

Rendezvous::~Rendezvous() = default;

std::unique_ptr<Communicator> Rendezvous::connect(DeviceKind kind, int device_index) {
  const bool on_gpu = kind == DeviceKind::cuda;
  const c10::Device device =
      on_gpu ? c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device_index)) : c10::Device(c10::kCPU);
  if (!state_->meeting) return make_solo(device);
  stop_flight_recorder();
  const auto& [rank, limits, meeting, groups] = *state_;
  // Ranks of an earlier life of the run may still hold keys in a store that outlived them.
  const std::string name = text("larmor/", rank.generation, "/", state_->groups++);
  wait_for_all(*meeting->store, rank, name, limits.meeting);

  const MakeBackend make = on_gpu ? nccl_backends(*meeting, rank, device_index, limits.collective)
                                  : gloo_backends(*meeting, rank, limits.collective);
  try {
    return std::make_unique<Group>(make, name, device, limits.collective);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail(Exit::environment,
         text("rank ", rank.index, " of ", rank.count,
              " could not be connected with its peers: ", one_line(error)),
         "a peer may have ended, or a firewall may close the ports between the hosts");
  }
}

std::unique_ptr<Communicator> connect(const Rank& rank, const ConnectOptions& options) {
  return Rendezvous(rank, {.meeting = options.limit, .collective = options.limit})
      .connect(options.device, options.device_index);
}

}  // namespace larmor

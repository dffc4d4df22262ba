#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/comm/backends.h"
#include "larmor/comm/communicator.h"

namespace larmor {

std::unique_ptr<Communicator> connect(const Rank& rank, const ConnectOptions& options) {
  if (rank.count == 1) return make_solo();
  const Meeting meeting = meet(rank, options.limit);
  // Ranks of an earlier life of the run may still hold keys in a store that outlived them.
  const std::string name = text("larmor/", rank.generation, "/0");
  wait_for_all(*meeting.store, rank, name, options.limit);

  const bool on_gpu = options.device == DeviceKind::cuda;
  const c10::Device device =
      on_gpu ? c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(options.device_index))
             : c10::Device(c10::kCPU);
  const MakeBackend make = on_gpu ? nccl_backends(meeting, rank, options.device_index, options.limit)
                                  : gloo_backends(meeting, rank, options.limit);
  try {
    return std::make_unique<Group>(make, name, device, options.limit);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail(Exit::environment,
         text("rank ", rank.index, " of ", rank.count,
              " could not be connected with its peers: ", one_line(error)),
         "a peer may have ended, or a firewall may close the ports between the hosts");
  }
}

}  // namespace larmor

// A process that decodes for this one, so that what crashes a decoder, keeps it busy or fills its memory is a
// bad file and no lost rank.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/process.h"
#include "larmor/codec/decode_message.h"
#include "larmor/codec/encoded_pixels.h"
#include "larmor/codec/shared_memory.h"
#include "larmor/codec/unpacking.h"

namespace larmor {

struct DecoderOptions {
  std::filesystem::path program;       // larmor-decode
  std::vector<std::string> arguments;  // without argv[0]
  bool may_be_unconfined = false;      // where the kernel has neither seccomp nor Landlock
  // Beyond what comes out: this, or 64 times the compressed bytes where that is more.
  uint64_t memory = uint64_t{512} << 20;
  // Of the processor, and a second more for each 8 MiB that there is room for.
  double processor_seconds = 10;
  // Until an answer, and six times the seconds of the processor more: machines may be busy with other things.
  double wait_seconds = 60;
};

/// What became of a request.
struct DecodeOutcome {
  enum class Kind { decoded, refused, lost };
  Kind kind = Kind::decoded;
  DecodedForm form;           // of frames
  Unpacked unpacked;          // of anything else
  std::string message, hint;  // unless decoded
  // It was killed by a signal that no fault of its own sends. The file is not to blame, and may be tried
  // again.
  bool was_killed = false;
};

/// One thread at a time. Started by posix_spawn; it ends when this is destroyed, or when our process ends.
/// Signals for our process group (interrupt, terminate, …) do not reach it.
class DecoderProcess {
 public:
  /// Throws Error (environment): it cannot be started, does not greet, or is not confined.
  explicit DecoderProcess(const DecoderOptions& options);
  ~DecoderProcess();
  DecoderProcess(const DecoderProcess&) = delete;
  DecoderProcess& operator=(const DecoderProcess&) = delete;

  /// Requires: `out` has decoded_bytes(encoded); it is written where the outcome is `decoded`. After `lost`
  /// the process has ended. Throws Error (environment): no memory to share.
  DecodeOutcome decode(const EncodedPixels& encoded, std::span<std::byte> out);
  /// The same of unpack_here(). What it gives is within `packed` and `out`, whatever the process says; of
  /// data that did not fit (Unpacked::End::full) all of `out` is written but where they are deflated or a
  /// picture.
  DecodeOutcome unpack(Packing packing, std::span<const std::byte> packed, std::span<std::byte> out);

  pid_t id() const { return id_; }
  const DecodeGreeting& greeting() const { return greeting_; }
  bool is_confined() const { return greeting_.has_seccomp != 0 || greeting_.landlock_version > 0; }
  /// "seccomp and Landlock 3"
  std::string confinement() const;
  bool is_running() const;

 private:
  void spawn(int socket);
  /// What is asked for in `request`, of `pieces`, which lie in the shared memory one behind the other.
  /// Nothing where it was answered: the answer is in `reply`.
  std::optional<DecodeOutcome> ask(DecodeRequest& request, std::span<const std::span<const std::byte>> pieces,
                                   std::size_t output_bytes, DecodeReply& reply);
  /// Gives what has to be sent along, if anything.
  std::optional<int> share(DecodeRequest& request, std::span<const std::span<const std::byte>> pieces,
                           std::size_t output_bytes);
  void end_sharing();
  void set_limits(const DecodeRequest& request);
  DecodeOutcome lose(const char* reason_of_ours);
  Ending end();

  DecoderOptions options_;
  DecodeGreeting greeting_;
  pid_t id_ = -1;
  Descriptor socket_;
  std::optional<SharedMemory> memory_;           // that the decoder has, too
  double processor_limit_ = 0, wait_limit_ = 0;  // of the present request, seconds
  uint64_t memory_limit_ = 0;                    // of it, bytes beyond the samples
};

}  // namespace larmor

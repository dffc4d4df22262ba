// The decoders of this process: started when they are needed, as many as threads decode at once, and anew
// after one is lost.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "larmor/codec/decoder_process.h"
#include "larmor/codec/encoded_pixels.h"
#include "larmor/codec/unpacking.h"

namespace larmor {

/// Thread-safe.
class DecoderPool {
 public:
  /// `most` decoders at a time; further threads wait.
  DecoderPool(DecoderOptions options, std::size_t most);
  ~DecoderPool();
  DecoderPool(const DecoderPool&) = delete;
  DecoderPool& operator=(const DecoderPool&) = delete;

  /// Decodes into `out`. Requires: `out` has decoded_bytes(encoded). Throws Error (data): damaged, cut short,
  /// the decoder crashed, took too long or too much memory, or none could be started for more than half a
  /// second.
  DecodedForm decode(const EncodedPixels& encoded, std::span<std::byte> out);
  /// Works as DecoderProcess::unpack(). Throws as decode() does.
  Unpacked unpack(Packing packing, std::span<const std::byte> packed, std::span<std::byte> out);
  /// Ends those that have nothing to do.
  void end_idle();
  /// Processes of those that have nothing to do.
  std::vector<pid_t> idle() const;

 private:
  using Decoder = std::unique_ptr<DecoderProcess>;
  using Work = std::function<DecodeOutcome(DecoderProcess&)>;

  DecodeOutcome outcome_of(const Work& work);

  Decoder take();
  Decoder start();
  void give_back(Decoder decoder);

  const DecoderOptions options_;
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<Decoder> idle_;
  std::size_t taken_ = 0;
  std::atomic<bool> cannot_start_ = false;  // as it was with the last
};

/// What libraries of others decode, through the decoders of this process: by `larmor-decode` beside the
/// running program, or by what LARMOR_DECODER names. In this process with LARMOR_DECODER=none alone. Throws
/// as DecoderPool does, and Error (environment) without a program to start. Thread-safe.
DecodedForm decode_apart(const EncodedPixels& encoded, std::span<std::byte> out);
Unpacked unpack_apart(Packing packing, std::span<const std::byte> packed, std::span<std::byte> out);

/// How compressed files are decoded here, for people: by which program, and how it is confined. Starts it to
/// see. Throws Error (environment): compressed files will be refused.
std::string describe_decoder();

}  // namespace larmor

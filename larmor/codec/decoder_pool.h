// The decoders of this process: started when they are needed, as many as threads decode at once, and anew
// after one is lost.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "larmor/codec/decoder_process.h"
#include "larmor/codec/encoded_pixels.h"

namespace larmor {

/// Thread-safe.
class DecoderPool {
 public:
  /// `most` decoders at a time; further threads wait. Where none can be started, pixels are decoded in this
  /// process, and a warning says so once.
  DecoderPool(DecoderOptions options, std::size_t most);
  ~DecoderPool();
  DecoderPool(const DecoderPool&) = delete;
  DecoderPool& operator=(const DecoderPool&) = delete;

  /// Into `out`. Requires: `out` has decoded_bytes(encoded). Throws Error (data): damaged, cut short, or the
  /// decoder crashed, took too long or too much memory.
  DecodedForm decode(const EncodedPixels& encoded, std::span<std::byte> out);
  /// Ends those that have nothing to do.
  void end_idle();
  /// Processes of those that have nothing to do.
  std::vector<pid_t> idle() const;

 private:
  using Decoder = std::unique_ptr<DecoderProcess>;

  Decoder take();
  void give_back(Decoder decoder);
  void say_once(const std::string& reason);

  const DecoderOptions options_;
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<Decoder> idle_;
  std::size_t taken_ = 0;
  bool cannot_start_ = false;
};

/// JPEG and JPEG-LS through the decoders of this process: by `larmor-decode` beside the running program, or
/// by what LARMOR_DECODER names. Without either, and with LARMOR_DECODER=none, in this process. Throws as
/// DecoderPool does.
DecodedForm decode_apart(const EncodedPixels& encoded, std::span<std::byte> out);

/// How compressed pixels are decoded here, for people: by which program, and how it is confined. Starts it to
/// see.
std::string describe_decoder();

}  // namespace larmor

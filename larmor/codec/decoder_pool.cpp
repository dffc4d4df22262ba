#include "larmor/codec/decoder_pool.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"
#include "larmor/codec/frame_decoder.h"

namespace larmor {

namespace {

namespace fs = std::filesystem;

struct DecoderPlace {
  bool is_unwanted = false;
  DecoderOptions options = {};
};

/// Throws Error (environment): there is no program.
DecoderPlace find_decoder() {
  const char* const variable = std::getenv("LARMOR_DECODER");
  const std::string_view named = variable == nullptr ? "" : variable;
  DecoderPlace place{.is_unwanted = named == "none"};
  place.options.may_be_unconfined = named == "unconfined";
  if (place.is_unwanted) return place;
  if (!named.empty() && !place.options.may_be_unconfined) {
    place.options.program = named;
    return place;
  }
  place.options.program = own_program().parent_path() / "larmor-decode";
  std::error_code absent;
  if (!fs::is_regular_file(place.options.program, absent))
    fail(Exit::environment,
         text("there is no ", place.options.program.string(), ", which decodes compressed files"),
         "install larmor and larmor-decode of one build together, or set LARMOR_DECODER=PROGRAM; "
         "LARMOR_DECODER=none decodes in the process that reads, where a file that was made to may do "
         "anything");
  return place;
}

/// Of the whole process: made at its first compressed file, and never destroyed, since threads may decode
/// until its end. Null where the person wants none.
DecoderPool* process_decoders() {
  static DecoderPool* const pool = []() -> DecoderPool* {
    const DecoderPlace place = find_decoder();
    if (place.is_unwanted) return nullptr;
    auto* const made = new DecoderPool(place.options, std::max(1U, std::thread::hardware_concurrency()));
    std::atexit([] { process_decoders()->end_idle(); });
    return made;
  }();
  return pool;
}

}  // namespace

DecoderPool::DecoderPool(DecoderOptions options, std::size_t most)
    : options_(std::move(options)), most_(most) {}

DecoderPool::~DecoderPool() = default;

DecodedForm DecoderPool::decode(const EncodedPixels& encoded, std::span<std::byte> out) {
  return outcome_of([&](DecoderProcess& decoder) { return decoder.decode(encoded, out); }).form;
}

Unpacked DecoderPool::unpack(Packing packing, std::span<const std::byte> packed, std::span<std::byte> out) {
  return outcome_of([&](DecoderProcess& decoder) { return decoder.unpack(packing, packed, out); }).unpacked;
}

DecodeOutcome DecoderPool::outcome_of(const Work& work) {
  DecodeOutcome outcome;
  for (int attempt = 0; attempt < 2; ++attempt) {
    Decoder decoder = take();
    try {
      outcome = work(*decoder);
    } catch (...) {
      give_back(std::move(decoder));
      throw;
    }
    if (outcome.kind == DecodeOutcome::Kind::lost) decoder = nullptr;
    give_back(std::move(decoder));
    if (outcome.kind == DecodeOutcome::Kind::decoded) return outcome;
    if (!outcome.was_killed) break;
  }
  fail(Exit::data, outcome.message, outcome.hint);
}

void DecoderPool::end_idle() {
  std::vector<Decoder> ended;
  const std::lock_guard lock(mutex_);
  ended.swap(idle_);
}

std::vector<pid_t> DecoderPool::idle() const {
  const std::lock_guard lock(mutex_);
  std::vector<pid_t> processes;
  for (const Decoder& decoder : idle_) processes.push_back(decoder->id());
  return processes;
}

/// One that is idle, or a new one.
DecoderPool::Decoder DecoderPool::take() {
  Decoder found;
  {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return taken_ < most_; });
    ++taken_;
    if (!idle_.empty()) {
      found = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (found != nullptr && found->is_running()) return found;
  found = nullptr;
  try {
    return start();
  } catch (...) {
    give_back(nullptr);  // or the threads that wait would do so for ever
    throw;
  }
}

// Processes, memory or descriptors may be short for a moment. Where that lasts, the files to come are told so
// at once.
DecoderPool::Decoder DecoderPool::start() {
  constexpr int attempts = 6;
  std::chrono::milliseconds pause(20);
  for (int left = cannot_start_ ? 1 : attempts;; --left, pause *= 2) {
    try {
      auto decoder = std::make_unique<DecoderProcess>(options_);
      cannot_start_ = false;
      return decoder;
    } catch (const Error& error) {
      if (left > 1) {
        std::this_thread::sleep_for(pause);
        continue;
      }
      cannot_start_ = true;
      fail(Exit::data, text("its compressed data have no decoder: ", error.message()), error.hint());
    }
  }
}

void DecoderPool::give_back(Decoder decoder) {
  {
    const std::lock_guard lock(mutex_);
    --taken_;
    if (decoder != nullptr) idle_.push_back(std::move(decoder));
  }
  freed_.notify_one();
}

DecodedForm decode_apart(const EncodedPixels& encoded, std::span<std::byte> out) {
  DecoderPool* const pool = process_decoders();
  return pool != nullptr ? pool->decode(encoded, out) : decode_frames(encoded, out);
}

Unpacked unpack_apart(Packing packing, std::span<const std::byte> packed, std::span<std::byte> out) {
  DecoderPool* const pool = process_decoders();
  return pool != nullptr ? pool->unpack(packing, packed, out) : unpack_here(packing, packed, out);
}

std::string describe_decoder() {
  const DecoderPlace place = find_decoder();
  if (place.is_unwanted)
    return "compressed files are decoded in the reading process, as LARMOR_DECODER=none asks";
  const DecoderProcess decoder(place.options);
  return text(
      "compressed files are decoded by ", place.options.program.string(), ", confined by ",
      decoder.is_confined() ? decoder.confinement() : "limits alone, as LARMOR_DECODER=unconfined allows");
}

}  // namespace larmor

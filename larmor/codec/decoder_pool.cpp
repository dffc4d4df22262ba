#include "larmor/codec/decoder_pool.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/process.h"
#include "larmor/base/text.h"
#include "larmor/codec/frame_decoder.h"

namespace larmor {

namespace {

namespace fs = std::filesystem;

struct DecoderPlace {
  fs::path program;  // empty: none
  bool is_unwanted = false;
};

DecoderPlace find_decoder() {
  if (const char* named = std::getenv("LARMOR_DECODER"); named != nullptr && *named != '\0') {
    if (std::string_view(named) == "none") return {.program = {}, .is_unwanted = true};
    return {.program = named, .is_unwanted = false};
  }
  const fs::path beside = own_program().parent_path() / "larmor-decode";
  std::error_code absent;
  return {.program = fs::is_regular_file(beside, absent) ? beside : fs::path(), .is_unwanted = false};
}

/// The warning of a process that decodes by itself.
std::string warning_of_decoding_here(const std::string& reason) {
  return text(
      "compressed DICOM pixels are decoded in this process, and a file that crashes the decoder ends it: ",
      reason);
}

/// Of the whole process: made at its first compressed file, and never destroyed, since threads may decode
/// until its end. Null where there is no program to start.
DecoderPool* process_decoders() {
  static DecoderPool* const pool = []() -> DecoderPool* {
    const DecoderPlace place = find_decoder();
    if (place.program.empty()) {
      if (!place.is_unwanted) {
        log::warning(warning_of_decoding_here(text("there is no larmor-decode beside ",
                                                   own_program().string(), "; LARMOR_DECODER can name one")));
      }
      return nullptr;
    }
    std::atexit([] { process_decoders()->end_idle(); });
    return new DecoderPool({.program = place.program, .arguments = {}},
                           std::max(1U, std::thread::hardware_concurrency()));
  }();
  return pool;
}

}  // namespace

DecoderPool::DecoderPool(DecoderOptions options, std::size_t most)
    : options_(std::move(options)), most_(most) {}

DecoderPool::~DecoderPool() = default;

DecodedForm DecoderPool::decode(const EncodedPixels& encoded, std::span<std::byte> out) {
  DecodeOutcome outcome;
  for (int attempt = 0; attempt < 2; ++attempt) {
    Decoder decoder = take();
    if (decoder == nullptr) return decode_frames(encoded, out);
    try {
      outcome = decoder->decode(encoded, out);
    } catch (...) {
      give_back(std::move(decoder));
      throw;
    }
    if (outcome.kind == DecodeOutcome::Kind::lost) decoder = nullptr;
    give_back(std::move(decoder));
    if (outcome.kind == DecodeOutcome::Kind::decoded) return outcome.form;
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

/// One that is idle, or a new one; null when none can be started.
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
    if (found == nullptr && cannot_start_) {
      --taken_;
      return nullptr;
    }
  }
  if (found != nullptr && found->is_running()) return found;
  found = nullptr;
  try {
    return std::make_unique<DecoderProcess>(options_);
  } catch (const Error& error) {
    say_once(error.message());
    give_back(nullptr);
    return nullptr;
  } catch (...) {
    give_back(nullptr);  // or the threads that wait would do so for ever
    throw;
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

void DecoderPool::say_once(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(cannot_start_, true)) return;
  log::warning(warning_of_decoding_here(reason));
}

DecodedForm decode_apart(const EncodedPixels& encoded, std::span<std::byte> out) {
  DecoderPool* const pool = process_decoders();
  return pool != nullptr ? pool->decode(encoded, out) : decode_frames(encoded, out);
}

std::string describe_decoder() {
  const DecoderPlace place = find_decoder();
  if (place.is_unwanted)
    return "compressed DICOM is decoded in the reading process, as LARMOR_DECODER=none asks";
  if (place.program.empty())
    return "no larmor-decode beside this program: compressed DICOM is decoded in the reading process";
  const DecoderProcess decoder({.program = place.program, .arguments = {}});
  const DecodeGreeting& greeting = decoder.greeting();
  std::string means = greeting.has_seccomp != 0 ? "seccomp" : "";
  if (greeting.landlock_version > 0) {
    means += text(means.empty() ? "" : " and ", "Landlock ", greeting.landlock_version);
  }
  return text("compressed DICOM is decoded by ", place.program.string(), ", confined by ",
              means.empty() ? "limits alone: this kernel has neither seccomp nor Landlock" : means);
}

}  // namespace larmor

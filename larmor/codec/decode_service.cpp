#include "larmor/codec/decode_service.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <optional>
#include <utility>

#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/printable.h"
#include "larmor/base/process/descriptor.h"
#include "larmor/codec/decode_message.h"
#include "larmor/codec/frame_decoder.h"
#include "larmor/codec/sandbox.h"
#include "larmor/codec/shared_memory.h"
#include "larmor/codec/unpacking.h"

namespace larmor {

namespace {

using Status = DecodeReply::Status;

/// Bytes of addresses taken so far.
uint64_t own_address_space() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0;
  file >> pages;
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

bool limit(int resource, rlim_t most) {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) return false;
  now.rlim_cur = now.rlim_max = std::min(now.rlim_max, most);
  return ::setrlimit(static_cast<__rlimit_resource>(resource), &now) == 0;
}

/// No core file holds patients' pixels, and no file can be written or opened beyond a few.
bool limit_files() { return limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0) && limit(RLIMIT_NOFILE, 16); }

EncodedPixels to_encoded(const DecodeRequest& request, std::span<const std::byte> memory) {
  EncodedPixels encoded{.transfer_syntax = text_in(request.transfer_syntax),
                        .photometric = text_in(request.photometric),
                        .rows = request.rows,
                        .columns = request.columns,
                        .frames = request.frames,
                        .samples = request.samples,
                        .bits_allocated = request.bits_allocated,
                        .bits_stored = request.bits_stored,
                        .high_bit = request.high_bit,
                        .is_signed = request.is_signed != 0,
                        .by_plane = request.by_plane != 0,
                        .fragments = {}};
  std::size_t at = request.fragments * sizeof(uint64_t);
  for (std::size_t i = 0; i < request.fragments; ++i) {
    uint64_t length = 0;
    std::memcpy(&length, memory.data() + i * sizeof length, sizeof length);
    encoded.fragments.push_back(memory.subspan(at, length));
    at += length;
  }
  return encoded;
}

void decode(const DecodeRequest& request, std::span<std::byte> memory, DecodeReply& reply) {
  const EncodedPixels encoded = to_encoded(request, memory);
  const auto out = memory.subspan(request.output_begin, request.output_bytes);
  if (request.packing != 0) {
    reply.unpacked = unpack_here(static_cast<Packing>(request.packing), encoded.fragments.front(), out);
    return;
  }
  const DecodedForm form = decode_frames(encoded, out);
  reply.by_plane = form.by_plane ? 1 : 0;
  put_text(reply.photometric, form.photometric);
}

/// `memory` is that of the requests before.
DecodeReply answer(const DecodeRequest& request, Descriptor shared, std::optional<SharedMemory>& memory) {
  DecodeReply reply;
  try {
    if (shared.is_open()) {
      memory.reset();
      memory.emplace(SharedMemory::map(std::move(shared), request.memory_bytes));
      memory->close_descriptor();
    }
    decode(request, memory->view(), reply);
  } catch (const Error& error) {
    reply.status = error.exit() == Exit::data ? Status::refused : Status::out_of_memory;
    put_text(reply.message, error.message());
    put_text(reply.hint, error.hint());
  } catch (const std::bad_alloc&) {
    reply.status = Status::out_of_memory;
  } catch (const std::exception& error) {
    reply.status = Status::refused;
    put_text(reply.message, error.what());
  }
  return reply;
}

}  // namespace

int serve_decoding(int socket) {
  if (!limit_files()) return 1;
  item("");  // it draws its mark, and Errors need that, while the system can still be asked for chance
  DecodeGreeting greeting{.address_space = own_address_space()};
  const Sandbox sandbox = enter_sandbox();
  greeting.has_seccomp = sandbox.has_seccomp ? 1 : 0;
  greeting.landlock_version = sandbox.landlock_version;
  if (!send_packet(socket, as_packet(std::as_const(greeting)))) return 1;
  std::optional<SharedMemory> memory;
  while (true) {
    DecodeRequest request;
    Descriptor shared;
    if (!receive_packet(socket, as_packet(request), &shared)) return 0;
    DecodeReply reply;
    const bool has_memory = shared.is_open() || (memory && memory->view().size() == request.memory_bytes);
    if (request.protocol != decode_protocol || !has_memory ||
        request.packing > static_cast<uint32_t>(last_packing) ||
        (request.packing != 0 && request.fragments != 1))
      reply.status = Status::other_protocol;
    else
      reply = answer(request, std::move(shared), memory);
    if (memory && !is_kept(memory->view().size())) memory.reset();
    if (!send_packet(socket, as_packet(std::as_const(reply)))) return 0;
  }
}

}  // namespace larmor

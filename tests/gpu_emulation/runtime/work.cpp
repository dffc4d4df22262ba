// Works on streams: what each comes after, and which bytes it touches.
#include <utility>

#include "tests/gpu_emulation/runtime/capture.h"
#include "tests/gpu_emulation/runtime/fault.h"
#include "tests/gpu_emulation/runtime/process.h"

namespace emulated {
namespace {

/// The next moment of a stream, and the clock that it comes after. Requires: the process is locked.
Moment next_moment(Stream& stream, const char* what) {
  stream.clock.merge(process().host);
  stream.clock.set(stream.number, ++stream.count);
  return {stream.number, stream.count, what};
}

/// Works of a capture change bytes until it ends, which a card's do not.
void check_captures(const Process& all, const Moment& moment, const Access& access) {
  for (const auto& capture : all.captures) {
    if (!capture->has_changed(access.pointer, access.bytes)) continue;
    report_disorder(std::string(moment.what) + " on stream " + std::to_string(moment.stream) + " touches " +
                    std::to_string(access.bytes) + " bytes of which a capture of stream " +
                    std::to_string(capture->stream()) +
                    ", which has not ended, records that they are written");
  }
}

void note(const Moment& moment, const Clock& clock, const Access& access) {
  if (access.bytes == 0 || !is_device_address(access.pointer)) return;
  auto& all = process();
  const std::lock_guard lock(all.mutex);
  check_captures(all, moment, access);
  const auto begin = reinterpret_cast<uintptr_t>(access.pointer);
  const auto problem = all.order.note(begin, access.bytes, access.writes, moment, clock);
  if (problem) report_disorder(*problem);
}

/// A kernel may fail; who asks for anything afterwards is told so. Requires: the process is locked.
void strike(Device& device) {
  if (strikes(Fault::error, device.card.number)) device.failure = cudaErrorIllegalAddress;
  if (strikes(Fault::gone, device.card.number)) device.failure = cudaErrorUnknown;
}

}  // namespace

Work::Work(cudaStream_t stream, const char* what) {
  wait_for(pending_of(stream));
  note_call(/*is_wait=*/false);
  const std::lock_guard lock(process().mutex);
  Stream& own = stream_of(stream);
  capture_ = own.capture;
  if (is_captured()) {
    capture_->join();
    return;
  }
  if (!is_launching()) ++counters().kernels;
  strike(process().devices[static_cast<size_t>(own.device)]);
  moment_ = next_moment(own, what);
  own.last_work = moment_.count;
  clock_ = own.clock;
}

void Work::touch(const void* pointer, size_t bytes, bool writes) {
  if (!is_captured()) return note(moment_, clock_, {pointer, bytes, writes});
  if (bytes == 0 || !is_device_address(pointer)) return;
  accesses_.push_back({pointer, bytes, writes});
  if (writes) capture_->save(pointer, bytes);
}

void Work::record(std::function<void(cudaStream_t)> run) {
  capture_->add({std::move(run), std::move(accesses_)});
}

bool& is_launching() {
  thread_local bool launching = false;
  return launching;
}

Ticket issue(cudaStream_t handle, const char* what, const std::vector<Access>& accesses) {
  ++counters().collectives;
  const std::lock_guard lock(process().mutex);
  Stream& stream = stream_of(handle);
  Ticket ticket{stream.pending, std::make_shared<Completion>()};
  const Moment moment = next_moment(stream, what);
  for (const Access& access : accesses) note(moment, stream.clock, access);
  stream.pending = {ticket.done};
  return ticket;
}

CollectiveFault fault_of_collective() {
  const std::lock_guard lock(process().mutex);
  const unsigned card = process().devices.at(static_cast<size_t>(current_device())).card.number;
  return {.fails = strikes(Fault::collective, card),
          .kills = strikes(Fault::killed, card),
          .sticks = strikes(Fault::stuck, card)};
}

void settle(cudaStream_t stream) { wait_for(pending_of(stream)); }

}  // namespace emulated

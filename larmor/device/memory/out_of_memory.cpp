#include "larmor/device/memory/out_of_memory.h"

#include <new>
#include <string>
#include <string_view>

#include <c10/util/Exception.h>

#include "larmor/device/cuda/cuda.h"

namespace larmor {

bool is_out_of_memory(const std::exception_ptr& failure) {
  if (!failure) return false;
  try {
    std::rethrow_exception(failure);
  } catch (const c10::OutOfMemoryError&) {
    return true;
  } catch (const std::bad_alloc&) {
    return true;
  } catch (const c10::Error& error) {
    // The host's allocator has no type of its own for it.
    const std::string words = error.what_without_backtrace();
    return words.find("DefaultCPUAllocator: can't allocate memory") != std::string::npos ||
           words.find("DefaultCPUAllocator: not enough memory") != std::string::npos;
  } catch (...) {
    return false;
  }
}

std::string describe_out_of_memory(const std::exception_ptr& failure) {
  constexpr std::string_view advice = " If reserved but unallocated memory is large";
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    const std::string_view words(error.what());
    const auto line = words.substr(0, words.find('\n'));
    return std::string(line.substr(0, line.find(advice)));
  }
}

void release_cached_memory(c10::Device device) {
  if (device.is_cuda()) cuda::release_cached_memory();
}

}  // namespace larmor

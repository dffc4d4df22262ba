#include "larmor/launch/rank_lost.h"

#include "larmor/base/error.h"

namespace larmor {

bool is_rank_lost(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.exit() == Exit::rank_lost;
  } catch (...) {
    return false;
  }
}

}  // namespace larmor

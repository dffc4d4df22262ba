// Options that are refused before a network builds its members from them.
#pragma once

namespace larmor::nn {

/// The options, unless their check() throws.
template <class Options>
const Options& checked(const Options& options) {
  options.check();
  return options;
}

}  // namespace larmor::nn

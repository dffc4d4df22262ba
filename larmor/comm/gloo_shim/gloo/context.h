// Stands in for a Gloo header; see gloo/algorithm.h.
#pragma once

#include <chrono>
#include <memory>

namespace gloo {

class Context {
 public:
  virtual ~Context();
  void setTimeout(std::chrono::milliseconds timeout);
  void closeConnections();
};

}  // namespace gloo

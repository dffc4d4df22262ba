// The layout in which this thread's networks compute: kernels/convolution/conv3d.h brings volumes into it,
// and the operators between two convolutions keep what they get.
#pragma once

#include "larmor/plan/kinds.h"

namespace larmor {

/// Layout::contiguous outside every scope.
Layout layout_here();

/// Sets layout_here() until the scope ends.
class LayoutScope {
 public:
  explicit LayoutScope(Layout layout);
  ~LayoutScope();
  LayoutScope(const LayoutScope&) = delete;
  LayoutScope& operator=(const LayoutScope&) = delete;

 private:
  Layout outer_;
};

}  // namespace larmor

#include "larmor/device/layout.h"

#include <utility>

namespace larmor {
namespace {

thread_local Layout layout_of_thread = Layout::contiguous;

}  // namespace

Layout layout_here() { return layout_of_thread; }

LayoutScope::LayoutScope(Layout layout) : outer_(std::exchange(layout_of_thread, layout)) {}

LayoutScope::~LayoutScope() { layout_of_thread = outer_; }

}  // namespace larmor

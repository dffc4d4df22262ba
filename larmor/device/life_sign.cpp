#include "larmor/device/life_sign.h"

#include <utility>

namespace larmor {
namespace {

thread_local LifeSign* shown_sign = nullptr;

}  // namespace

LifeSign* life_sign() { return shown_sign; }

void show_life() {
  if (shown_sign != nullptr) shown_sign->show();
}

LifeSignScope::LifeSignScope(LifeSign* sign) : outer_(std::exchange(shown_sign, sign)) {}

LifeSignScope::~LifeSignScope() { shown_sign = outer_; }

}  // namespace larmor

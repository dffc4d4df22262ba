// The door through which work that takes long shows that it goes on. Whoever watches a rank opens it; blocks
// of networks, windows of an inference and pieces of a file that find it closed show nothing.
#pragma once

namespace larmor {

class LifeSign {
 public:
  virtual ~LifeSign() = default;
  /// Something has been achieved: it is taken as proof that nothing hangs. Thread-safe, since backward may
  /// run on any thread.
  virtual void show() = 0;
};

/// This thread's; null where nobody watches. What runs on another thread captures it in forward.
LifeSign* life_sign();
/// Shows it, where somebody watches.
void show_life();

/// Opens this thread's door to `sign`, or closes it with null, until the end of life. Borrows.
class LifeSignScope {
 public:
  explicit LifeSignScope(LifeSign* sign);
  ~LifeSignScope();
  LifeSignScope(const LifeSignScope&) = delete;
  LifeSignScope& operator=(const LifeSignScope&) = delete;

 private:
  LifeSign* outer_;
};

}  // namespace larmor

// Whoever reaches a port of a run without knowing its key: connections of the test itself, on loopback.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace larmor::testing {

/// A port of loopback that nobody has at this moment.
int free_port();

/// A socket that closes itself.
class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  /// Not open where nobody listens.
  static Socket connected_to(int port);
  bool is_open() const { return descriptor_ >= 0; }
  int number() const { return descriptor_; }
  /// As much as it takes.
  void say(const std::string& words) const;
  /// What comes within so long, or until the other side hangs up; `is_over` says which.
  std::string hear(double seconds, bool* is_over = nullptr) const;

 private:
  int descriptor_;
};

/// Listens at a port of loopback, in a thread, and does that with each who comes.
class StandIn {
 public:
  /// `port` 0: any.
  StandIn(int port, std::function<void(Socket)> receive);
  ~StandIn();
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;
  int port() const { return port_; }

 private:
  Socket listening_;
  int port_ = 0;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

/// Passes everything on to another port, and keeps what was said first on each connection.
class Recorder {
 public:
  explicit Recorder(int port);
  int port() const { return door_.port(); }
  /// The bytes of each connection from who knocked, in their pieces.
  std::vector<std::vector<std::string>> said() const;

 private:
  void pass_on(Socket from);

  int to_;
  mutable std::mutex mutex_;
  std::vector<std::vector<std::string>> said_;
  std::vector<std::jthread> threads_;
  StandIn door_;
};

/// What a crowd did and heard.
struct Crowd {
  size_t connections = 0, refused = 0;
  size_t most_heard = 0;  // bytes on one connection
  std::string all_heard;
};
/// So many connections one after the other, up to a hundred of them open at a time: silent ones, rubbish of
/// all lengths, other protocols, and the recorded words of those who knew the key.
Crowd crowd(int port, size_t connections, const std::vector<std::vector<std::string>>& recorded,
            unsigned seed);

/// Resident memory of a process, in bytes; 0 when it is gone.
size_t memory_of(int process);
/// A variable of a process's environment; "" when it has none.
std::string variable_of(int process, const std::string& name);

}  // namespace larmor::testing

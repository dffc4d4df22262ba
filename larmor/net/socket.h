// Connections between processes: a listener at one address, and a way to it that never blocks for long.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "larmor/base/process/descriptor.h"

namespace larmor {

/// Listens from the moment it is made: no other program can take the port between choosing and using it.
class Listener {
 public:
  /// Listens at that address alone; `port` 0 takes any free one. Throws Error (environment) when the address
  /// is not this host's or the port is taken.
  Listener(const std::string& address, int port);

  int descriptor() const { return socket_.number(); }
  int port() const { return port_; }
  /// The next connection, not open when there is none. Never blocks.
  Descriptor accept();
  /// The listening socket itself; nothing listens on our behalf any more.
  Descriptor take() { return std::move(socket_); }

 private:
  Descriptor socket_;
  int port_ = 0;
};

/// Whether only this host can mean itself by that address or name.
bool is_loopback(const std::string& address);

/// Throws Error (environment) when a program of this host cannot reach another one at that address, which is
/// one of this host's. At once, where loopback is down.
void refuse_unreachable(const std::string& address);

/// The numeric address that a socket has on this side.
std::string own_address(int socket);

/// One attempt to open a connection. Not open on failure, and `reason` says why. Never blocks longer than
/// `limit`, unless a name server does.
Descriptor try_to_connect(const std::string& host, int port, std::chrono::milliseconds limit,
                          std::string& reason);

/// Tries until somebody listens there. Warns after ten seconds. Throws Error (environment) when the limit is
/// over; `who` names us in it: "rank 3".
Descriptor connect_within(const std::string& host, int port, std::chrono::milliseconds limit,
                          const std::string& who);

}  // namespace larmor

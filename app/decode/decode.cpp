// larmor-decode: decodes compressed data for the process that has started it, without files and sockets of
// its own. Apart from larmor, because that takes a quarter of a second to load libtorch.
#include <sys/socket.h>
#include <sys/stat.h>

#include "larmor/base/log.h"
#include "larmor/base/process/program_start.h"
#include "larmor/codec/decode_service.h"

int main() {
  larmor::begin_program();
  constexpr int socket = 3, usage = 2;
  struct stat status{};
  if (::fstat(socket, &status) != 0 || !S_ISSOCK(status.st_mode)) {
    larmor::log::error(
        "larmor-decode is started by larmor when it reads compressed files, and by nobody else");
    return usage;
  }
  return larmor::serve_decoding(socket);
}

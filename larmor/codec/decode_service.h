// The decoder's side: what the program larmor-decode does all its life.
#pragma once

namespace larmor {

/// Limits itself, enters the sandbox, greets, and decodes what comes over `socket`, one request after the
/// other, until the other side closes it or says what is no request. Gives the exit status.
int serve_decoding(int socket);

}  // namespace larmor

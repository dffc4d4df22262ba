#include "larmor/base/process/system_error.h"

#include <cerrno>
#include <string>
#include <system_error>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

std::string hint_for(int code) {
  switch (code) {
    case EDQUOT:
      return "remove files of yours there, ask for a larger quota (quota -s shows it), or write to another "
             "place (run.folder=, --output)";
    case ENOSPC:
      return "free space, or write to another place (run.folder=, --output)";
    case EFBIG:
      return "raise the limit of a file's size (ulimit -f)";
    case EPIPE:
      return "what was to read it has ended: see why, or write to a file";
    case EROFS:
      return "the file system is read-only: write to another place (run.folder=, --output)";
    case EACCES:
    case EPERM:
      return "check the permissions, or write to another place (run.folder=, --output)";
    case ENOENT:
      return "check the path";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    case ENOTDIR:
    case EISDIR:
    case EEXIST:
      return "a file stands where a folder is meant, or the other way round: rename one of them";
    case ELOOP:
      return "a link stands where a file is meant: remove it, or name the file that it leads to";
    case EIO:
    case ESTALE:
      return "the disk or the network file system has failed: see the system's log (dmesg)";
    default:
      return {};
  }
}

}  // namespace

void fail_errno(int code, std::string_view action, const std::filesystem::path& path) {
  const std::string reason = std::generic_category().message(code);
  fail(Exit::environment, text("cannot ", action, ' ', path.string(), ": ", reason), hint_for(code));
}

}  // namespace larmor

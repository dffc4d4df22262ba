// Shows the oracles readers that break each rule, and one that keeps them: a rule that no reader can break
// finds nothing. Each runs in a process of its own; the exit status says whether all was as it should be.
#include <sys/wait.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <unistd.h>

#include "larmor/base/error.h"

#include "tests/fuzz/oracles.h"

namespace {

using larmor::fuzz::Product;

Product sound(std::string_view bytes) {
  if (bytes.size() < 8) larmor::fail(larmor::Exit::data, "cut short \x1b[2J");
  return Product().add(bytes);
}

Product shows_memory(std::string_view) {
  const larmor::Bytes fresh(100);
  return Product().add({reinterpret_cast<const char*>(fresh.data()), fresh.size()});
}

Product takes_all(std::string_view) {
  const std::vector<char> much(std::size_t{600} << 20, 'x');
  return Product().add(std::string_view(much.data(), 10));
}

Product takes_a_part(std::string_view bytes) { return Product().add(bytes); }

Product speaks_to_the_terminal(std::string_view) {
  struct Raw : larmor::Error {
    Raw() : Error(larmor::Exit::data, "") { const_cast<std::string&>(message()) = "\x1b[2J"; }
  };
  throw Raw();
}

Product throws_something_else(std::string_view) { throw std::runtime_error("not an Error"); }

bool ends_badly(larmor::fuzz::Reader read) {
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(2);
    larmor::fuzz::hold(reinterpret_cast<const uint8_t*>("8 bytes."), 8, read);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status != 0;
}

}  // namespace

int main() {
  struct Case {
    const char* name;
    larmor::fuzz::Reader read;
    bool breaks;
  };
  const Case cases[] = {{"a sound reader", sound, false},
                        {"one that shows what memory held", shows_memory, true},
                        {"one that takes 600 MiB", takes_all, true},
                        {"one that reads a part as the whole", takes_a_part, true},
                        {"one whose words hold ESC", speaks_to_the_terminal, true},
                        {"one that throws something else", throws_something_else, true}};
  int wrong = 0;
  for (const auto& [name, read, breaks] : cases) {
    if (ends_badly(read) == breaks) continue;
    std::printf("the oracles %s %s\n", breaks ? "let pass" : "stopped", name);
    ++wrong;
  }
  return wrong;
}

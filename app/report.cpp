#include "app/report.h"

#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/memory/out_of_memory.h"
#include "larmor/launch/rank.h"

#include "app/say.h"

namespace larmor::app {

namespace {

constexpr std::string_view name_mark = "larmor: ", hint_mark = "  hint: ";

// A rank's stderr is its log, which takes no more when the disk is full: then rank 0 says it to the person.
void say_past_the_log(const Lines& words) {
  try {
    const auto rank = find_rank(process_environment());
    if (rank && rank->console_error >= 0) write_to(rank->console_error, words);
  } catch (const Error&) {  // is reported already
  }
}

int report_error(const Error& error) {
  Lines words;
  words.add_text(text(name_mark, error.message()));
  if (!error.hint().empty()) words.add(text(hint_mark, error.hint()));
  if (!say(words)) say_past_the_log(words);
  return static_cast<int>(error.exit());
}

}  // namespace

std::string cause_in(std::string_view log_lines) {
  std::string cause;
  bool is_inside = false;
  for (const auto& line : split(log_lines, '\n')) {
    if (line.starts_with(name_mark)) {
      cause = line.substr(name_mark.size());
      is_inside = true;
    } else if (line.starts_with(hint_mark)) {
      is_inside = false;
    } else if (is_inside && line.starts_with("  ")) {
      cause += text("; ", trim(line));
    } else {
      is_inside = false;
    }
  }
  return cause;
}

int report(const std::exception_ptr& failure) {
  const bool no_memory = is_out_of_memory(failure);
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return report_error(error);
  } catch (const std::exception& error) {
    if (no_memory) {
      return report_error({Exit::memory, text("memory ran out: ", describe_out_of_memory(failure)),
                           "use a smaller train.micro_batch, smaller examples or a smaller model"});
    }
    const char* const hint = "this is a fault of larmor: please report it with the command";
    // Of the system's errors a break is one of the path that they name.
    if (dynamic_cast<const std::system_error*>(&error) != nullptr)
      return report_error({Exit::unexpected, error.what(), hint});
    const auto lines = split(trim(error.what()), '\n');
    return report_error({Exit::unexpected, lines.front() + items(std::span(lines).subspan(1)), hint});
  }
}

}  // namespace larmor::app

// Lines for people and for log files, tagged with the rank. The library prints only through here and
// through track.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace larmor::log {

enum class Level { debug, info, warning, error };

/// Names this process in each line ("launcher", "rank 3"), and opens its file (an empty path: none); lines of
/// `console` level and above also go to stderr. Without a call: everything from info up goes to stderr.
void open(std::string_view who, const std::filesystem::path& file, Level console);
/// Names the calling thread ("rank 1") in its lines, in place of the process.
void name_thread(std::string_view who);
/// The least level that is shown on stderr.
void set_console(Level least);

void write(Level level, std::string_view message);
inline void debug(std::string_view message) { write(Level::debug, message); }
inline void info(std::string_view message) { write(Level::info, message); }
inline void warning(std::string_view message) { write(Level::warning, message); }
inline void error(std::string_view message) { write(Level::error, message); }
void flush();

}  // namespace larmor::log

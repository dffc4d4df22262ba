#include "tests/track/support/collecting.h"

#include <array>
#include <fstream>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include "larmor/base/error.h"

namespace larmor {

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

int count(const std::string& content, const std::string& words) {
  int found = 0;
  for (size_t at = content.find(words); at != std::string::npos; at = content.find(words, at + 1)) ++found;
  return found;
}

FullDisk::FullDisk(std::string operation)
    : storage([this, name = std::move(operation)](const FaultyStorage::Operation& now) {
        if (is_full && now.name == name) fail(Exit::environment, "No space left on device");
      }) {}

Screen::Screen(int columns) {
  std::array<int, 2> ends{};
  if (columns == 0) {
    if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  } else {
    winsize size{
        .ws_row = 24, .ws_col = static_cast<unsigned short>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
    if (openpty(&ends[0], &ends[1], nullptr, nullptr, &size) != 0) throw std::runtime_error("no terminal");
    termios settings{};
    tcgetattr(ends[1], &settings);
    cfmakeraw(&settings);
    tcsetattr(ends[1], TCSANOW, &settings);
  }
  read_end_ = ends[0];
  write_end_ = ends[1];
  fcntl(read_end_, F_SETFL, O_NONBLOCK);
}

Screen::~Screen() {
  close_reader();
  ::close(write_end_);
}

void Screen::close_reader() {
  if (read_end_ >= 0) ::close(std::exchange(read_end_, -1));
}

std::string Screen::take() {
  std::string all;
  std::array<char, 4096> part;
  for (ssize_t got = 0; (got = read(read_end_, part.data(), part.size())) > 0;) {
    all.append(part.data(), static_cast<size_t>(got));
  }
  return all;
}

}  // namespace larmor

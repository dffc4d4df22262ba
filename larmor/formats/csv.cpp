#include "larmor/formats/csv.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

// The separator that the first line has most of.
char find_separator(std::string_view source) {
  const std::string_view first = source.substr(0, source.find('\n'));
  char best = ',';
  for (const char candidate : {';', '\t'}) {
    if (std::count(first.begin(), first.end(), candidate) > std::count(first.begin(), first.end(), best)) {
      best = candidate;
    }
  }
  return best;
}

class Reader {
 public:
  Reader(std::string_view source, std::string_view place, char separator, int64_t line)
      : source_(source), place_(place), separator_(separator), line_(line) {
    const std::string_view first = source.substr(0, source.find('\n'));
    cells_expected_ = static_cast<size_t>(std::count(first.begin(), first.end(), separator_)) + 1;
  }

  bool at_end() const { return at_ == source_.size(); }

  CsvTable::Row read_row() {
    CsvTable::Row row;
    row.line = line_;
    row.cells.reserve(cells_expected_);
    do {
      row.cells.push_back(read_cell());
    } while (skip(separator_));
    skip('\r');
    if (!at_end() && !skip('\n')) refuse(line_, "text behind a closing quote");
    ++line_;
    cells_expected_ = row.cells.size();
    return row;
  }

  [[noreturn]] void refuse(int64_t line, const std::string& what) const {
    fail(Exit::data, text(place_, ':', line, ": ", what));
  }

 private:
  bool skip(char letter) {
    if (at_end() || source_[at_] != letter) return false;
    ++at_;
    return true;
  }

  std::string read_cell() {
    while (skip(' ')) {
    }
    return skip('"') ? read_quoted() : read_plain();
  }

  std::string read_plain() {
    const size_t start = at_;
    while (!at_end() && source_[at_] != separator_ && source_[at_] != '\n') ++at_;
    return std::string(trim(source_.substr(start, at_ - start)));
  }

  // A quote within quotes is written twice.
  std::string read_quoted() {
    const int64_t opened = line_;
    std::string cell;
    for (;;) {
      if (at_end()) refuse(opened, "a quote is opened here and never closed");
      const char letter = source_[at_++];
      if (letter == '"' && !skip('"')) break;
      if (letter == '\n') ++line_;
      cell.push_back(letter);
    }
    while (skip(' ')) {
    }
    return cell;
  }

  std::string_view source_, place_;
  char separator_;
  size_t at_ = 0, cells_expected_;
  int64_t line_;
};

// A file without line ends or with one quote too many makes a name of megabytes.
std::string shortened(const std::string& name) {
  constexpr size_t most = 64;
  if (name.size() <= most) return name;
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80)
    --end;  // within a letter of UTF-8
  return name.substr(0, end) + "...";
}

bool is_blank(const CsvTable::Row& row) {
  return std::all_of(row.cells.begin(), row.cells.end(), [](const auto& cell) { return cell.empty(); });
}

/// Programs for tables write their separator into a first line of its own: sep=;
char said_separator(std::string_view source) {
  const std::string_view first = trim(source.substr(0, source.find('\n')));
  return first.size() == 5 && lower(first.substr(0, 4)) == "sep=" ? first[4] : char{0};
}

void refuse_other_encodings(std::string_view source, std::string_view place) {
  constexpr size_t looked_at = 256;
  const bool is_workbook = source.starts_with("PK\x03\x04") || source.starts_with("\xd0\xcf\x11\xe0");
  if (is_workbook)
    fail(Exit::data, text(place, ": is a workbook of Excel, not CSV"),
         "save it as CSV UTF-8 (comma delimited)");
  const bool is_wide = source.starts_with("\xff\xfe") || source.starts_with("\xfe\xff") ||
                       source.substr(0, looked_at).find('\0') != std::string_view::npos;
  if (is_wide)
    fail(Exit::data, text(place, ": is written in UTF-16, or is no text"),
         text("save it as CSV UTF-8: iconv -f UTF-16 -t UTF-8 ", place, " > OTHER.csv"));
}

}  // namespace

int64_t CsvTable::find(std::string_view column) const {
  const auto found = std::find(columns.begin(), columns.end(), column);
  return found == columns.end() ? -1 : found - columns.begin();
}

std::string CsvTable::listed() const {
  constexpr size_t most = 20;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(most, columns.size()); ++i) names.push_back(shortened(columns[i]));
  if (columns.size() > most) names.push_back(text("and ", columns.size() - most, " more"));
  return join(names, ", ");
}

CsvTable parse_csv(std::string_view source, std::string_view place) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (source.starts_with(byte_order_mark)) source.remove_prefix(byte_order_mark.size());
  refuse_other_encodings(source, place);
  const char said = said_separator(source);
  if (said != 0) source.remove_prefix(std::min(source.find('\n') + 1, source.size()));
  Reader reader(source, place, said != 0 ? said : find_separator(source), said != 0 ? 2 : 1);
  CsvTable table;
  table.rows.reserve(static_cast<size_t>(std::count(source.begin(), source.end(), '\n')));
  while (!reader.at_end()) {
    CsvTable::Row row = reader.read_row();
    if (is_blank(row)) continue;
    if (!table.columns.empty()) {
      if (row.cells.size() != table.columns.size()) {
        reader.refuse(row.line, text(row.cells.size(), " cells, but there are ", table.columns.size(),
                                     " columns: ", table.listed()));
      }
      table.rows.push_back(std::move(row));
      continue;
    }
    std::vector<std::string_view> names;
    names.reserve(row.cells.size());
    for (const std::string& name : row.cells) {
      if (!name.empty()) names.push_back(name);  // a column without a name is a table program's row number
    }
    std::sort(names.begin(), names.end());
    const auto doubled = std::adjacent_find(names.begin(), names.end());
    if (doubled != names.end())
      reader.refuse(row.line, text("the column ", shortened(std::string(*doubled)), " is there twice"));
    table.columns = std::move(row.cells);
  }
  if (table.columns.empty()) reader.refuse(1, "the first line should name the columns, but there is none");
  return table;
}

std::string csv_cell(const std::string& word) {
  if (word.find_first_of(",\"\n\r") == std::string::npos) return word;
  std::string quoted = "\"";
  for (const char letter : word) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + "\"";
}

std::string csv_words(const std::string& words) {
  if (words.empty() || std::string_view("=+-@\t\r").find(words.front()) == std::string_view::npos)
    return csv_cell(words);
  double number = 0;
  const auto read = std::from_chars(words.data(), words.data() + words.size(), number);
  const bool is_number = read.ec == std::errc() && read.ptr == words.data() + words.size();
  return csv_cell(is_number ? words : "'" + words);
}

}  // namespace larmor

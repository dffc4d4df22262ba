// A table of generated questions: writing it, opening it, what it takes of memory that no file backs, rows in
// the order of an epoch, and the step from one epoch to the next. row_table FOLDER [ROWS [READS]]; prints
// JSON.
#include "larmor/data/table/row_table.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/base/keyed_permutation.h"
#include "larmor/base/seed.h"
#include "larmor/base/text.h"
#include "larmor/data/table/table_writer.h"

namespace {

using namespace larmor;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Kilobytes of this process that no file backs.
int64_t anonymous_kib() {
  std::ifstream lines("/proc/self/smaps_rollup");
  for (std::string word; lines >> word;) {
    if (word != "Anonymous:") continue;
    int64_t kib = 0;
    lines >> kib;
    return kib;
  }
  return -1;
}

void write_table(Storage& storage, const std::filesystem::path& folder, int64_t rows) {
  TableBuild build(storage, folder, "questions",
                   {{"study", ColumnType::int32},
                    {"type", ColumnType::int8},
                    {"answer", ColumnType::int8},
                    {"grade", ColumnType::int8},
                    {"question", ColumnType::text},
                    {"objects", ColumnType::text}});
  constexpr int64_t rows_of_part = 1'000'000;
  std::vector<std::string> parts;
  for (int64_t first = 0; first < rows; first += rows_of_part) {
    parts.push_back(text("p", first / rows_of_part));
    TableWriter writer = build.begin(parts.back());
    for (int64_t row = first; row < std::min(first + rows_of_part, rows); ++row) {
      const auto drawn = philox(make_key(1, 0, static_cast<uint64_t>(row), "bench"), 0);
      writer.set(0, row / 180);
      writer.set(1, static_cast<int64_t>(drawn[0] % 26));
      writer.set(2, static_cast<int64_t>(drawn[1] % 14));
      writer.set(3, static_cast<int64_t>(drawn[2] % 6));
      writer.set(
          4, text("Is there ", drawn[3] % 300, " in the region ", drawn[0] % 900, " of this radiograph?"));
      writer.set(5, text("boxes of study ", row / 180, " and what lies in them"));
      writer.end_row();
    }
    build.finish(parts.back(), "generated", writer, Json());
  }
  build.finish(parts);
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::cerr << "row_table FOLDER [ROWS [READS]]\n";
    return 2;
  }
  const std::filesystem::path folder = words[1];
  const int64_t rows = count > 2 ? std::stoll(words[2]) : 10'000'000;
  const int64_t reads = count > 3 ? std::stoll(words[3]) : 3'000'000;
  DiskStorage storage;
  Json result = {{"rows", rows}};
  double began = seconds();
  write_table(storage, folder, rows);
  result["write_seconds"] = seconds() - began;

  const int64_t before = anonymous_kib();
  began = seconds();
  const RowTable table(folder / "questions.json");
  result["open_seconds"] = seconds() - began;
  const KeyedPermutation order(1, 0, rows);
  uint64_t sum = 0;
  const auto read = [&] {
    began = seconds();
    for (int64_t place = 0; place < reads; ++place) {
      const TableRow row = table.row(order.at(place % rows));
      for (std::size_t column = 0; column < 4; ++column) sum += static_cast<uint64_t>(row.integer(column));
      for (std::size_t column = 4; column < 6; ++column)
        sum += static_cast<unsigned char>(row.text(column).back());
    }
    return static_cast<double>(reads) / (seconds() - began);
  };
  result["rows_per_second_first"] = read();
  result["rows_per_second_again"] = read();
  result["anonymous_mib_of_table"] = static_cast<double>(anonymous_kib() - before) / 1024;

  constexpr int64_t published = 31'230'906;
  began = seconds();
  for (uint64_t epoch = 0; epoch < 1000; ++epoch)
    sum += static_cast<uint64_t>(KeyedPermutation(1, epoch, published).at(0));
  result["epoch_border_seconds"] = (seconds() - began) / 1000;
  result["sum"] = sum;
  std::cout << result.dump(1) << "\n";
  return 0;
}

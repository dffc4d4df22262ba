// Texts as a loop of one's own reads them: lines of a file become rows of a table, tokenised, and are read
// back in the order of an epoch, however many there are.
//   own_text VOCABULARY TEXTS     vocab.txt or tokenizer.json; a file with a text a line
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "larmor/larmor.h"

namespace {

using namespace larmor;

// One part of one column each for the words and for how many tokens they are.
IndexedTable write_table(const WordPiece& tokenizer, const std::string& texts,
                         const std::filesystem::path& folder) {
  DiskStorage storage;
  TableBuild build(storage, folder, "texts", {{"text", ColumnType::text}, {"tokens", ColumnType::int32}});
  TableWriter writer = build.begin("all");
  std::ifstream lines(texts);
  for (std::string line; std::getline(lines, line);) {
    writer.set(0, std::string_view(line));
    writer.set(1, static_cast<int64_t>(tokenizer.encode(line).size()));
    writer.end_row();
  }
  build.finish("all", /*stamp=*/texts, writer, Json());
  return build.finish({"all"});
}

void read_an_epoch(const RowTable& table, const WordPiece& tokenizer) {
  constexpr std::size_t longest = 32;
  std::vector<int64_t> ids(longest);
  int64_t tokens = 0, cut = 0;
  const KeyedPermutation order(/*seed=*/1, /*epoch=*/0, table.rows());
  for (int64_t place = 0; place < table.rows(); ++place) {
    const TableRow row = table.row(order.at(place));
    tokens += static_cast<int64_t>(tokenizer.encode(row.text(0), std::span(ids)));
    cut += row.integer(1) > static_cast<int64_t>(longest) ? 1 : 0;
  }
  std::cout << table.rows() << " texts, " << tokens << " tokens, " << cut << " cut to " << longest << "\n";
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::cerr << "own_text VOCABULARY TEXTS\n";
    return 2;
  }
  try {
    const WordPiece tokenizer = read_tokenizer(words[1]);
    const IndexedTable made = write_table(tokenizer, words[2], "own_text_table");
    read_an_epoch(RowTable(made.file), tokenizer);
    return 0;
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return static_cast<int>(error.exit());
  }
}

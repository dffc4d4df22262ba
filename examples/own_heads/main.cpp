// Questions of several kinds learn from a table of one's own: each kind has a head, and all heads stand
// behind the mean of a question's words. Put a network of your own in the place of that mean.
//   own_heads VOCABULARY QUESTIONS     vocab.txt or tokenizer.json; lines KIND,ANSWER,TEXT, answers from 0 on
#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <larmor/larmor.h>
#include <torch/nn.h>
#include <torch/optim.h>

using namespace larmor;

constexpr int64_t width = 32, hidden = 64, longest = 16, batch = 8;
constexpr uint64_t epochs = 60;

/// The rows of the table: kind, answer, text. Its kinds become the heads, in the order in which they are met.
IndexedTable write_table(const std::string& questions, std::vector<nn::AnswerHead>& heads) {
  DiskStorage storage;
  TableBuild build(storage, "own_heads_table", "questions",
                   {{"kind", ColumnType::int32}, {"answer", ColumnType::int32}, {"text", ColumnType::text}});
  TableWriter writer = build.begin("all");
  std::ifstream lines(questions);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(','), second = line.find(',', first + 1);
    if (second == std::string::npos) fail(Exit::data, "a line is not KIND,ANSWER,TEXT: " + line, "mend it");
    const std::string kind = line.substr(0, first);
    const int64_t answer = std::stoll(line.substr(first + 1, second - first - 1));
    auto head = std::ranges::find(heads, kind, &nn::AnswerHead::name);
    if (head == heads.end()) head = heads.insert(head, {.name = kind, .hidden = hidden, .classes = 1});
    head->classes = std::max(head->classes, answer + 1);
    writer.set(0, head - heads.begin());
    writer.set(1, answer);
    writer.set(2, std::string_view(line).substr(second + 1));
    writer.end_row();
  }
  build.finish("all", /*stamp=*/questions, writer, Json());
  return build.finish({"all"});
}

void learn(const RowTable& table, const WordPiece& tokenizer, const std::vector<nn::AnswerHead>& kinds) {
  torch::manual_seed(1);
  torch::nn::Embedding embedding(tokenizer.size(), width);
  const nn::AnswerHeads heads(width, kinds, /*drop=*/0);
  std::vector<torch::Tensor> weights = heads.parameters();
  weights.push_back(embedding->weight);
  torch::optim::AdamW optimizer(weights, torch::optim::AdamWOptions(1e-2));
  std::vector<int64_t> right(kinds.size()), asked(kinds.size());
  for (uint64_t epoch = 0; epoch <= epochs; ++epoch) {  // the last one is judged
    const KeyedPermutation order(/*seed=*/1, epoch, table.rows());
    for (int64_t first = 0; first < table.rows(); first += batch) {
      const int64_t rows = std::min(batch, table.rows() - first);
      const auto ids = torch::zeros({rows, longest}, torch::kLong);
      auto kind = torch::empty(rows, torch::kLong), answer = torch::empty(rows, torch::kLong);
      for (int64_t i = 0; i < rows; ++i) {
        const TableRow row = table.row(order.at(first + i));
        tokenizer.encode(row.text(2), std::span(ids[i].data_ptr<int64_t>(), longest));
        kind[i] = row.integer(0);
        answer[i] = row.integer(1);
      }
      const torch::Tensor seen = (ids != 0).unsqueeze(-1).to(torch::kFloat);
      const auto logits = heads.forward((embedding(ids) * seen).sum(1) / seen.sum(1));
      const auto answers = nn::routed_answers(kind, answer, static_cast<int64_t>(kinds.size()));
      const torch::Tensor counts =
          nn::counts_of_answers(answers);  // of all parts of a step, where it has several
      torch::Tensor loss = torch::zeros({});
      for (std::size_t i = 0; i < kinds.size(); ++i) {
        const torch::Tensor of_head = counts[static_cast<int64_t>(i)];
        loss = loss + nn::summed_cross_entropy(logits[i], answers[i]) / of_head.clamp_min(1);
        if (epoch < epochs) continue;
        right[i] += (logits[i].argmax(1) == answers[i]).sum().item<int64_t>();
        asked[i] += of_head.to(torch::kLong).item<int64_t>();
      }
      if (epoch == epochs) continue;
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
    }
  }
  for (std::size_t i = 0; i < kinds.size(); ++i)
    std::cout << kinds[i].name << ": " << right[i] << " of " << asked[i] << " right\n";
}

int main(int count, char** words) {
  try {
    if (count != 3) fail(Exit::usage, "own_heads VOCABULARY QUESTIONS");
    std::vector<nn::AnswerHead> heads;
    const WordPiece tokenizer = read_tokenizer(words[1]);
    const IndexedTable made = write_table(words[2], heads);
    learn(RowTable(made.file), tokenizer, heads);
    return 0;
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return static_cast<int>(error.exit());
  }
}

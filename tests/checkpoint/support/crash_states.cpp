// Which of the states that a crash may leave are looked at.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "larmor/base/hash.h"

#include "tests/checkpoint/support/crash_model.h"

namespace larmor::testing {

namespace {

constexpr char old_byte = '\xaa';  // what lay on the disk before

// All subsets of `count` changes, or at most `limit` of them: none, all, each alone, all but each, and random
// ones.
std::vector<std::vector<bool>> subsets_of(size_t count, size_t limit, std::mt19937_64& random) {
  std::vector<std::vector<bool>> subsets;
  constexpr size_t most_bits = 20;
  if (count <= most_bits && (size_t{1} << count) <= limit) {
    for (size_t bits = 0; bits < (size_t{1} << count); ++bits) {
      std::vector<bool> kept(count);
      for (size_t i = 0; i < count; ++i) kept[i] = ((bits >> i) & 1U) != 0;
      subsets.push_back(std::move(kept));
    }
    return subsets;
  }
  subsets = {std::vector<bool>(count, false), std::vector<bool>(count, true)};
  for (size_t i = 0; i < count; ++i) {
    for (const bool alone : {true, false}) {
      std::vector<bool> kept(count, !alone);
      kept[i] = alone;
      subsets.push_back(std::move(kept));
    }
  }
  while (subsets.size() < limit) {
    std::vector<bool> kept(count);
    const uint64_t density = random() % 7 + 1;  // eighths
    for (size_t i = 0; i < count; ++i) kept[i] = random() % 8 < density;
    subsets.push_back(std::move(kept));
  }
  return subsets;
}

// Walks the states of one moment.
class Moment {
 public:
  Moment(const CrashModel& model, const CrashSearch& search, std::mt19937_64& random)
      : model_(model), random_(random), files_(model.unsynced_files()) {
    subsets_ = subsets_of(model.pending_changes(), search.subsets, random);
    for (const auto& file : files_) {
      auto contents = torn_contents(file.durable, file.cached, std::min<size_t>(search.torn / 4, 64), random);
      std::shuffle(contents.begin() + 2, contents.end(), random);
      contents.resize(std::min(contents.size(), search.torn + 2));
      contents_.push_back(std::move(contents));
    }
  }

  // False when `visit` has seen enough.
  bool visit(const std::function<bool(FileTree)>& visit) {
    for (const auto& kept : subsets_) {
      for (const bool complete : {false, true}) {
        CrashModel::Choice choice{.kept = kept};
        for (const auto& file : files_) {
          if (complete) choice.contents[file.node] = file.cached;
        }
        if (!visit(model_.after_crash(choice))) return false;
        if (files_.empty()) break;
      }
    }
    for (size_t torn = 0; torn < files_.size(); ++torn) {
      for (const auto& content : contents_[torn]) {
        // Once with all entries there, so that the torn file is seen and not lost.
        for (const bool complete : {true, false}) {
          CrashModel::Choice choice = any_choice();
          if (complete) choice.kept.assign(choice.kept.size(), true);
          choice.contents[files_[torn].node] = content;
          if (!visit(model_.after_crash(choice))) return false;
        }
      }
    }
    return true;
  }

 private:
  CrashModel::Choice any_choice() {
    CrashModel::Choice choice{.kept = subsets_[random_() % subsets_.size()]};
    for (size_t i = 0; i < files_.size(); ++i)
      choice.contents[files_[i].node] = contents_[i][random_() % contents_[i].size()];
    return choice;
  }

  const CrashModel& model_;
  std::mt19937_64& random_;
  std::vector<CrashModel::Unsynced> files_;
  std::vector<std::vector<bool>> subsets_;
  std::vector<std::vector<std::string>> contents_;
};

// Equal for states that nothing tells apart.
uint64_t key_of(const FileTree& tree, int64_t announced) {
  std::string key = std::to_string(announced);
  for (const auto& [path, item] : tree) {
    key += '\0' + path + '\0' + static_cast<char>('0' + static_cast<int>(item.kind)) + item.content;
  }
  return fast_hash(key);
}

}  // namespace

std::vector<std::string> torn_contents(const std::string& durable, const std::string& cached, size_t mixed,
                                       std::mt19937_64& random) {
  std::vector<std::string> contents{durable, cached};
  const size_t size = cached.size();
  for (size_t tear = 0; tear < size; ++tear) {
    const auto front = cached.substr(0, tear), back = cached.substr(tear);
    contents.push_back(front);
    contents.push_back(front + std::string(size - tear, '\0'));
    contents.push_back(front + std::string(size - tear, old_byte));
    contents.push_back(std::string(tear, '\0') + back);
  }
  constexpr size_t block = 16;
  for (size_t i = 0; i < mixed; ++i) {
    auto content = cached;
    for (size_t begin = 0; begin < size; begin += block) {
      if (random() % 2 == 0) continue;
      const size_t count = std::min(block, size - begin);
      content.replace(begin, count, std::string(count, random() % 2 == 0 ? '\0' : old_byte));
    }
    contents.push_back(std::move(content));
  }
  return contents;
}

size_t visit_crash_states(const FileTree& before, int64_t announced_before, const Recording& recording,
                          const CrashSearch& search, const std::function<bool(const CrashState&)>& visit) {
  CrashModel model(before);
  std::mt19937_64 random(search.seed);
  std::unordered_set<uint64_t> seen;
  size_t visited = 0;
  bool goes_on = true;
  CrashState state;
  state.announced = announced_before;
  const auto look = [&] {
    if (!goes_on || state.operation < search.first_operation) return;
    goes_on = Moment(model, search, random).visit([&](FileTree tree) {
      if (!seen.insert(key_of(tree, state.announced)).second) return true;
      state.tree = std::move(tree);
      ++visited;
      return visit(state);
    });
  };
  look();
  for (const auto& operation : recording) {
    if (!goes_on) break;
    ++state.operation;
    if (operation.kind == Recorded::Kind::announce)
      state.announced = std::max(state.announced, operation.step);
    model.apply(operation, look);
  }
  return visited;
}

}  // namespace larmor::testing

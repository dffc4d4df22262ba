// Whatever fails while a checkpoint is saved, the newest announced one loads.
#include <sys/wait.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/files/fenced_storage.h"
#include "larmor/base/files/file.h"

#include "tests/checkpoint/support/file_tree.h"
#include "tests/checkpoint/support/small_snapshot.h"

namespace larmor::testing {
namespace {

using Operation = FaultyStorage::Operation;

// Every operation and point of saving step 2 after step 1, by number.
std::vector<Operation> operations_of_a_save() {
  const ScratchFolder scratch;
  const auto solo = make_solo();
  DiskStorage disk;
  CheckpointWriter(scratch.path(), disk, *solo, saved_at_once()).save(small_snapshot(1), false);
  FaultyStorage recording([](const Operation&) {});
  CheckpointWriter(scratch.path(), recording, *solo, saved_at_once()).save(small_snapshot(2), false);
  return recording.operations();
}

TEST(Commit, LosesNothingAnnouncedWhenAnyOperationFails) {
  const auto operations = operations_of_a_save();
  ASSERT_GT(operations.size(), 15U);
  for (size_t broken = 0; broken < operations.size(); ++broken) {
    const ScratchFolder scratch;
    const auto solo = make_solo();
    DiskStorage disk;
    CheckpointWriter(scratch.path(), disk, *solo, saved_at_once()).save(small_snapshot(1), false);

    size_t number = 0;
    FaultyStorage storage([&](const Operation& operation) {
      if (number++ == broken) fail(Exit::environment, "injected at " + operation.name);
    });
    CheckpointWriter writer(scratch.path(), storage, *solo, saved_at_once());
    writer.save(small_snapshot(2), false);
    const auto outcomes = writer.take_outcomes();
    ASSERT_EQ(outcomes.size(), 1U);
    const auto newest = newest_good(scratch.path(), nullptr);
    ASSERT_TRUE(newest.has_value()) << operations[broken].name;
    if (outcomes[0].committed)
      EXPECT_TRUE(holds_step(*newest, 2)) << operations[broken].name;
    else
      EXPECT_TRUE(holds_step(*newest, 1) || holds_step(*newest, 2)) << operations[broken].name;

    writer.save(small_snapshot(3), false);
    EXPECT_TRUE(holds_step(*newest_good(scratch.path(), nullptr), 3)) << "after " << operations[broken].name;
  }
}

TEST(Commit, LosesNothingAnnouncedWhenTheProcessDiesAtAnyOperation) {
  const auto operations = operations_of_a_save();
  for (size_t last = 0; last < operations.size(); ++last) {
    const ScratchFolder scratch;
    const auto solo = make_solo();
    DiskStorage disk;
    CheckpointWriter(scratch.path(), disk, *solo, saved_at_once()).save(small_snapshot(1), false);
    const pid_t child = fork();
    if (child == 0) {
      size_t number = 0;
      FaultyStorage storage([&](const Operation&) {
        if (number++ == last) kill(getpid(), SIGKILL);
      });
      CheckpointWriter(scratch.path(), storage, *solo, saved_at_once()).save(small_snapshot(2), false);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << operations[last].name;
    const auto newest = newest_good(scratch.path(), nullptr);
    ASSERT_TRUE(newest.has_value()) << operations[last].name;
    EXPECT_TRUE(holds_step(*newest, 1) || holds_step(*newest, 2)) << operations[last].name;
    CheckpointWriter(scratch.path(), disk, *solo, saved_at_once()).save(small_snapshot(3), false);
    EXPECT_TRUE(holds_step(*newest_good(scratch.path(), nullptr), 3)) << "after " << operations[last].name;
  }
}

TEST(Commit, ReplacesADamagedCheckpointOfTheSameStep) {
  const ScratchFolder scratch;
  const auto solo = make_solo();
  DiskStorage disk;
  CheckpointWriter writer(scratch.path(), disk, *solo, saved_at_once());
  writer.save(small_snapshot(1), false);
  flip_bit(scratch.path() / "step-00000001" / "model.safetensors", 100, 3);
  EXPECT_THROW(newest_good(scratch.path(), nullptr), Error);
  writer.save(small_snapshot(1), false);
  EXPECT_TRUE(holds_step(*newest_good(scratch.path(), nullptr), 1));
}

TEST(Commit, RemovesWhatEarlierKillsLeftBehind) {
  const ScratchFolder scratch;
  const auto solo = make_solo();
  DiskStorage disk;
  for (const auto* rubbish : {"step-00000002.gen-0.tmp", "step-00000003.gen-1.tmp", ".trash-step-00000001"}) {
    std::filesystem::create_directory(scratch.path() / rubbish);
    write_text(disk, scratch.path() / rubbish / "model.safetensors", "half of it");
  }
  std::filesystem::create_symlink("step-00000001", scratch.path() / ".last.partial-0123456789abcdef");
  CheckpointWriter(scratch.path(), disk, *solo, saved_at_once()).save(small_snapshot(4), false);
  std::set<std::string> left;
  for (const auto& item : std::filesystem::directory_iterator(scratch.path()))
    left.insert(item.path().filename().string());
  EXPECT_EQ(left, (std::set<std::string>{"last", "step-00000004"}));
}

TEST(Commit, LeavesEqualFilesForEqualSnapshots) {
  const ScratchFolder one, other;
  const auto solo = make_solo();
  DiskStorage disk;
  CheckpointWriter(one.path(), disk, *solo, saved_at_once()).save(small_snapshot(7), false);
  CheckpointWriter(other.path(), disk, *solo, saved_at_once()).save(small_snapshot(7), false);
  const auto file = std::filesystem::path("step-00000007") / "model.safetensors";
  EXPECT_EQ(read_text(one.path() / file), read_text(other.path() / file));
}

/// Does something of its own before each operation of another storage, and may know better how much is free.
class Interrupted final : public Storage {
 public:
  Interrupted(Storage& inner, std::function<void()> before, std::optional<uint64_t> free = {})
      : inner_(inner), before_(std::move(before)), free_(free) {}

  void create_folders(const Path& folder) override { next().create_folders(folder); }
  std::unique_ptr<StorageFile> create(const Path& file) override {
    return std::make_unique<File>(*this, next().create(file));
  }
  std::unique_ptr<StorageFile> append(const Path& file) override {
    return std::make_unique<File>(*this, next().append(file));
  }
  std::unique_ptr<StorageFile> stream(const Path& path) override { return next().stream(path); }
  void rename(const Path& from, const Path& to) override { next().rename(from, to); }
  void exchange(const Path& one, const Path& other) override { next().exchange(one, other); }
  void sync_folder(const Path& folder) override { next().sync_folder(folder); }
  void remove_all(const Path& path) override { next().remove_all(path); }
  void replace_link(const Path& link, const Path& target) override { next().replace_link(link, target); }
  uint64_t free_bytes(const Path& folder) override { return free_ ? *free_ : next().free_bytes(folder); }
  void point(std::string_view name) override { next().point(name); }

 private:
  class File final : public StorageFile {
   public:
    File(Interrupted& storage, std::unique_ptr<StorageFile> file)
        : storage_(storage), file_(std::move(file)) {}
    void write(std::span<const std::byte> bytes) override {
      storage_.next();
      file_->write(bytes);
    }
    void sync() override {
      storage_.next();
      file_->sync();
    }
    void close() override {
      storage_.next();
      file_->close();
    }

   private:
    Interrupted& storage_;
    std::unique_ptr<StorageFile> file_;
  };

  Storage& next() {
    before_();
    return inner_;
  }

  Storage& inner_;
  std::function<void()> before_;
  std::optional<uint64_t> free_;
};

/// What each of so many ranks is told of a save by way of its storage.
std::vector<SaveOutcome> saved_by(int count, const std::filesystem::path& folder,
                                  const std::function<std::unique_ptr<Storage>(int rank)>& storage_of) {
  auto ranks = make_thread_ranks(count);
  std::vector<SaveOutcome> outcomes(ranks.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      const auto place = static_cast<size_t>(rank);
      const auto storage = storage_of(rank);
      CheckpointWriter writer(folder, *storage, *ranks[place], saved_at_once());
      try {
        writer.save(small_snapshot(1, rank), false);
        outcomes[place] = writer.take_outcomes().at(0);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << " was told nothing: " << error.what();
        ranks[place].reset();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return outcomes;
}

TEST(Commit, AsksForRoomForTheFilesOfAllRanks) {
  // 36 bytes of tensors a rank, and a twentieth on top.
  constexpr uint64_t of_one = 40, of_three = 120;
  DiskStorage disk;
  for (const auto free : {of_one, of_three}) {
    const ScratchFolder scratch;
    const auto outcomes =
        saved_by(3, scratch.path(), [&](int) { return std::make_unique<Interrupted>(disk, [] {}, free); });
    for (const auto& outcome : outcomes) {
      EXPECT_EQ(outcome.committed, free == of_three);
      if (free == of_one) {
        EXPECT_NE(outcome.warning.find("this checkpoint needs 113 B"), std::string::npos) << outcome.warning;
      }
    }
  }
}

TEST(Commit, TellsAllRanksOfWhateverRankZeroMeets) {
  for (const auto* operation : {"create_folders", "free_bytes", "checkpoint.begun",
                                "checkpoint.state.written", "rename", "checkpoint.shard.written"}) {
    for (const int broken : {0, 1}) {
      const ScratchFolder scratch;
      const auto outcomes = saved_by(2, scratch.path(), [&](int rank) {
        return std::make_unique<FaultyStorage>([operation, rank, broken](const Operation& met) {
          if (rank == broken && met.name == operation)
            throw std::filesystem::filesystem_error("a mount that is gone",
                                                    std::error_code(5, std::generic_category()));
        });
      });
      const bool is_met = broken == 0 || std::string(operation) == "checkpoint.shard.written";
      for (const auto& outcome : outcomes) {
        EXPECT_EQ(outcome.committed, !is_met) << operation << " on rank " << broken;
        if (is_met) {
          EXPECT_NE(outcome.warning.find("a mount that is gone"), std::string::npos) << outcome.warning;
        }
      }
    }
  }
}

TEST(Commit, PutsAnotherLinesCheckpointOfItsStepAside) {
  const ScratchFolder scratch;
  const auto solo = make_solo();
  DiskStorage disk;
  const auto folder = scratch.path() / "checkpoints";
  auto options = saved_at_once();
  CheckpointWriter(folder, disk, *solo, options).save(small_snapshot(6), false);
  options.generation = 2;
  auto other = small_snapshot(6);
  other.files["model.safetensors"].at("bias").fill_(7);
  CheckpointWriter writer(folder, disk, *solo, options);
  writer.save(other, false);
  EXPECT_TRUE(writer.take_outcomes().at(0).committed);
  const auto saved = verify_checkpoint(folder / "step-00000006");
  ASSERT_TRUE(saved.ok);
  EXPECT_EQ(read_checkpoint_file(saved, "model.safetensors").at("bias")[0].item<float>(), 7);
  EXPECT_TRUE(holds_step(verify_checkpoint(scratch.path() / "checkpoints.before-2" / "step-00000006"), 6));
}

TEST(Commit, TakesThePlaceOfOneWhoseValidationAStopHadCut) {
  const ScratchFolder scratch;
  const auto solo = make_solo();
  DiskStorage disk;
  const auto folder = scratch.path() / "checkpoints";
  CheckpointWriter(folder, disk, *solo, saved_at_once()).save(small_snapshot(6), false);
  auto options = saved_at_once();
  options.generation = 1;
  options.resumed_from = verify_checkpoint(folder / "step-00000006");
  CheckpointWriter writer(folder, disk, *solo, options);
  writer.save(small_snapshot(6), false);
  EXPECT_EQ(verify_checkpoint(folder / "step-00000006").manifest.at("generation"), 0) << "it adds nothing";
  writer.save(small_snapshot(6, 0, 0.25), false);
  for (const auto& outcome : writer.take_outcomes()) EXPECT_TRUE(outcome.committed) << outcome.warning;
  const auto saved = verify_checkpoint(folder / "step-00000006");
  EXPECT_TRUE(holds_step(saved, 6));
  EXPECT_EQ(saved.metric, 0.25);
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "checkpoints.before-1"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 3) << "beside best and last";
  EXPECT_EQ(std::filesystem::read_symlink(folder / "best"), "step-00000006");
}

/// A rank of generation 0 saves step 2; before the operation of that number generation 1 takes over.
class Overtaken {
 public:
  explicit Overtaken(size_t at) : fenced_(std::make_unique<DiskStorage>(), fence(), 0) {
    writer_of(disk_, 0).save(small_snapshot(1), false);
    Interrupted storage(fenced_, [&] {
      if (operations_++ == at) take_over();
    });
    try {
      writer_of(storage, 0).save(small_snapshot(2), false);
    } catch (const Error& error) {
      exit_ = error.exit();
    }
  }

  bool has_happened() const { return !newer_.empty(); }
  std::optional<Exit> exit() const { return exit_; }
  /// The files as the newer generation left them, and as they are.
  const FileTree& newer() const { return newer_; }
  FileTree now() const { return read_tree(scratch_.path()); }

 private:
  std::filesystem::path fence() const { return scratch_.path() / ".generation"; }
  CheckpointWriter writer_of(Storage& storage, int64_t generation) {
    auto options = saved_at_once();
    options.generation = generation;
    return {scratch_.path() / "checkpoints", storage, *solo_, options};
  }
  void take_over() {
    raise_fence(disk_, fence(), 1);
    auto writer = writer_of(disk_, 1);
    for (const int64_t step : {2, 3}) writer.save(small_snapshot(step), false);
    newer_ = read_tree(scratch_.path());
  }

  ScratchFolder scratch_;
  std::unique_ptr<Communicator> solo_ = make_solo();
  DiskStorage disk_;
  FencedStorage fenced_;
  size_t operations_ = 0;
  FileTree newer_;
  std::optional<Exit> exit_;
};

TEST(Commit, ChangesNothingOfALaterGenerationThatTookOverAtAnyOperation) {
  size_t ended = 0, at = 0;
  for (;; ++at) {
    const Overtaken overtaken(at);
    if (!overtaken.has_happened()) break;
    EXPECT_EQ(overtaken.now(), overtaken.newer()) << "at operation " << at;
    if (!overtaken.exit()) continue;  // only the last looks and closings were left
    EXPECT_EQ(*overtaken.exit(), Exit::rank_lost) << "at operation " << at;
    ++ended;
  }
  EXPECT_GT(ended, 15U);
  EXPECT_LE(at - ended, 3U);
}

TEST(Commit, EndsAllRanksWhenAFenceStopsOne) {
  for (const int stopped : {0, 1, 2}) {
    const ScratchFolder scratch;
    auto ranks = make_thread_ranks(3);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank) {
      threads.emplace_back([&, rank] {
        DiskStorage disk;
        const auto fence = scratch.path() / std::to_string(rank);
        if (rank == stopped) raise_fence(disk, fence, 1);
        FencedStorage storage(std::make_unique<DiskStorage>(), fence, 0);
        CheckpointWriter writer(scratch.path() / "checkpoints", storage, *ranks[static_cast<size_t>(rank)],
                                saved_at_once());
        try {
          writer.save(small_snapshot(1, rank), false);
          ADD_FAILURE() << "rank " << rank << " went on";
        } catch (const Error& error) {
          EXPECT_EQ(error.exit(), Exit::rank_lost);
          EXPECT_NE(error.message().find("belongs to generation 0 of the run, which is at 1"),
                    std::string::npos)
              << error.message();
          EXPECT_NE(error.hint().find("the run went on without this rank"), std::string::npos)
              << "rank " << rank;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_FALSE(std::filesystem::exists(scratch.path() / "checkpoints" / "step-00000001"));
  }
}

}  // namespace
}  // namespace larmor::testing

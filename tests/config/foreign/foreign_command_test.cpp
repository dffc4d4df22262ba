// The words that start a script, taken apart.
#include "larmor/config/foreign/foreign_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

ForeignCommand parsed(const std::string& line) { return parse_command(split(line, ' ')); }

TEST(ForeignCommand, OfTorchrunHasItsFlagsBeforeTheScript) {
  const auto one =
      parsed("torchrun --standalone --nproc_per_node=4 --nnodes 2 train.py --distributed --lr 1e-4");
  EXPECT_EQ(one.launcher, ForeignCommand::Launcher::torchrun);
  EXPECT_EQ(one.script, "train.py");
  EXPECT_THAT(one.of_launcher,
              ElementsAre(Pair("standalone", "true"), Pair("nproc_per_node", "4"), Pair("nnodes", "2")));
  EXPECT_THAT(one.of_script, ElementsAre(Pair("distributed", "true"), Pair("lr", "1e-4")));
}

TEST(ForeignCommand, OfEveryLauncherIsKnown) {
  EXPECT_EQ(parsed("python -m torch.distributed.run --nproc-per-node 2 a.py").of_launcher.front().first,
            "nproc_per_node");
  EXPECT_EQ(parsed("python3 -m torch.distributed.launch --nproc_per_node=2 a.py").launcher,
            ForeignCommand::Launcher::torchrun);
  EXPECT_EQ(parsed("deepspeed --num_gpus=4 a.py").launcher, ForeignCommand::Launcher::deepspeed);
  EXPECT_EQ(parsed("accelerate launch --multi_gpu a.py").launcher, ForeignCommand::Launcher::accelerate);
  EXPECT_EQ(parsed("CUDA_VISIBLE_DEVICES=0,1 python a.py --lr -0.5").of_script.front().second, "-0.5");
  EXPECT_EQ(parsed("bash train_4gpu.sh --method torchrun").script, "train_4gpu.sh");
  EXPECT_THAT(parsed("a.py").of_launcher, IsEmpty());
}

TEST(ForeignCommand, AFlagMayHaveSeveralValues) {
  EXPECT_THAT(parsed("python a.py --image_size 256 256 64 --amp").of_script,
              ElementsAre(Pair("image_size", "[256, 256, 64]"), Pair("amp", "true")));
}

TEST(ForeignCommand, WithoutAScriptIsAFault) {
  EXPECT_THROW(parsed("torchrun --nproc_per_node 4"), Error);
  EXPECT_THROW(parsed("python"), Error);
  EXPECT_THROW(parsed("python a.py loose"), Error);
}

}  // namespace
}  // namespace larmor

// Mistakes that a card forgives on a good day are found on emulated cards each time: an order that nothing
// ensures, host memory touched too early, memory that holds nothing yet, tensors on the wrong device,
// collectives that do not match.
#include <functional>
#include <thread>

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include "tests/gpu_emulation/runtime/counters.h"

namespace emulated::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const char* const disorder = "emulated GPU: out of order: .* and nothing orders the two";
const at::TensorOptions on_gpu = at::TensorOptions(c10::Device(c10::kCUDA, 0)).dtype(at::kFloat);
constexpr int64_t numbers = 1000;

c10::cuda::CUDAStream side() {
  static const auto stream = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, /*device=*/0);
  return stream;
}

/// Runs what computes on the side stream.
at::Tensor beside(const std::function<at::Tensor()>& compute) {
  const c10::cuda::CUDAStreamGuard guard(side());
  return compute();
}

/// The side stream waits for the default one, or the other way round.
void wait_for(const c10::cuda::CUDAStream& earlier, const c10::cuda::CUDAStream& later) {
  at::cuda::CUDAEvent event;
  event.record(earlier);
  event.block(later);
}

class Mistakes : public ::testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    at::globalContext().lazyInitDevice(c10::kCUDA);
  }
  void TearDown() override { c10::cuda::device_synchronize(); }
};
using MistakesDeathTest = Mistakes;

TEST_F(MistakesDeathTest, AReadOnAnotherStreamWithoutAnEvent) {
  const auto read = [](bool with_event) {
    const at::Tensor made = at::ones({numbers}, on_gpu);
    if (with_event) wait_for(c10::cuda::getDefaultCUDAStream(), side());
    const at::Tensor sum = beside([&] { return made.sum(); });
    side().synchronize();
    EXPECT_EQ(sum.item<float>(), numbers);
  };
  read(/*with_event=*/true);
  EXPECT_DEATH(read(/*with_event=*/false), disorder);
}

TEST_F(MistakesDeathTest, AWriteOnAnotherStreamWithoutAnEvent) {
  const auto write = [](bool with_event) {
    const at::Tensor made = at::zeros({numbers}, on_gpu);
    const at::Tensor sum = made.sum();
    if (with_event) wait_for(c10::cuda::getDefaultCUDAStream(), side());
    beside([&] { return made.add_(1); });
    side().synchronize();
  };
  write(/*with_event=*/true);
  EXPECT_DEATH(write(/*with_event=*/false), disorder);
}

TEST_F(MistakesDeathTest, MemoryThatIsUsedAgainBeforeAnotherStreamIsDoneWithIt) {
  const auto use_again = [](bool recorded) {
    at::Tensor made = at::ones({numbers}, on_gpu);
    wait_for(c10::cuda::getDefaultCUDAStream(), side());
    const at::Tensor sum = beside([&] { return made.sum(); });
    if (recorded) made.record_stream(side());
    made.reset();
    const at::Tensor next =
        at::zeros({numbers}, on_gpu);  // the allocator gives the same block, unless it knows
  };
  use_again(/*recorded=*/true);
  EXPECT_DEATH(use_again(/*recorded=*/false), disorder);
}

TEST_F(MistakesDeathTest, PinnedMemoryThatChangesWhileItIsCopied) {
  const auto copy = [](bool waits) {
    const at::Tensor host = at::ones({numbers}, at::kFloat).pin_memory();
    const at::Tensor device = host.to(on_gpu.device(), /*non_blocking=*/true);
    if (waits) c10::cuda::getDefaultCUDAStream().synchronize();
    host.zero_();
    c10::cuda::getDefaultCUDAStream().synchronize();
  };
  copy(/*waits=*/true);
  EXPECT_DEATH(copy(/*waits=*/false), "the host wrote into pinned memory");
}

TEST_F(Mistakes, AHostReadBeforeACopyToPinnedMemoryIsDone) {
  const at::Tensor device = at::ones({numbers}, on_gpu);
  const at::Tensor host = at::empty({numbers}, at::TensorOptions(at::kFloat).pinned_memory(true));
  host.copy_(device, /*non_blocking=*/true);
  EXPECT_TRUE(host.isnan().all().item<bool>());
  c10::cuda::getDefaultCUDAStream().synchronize();
  EXPECT_EQ(host.sum().item<float>(), numbers);
}

TEST_F(Mistakes, MemoryThatNothingWasWrittenTo) {
  {
    const at::Tensor earlier = at::ones({numbers}, on_gpu);
  }
  EXPECT_TRUE(at::empty({numbers}, on_gpu).isnan().all().item<bool>());
}

TEST_F(Mistakes, AnOperatorWhoseTensorWasLeftOnTheHost) {
  const at::Tensor device = at::ones({numbers}, on_gpu), host = at::ones({numbers});
  EXPECT_THAT([&] { static_cast<void>(device + host); },
              ThrowsMessage<c10::Error>(HasSubstr("Expected all tensors to be on the same device")));
  EXPECT_EQ((device + at::ones({})).sum().item<float>(), 2 * numbers)
      << "a number of the host may be anywhere";
}

TEST_F(Mistakes, AnOperatorWhoseTensorIsOnAnotherCard) {
  const at::Tensor other = at::ones({numbers}, on_gpu.device(c10::Device(c10::kCUDA, 1)));
  EXPECT_THAT([&] { static_cast<void>(at::ones({numbers}, on_gpu) + other); },
              ThrowsMessage<c10::Error>(HasSubstr("Expected all tensors to be on the same device")));
}

TEST_F(Mistakes, ATensorWhoseMemoryWasGivenBack) {
  const at::Tensor made = at::ones({numbers}, on_gpu);
  made.storage().unsafeGetStorageImpl()->set_nbytes(0);
  EXPECT_THAT([&] { static_cast<void>(made.sum()); }, ThrowsMessage<c10::Error>(HasSubstr("was given back")));
}

TEST_F(MistakesDeathTest, HostCodeThatFollowsADevicePointer) {
  const at::Tensor made = at::ones({numbers}, on_gpu);
  EXPECT_DEATH(std::fprintf(stderr, "%f", static_cast<double>(*made.const_data_ptr<float>())), "");
}

TEST_F(Mistakes, AnAsynchronousCopyOfPageableMemory) {
  const auto copies = [](const at::Tensor& host, bool non_blocking) {
    const uint64_t before = counters().pageable_asynchronous_copies;
    const at::Tensor sum = host.to(on_gpu.device(), non_blocking).sum();
    return counters().pageable_asynchronous_copies - before;
  };
  const at::Tensor host = at::ones({numbers});
  EXPECT_EQ(copies(host, /*non_blocking=*/true), 1U);
  EXPECT_EQ(copies(host, /*non_blocking=*/false), 0U);
  EXPECT_EQ(copies(host.pin_memory(), /*non_blocking=*/true), 0U);
}

TEST_F(Mistakes, AHostThatAsksACardForANumberOrHowManyThereAre) {
  const auto waits = [](const std::function<void()>& ask) {
    const uint64_t before = counters().host_waits;
    ask();
    return counters().host_waits - before;
  };
  const at::Tensor made = at::ones({numbers}, on_gpu), mask = made > 0;
  EXPECT_EQ(waits([&] { made.sum().item<float>(); }), 1U);
  EXPECT_EQ(waits([&] { made.nonzero(); }), 1U);
  EXPECT_EQ(waits([&] { made.index({mask}); }), 1U);
  EXPECT_EQ(waits([&] { made.equal(made.clone()); }), 1U);
  EXPECT_EQ(waits([&] { made.index({at::zeros({3}, on_gpu.dtype(at::kLong))}); }), 0U);
  EXPECT_EQ(waits([&] { at::where(mask, made, -made); }), 0U);
}

TEST_F(Mistakes, MoreMemoryThanTheCardHas) {
  constexpr int64_t terabyte = int64_t{1} << 40;
  EXPECT_THROW(at::empty({terabyte}, on_gpu), c10::OutOfMemoryError);
}

/// Runs rank(communicator, stream) on a thread and a card each.
void on_two_cards(const std::function<void(int, ncclComm_t, cudaStream_t)>& rank) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  const auto run = [&](int index) {
    c10::cuda::set_device(static_cast<c10::DeviceIndex>(index));
    ncclComm_t communicator = nullptr;
    ncclCommInitRank(&communicator, 2, id, index);
    rank(index, communicator, c10::cuda::getStreamFromPool());
    ncclCommDestroy(communicator);
  };
  std::thread other(run, 1);
  run(0);
  other.join();
}

at::Tensor ones_of(int card) {
  return at::ones({numbers}, on_gpu.device(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(card))));
}

void sum_up(const at::Tensor& values, int64_t count, ncclComm_t communicator, cudaStream_t stream) {
  ncclAllReduce(values.const_data_ptr(), values.mutable_data_ptr(), static_cast<size_t>(count), ncclFloat32,
                ncclSum, communicator, stream);
}

TEST_F(MistakesDeathTest, CollectivesThatComeInAnotherOrderOnEachRank) {
  const auto swap = [](bool swapped) {
    on_two_cards([swapped](int index, ncclComm_t communicator, cudaStream_t stream) {
      const at::Tensor values = ones_of(index);
      c10::cuda::device_synchronize();
      const int64_t first = swapped && index == 1 ? numbers / 2 : numbers;
      sum_up(values, first, communicator, stream);
      sum_up(values, numbers + numbers / 2 - first, communicator, stream);
      c10::cuda::device_synchronize();
      EXPECT_EQ(values[0].item<float>(), 4);
    });
  };
  swap(/*swapped=*/false);
  EXPECT_DEATH(swap(/*swapped=*/true), "out of order: rank . calls all_reduce of");
}

TEST_F(MistakesDeathTest, ACollectiveWhoseResultIsReadWithoutAWait) {
  const auto reduce = [](bool waits) {
    on_two_cards([waits](int index, ncclComm_t communicator, cudaStream_t stream) {
      const at::Tensor values = ones_of(index);
      c10::cuda::device_synchronize();
      sum_up(values, numbers, communicator, stream);
      if (waits) cudaStreamSynchronize(stream);
      EXPECT_EQ(values.sum().item<float>(), 2 * numbers);
    });
  };
  reduce(/*waits=*/true);
  EXPECT_DEATH(reduce(/*waits=*/false), disorder);
}

TEST_F(MistakesDeathTest, ABufferThatACollectiveStillReads) {
  const auto overwrite = [](bool waits) {
    on_two_cards([waits](int index, ncclComm_t communicator, cudaStream_t stream) {
      const at::Tensor values = ones_of(index);
      c10::cuda::device_synchronize();
      sum_up(values, numbers, communicator, stream);
      if (waits) cudaStreamSynchronize(stream);
      values.zero_();
      c10::cuda::device_synchronize();
    });
  };
  overwrite(/*waits=*/true);
  EXPECT_DEATH(overwrite(/*waits=*/false), disorder);
}

}  // namespace
}  // namespace emulated::testing

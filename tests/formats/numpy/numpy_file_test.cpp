#include "larmor/formats/numpy/numpy_file.h"

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/formats/gzip.h"
#include "larmor/formats/numpy/zip_archive.h"
#include "larmor/formats/volume.h"

#include "tests/support/image_files.h"

namespace larmor {
namespace {

using testing::as_bytes;
using ::testing::HasSubstr;
using testing::packed;
using testing::published;
using testing::write_file;

std::string from_hex(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

// numpy.savez_compressed(f, numpy.arange(12, dtype="<f4").reshape(2, 1, 3, 2), other=numpy.array([7], ">i2"))
const std::string by_numpy = from_hex(
    "504b03042d0000000800000021001828c7c1ffffffffffffffff090014006f746865722e6e7079010010008200000000"
    "00000046000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9769a4aea3a09e965f54529498179f"
    "5f94920a12774bcc294e058a17672416a402f91a863a9a3a0ab50a14002e067600504b03042d00000008000000210018"
    "6be553ffffffffffffffff090014006172725f302e6e707901001000b0000000000000006c000000000000009bec17ea"
    "1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12774bcc294e058a176724"
    "16a402f91a463a0a863a0ac63a0a469a3a0ab50a64002e063068b007120e4004c40d40bc00880f00f103206670646010"
    "0062052036700400504b01022d032d0000000800000021001828c7c14600000082000000090000000000000000000000"
    "8001000000006f746865722e6e7079504b01022d032d000000080000002100186be5536c000000b00000000900000000"
    "000000000000008001810000006172725f302e6e7079504b050600000000020002006e000000280100000000");

std::string npy(const std::string& dictionary, const std::string& numbers) {
  std::string header = dictionary + "\n";
  return std::string("\x93NUMPY\x01\x00", 8) + published(static_cast<uint16_t>(header.size())) + header +
         numbers;
}

std::string npy_of(const std::string& type, const std::string& shape, const std::string& numbers,
                   const std::string& fortran = "False") {
  return npy("{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }",
             numbers);
}

/// An archive of stored members, whose parts tests spoil.
struct Zip {
  struct Member {
    std::string name, content, local_name;
    uint32_t mode = 0;
    uint16_t flags = 0;
  };
  std::vector<Member> members;

  std::string whole() const {
    std::string bytes, directory;
    for (const Member& member : members) {
      const auto size = static_cast<uint32_t>(member.content.size());
      const std::string& local = member.local_name.empty() ? member.name : member.local_name;
      const std::string middle = published(member.flags) + published(uint16_t{0}) + published(uint32_t{0}) +
                                 published(crc32(as_bytes(member.content))) + published(size) +
                                 published(size);
      directory += "PK\x01\x02" + published(uint16_t{20}) + published(uint16_t{20}) + middle +
                   published(static_cast<uint16_t>(member.name.size())) + std::string(8, '\0') +
                   published(member.mode << 16) + published(static_cast<uint32_t>(bytes.size())) +
                   member.name;
      bytes += "PK\x03\x04" + published(uint16_t{20}) + middle +
               published(static_cast<uint16_t>(local.size())) + published(uint16_t{0}) + local +
               member.content;
    }
    const auto count = static_cast<uint16_t>(members.size());
    return bytes + directory + "PK\x05\x06" + std::string(4, '\0') + published(count) + published(count) +
           published(static_cast<uint32_t>(directory.size())) +
           published(static_cast<uint32_t>(bytes.size())) + std::string(2, '\0');
  }
};

class NumpyReading : public ::testing::Test {
 protected:
  std::filesystem::path put(const std::string& name, const std::string& bytes) {
    write_file(scratch_.path() / name, bytes);
    return scratch_.path() / name;
  }
  void expect_refused(const std::string& bytes, const std::string& reason) {
    const auto path = put("refused.npz", bytes);
    try {
      read_numpy(path);
      ADD_FAILURE() << "accepted; expected: " << reason;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::data);
      EXPECT_THAT(error.message(), HasSubstr(reason));
      EXPECT_THAT(error.message(), HasSubstr(path.string()));
    }
  }
  ScratchFolder scratch_;
};

TEST_F(NumpyReading, OpensWhatNumpyWrites) {
  const auto path = put("pair.npz", by_numpy);
  const at::Tensor pair = read_numpy(path);  // arr_0, although `other` stands first
  EXPECT_TRUE(pair.equal(at::arange(12, at::kFloat).view({2, 1, 3, 2})));
  EXPECT_TRUE(read_numpy(path, "other").equal(at::full({1}, 7, at::kFloat)));
  const Volume volume = read_volume(path);
  EXPECT_TRUE(volume.voxels.equal(pair)) << "the first of four axes is the channel";
  EXPECT_EQ(volume.affine, identity_affine());
}

TEST_F(NumpyReading, NamesTheKeysThatThereAre) {
  try {
    read_numpy(put("pair.npz", by_numpy), "label");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("no array \"label\"; it has other, arr_0"));
  }
}

TEST_F(NumpyReading, PrefersTheKeyArr0ThenArrUnderscore0ThenTheFirst) {
  const auto one = [](float value) { return npy_of("<f4", "(1, 1)", published(value)); };
  const auto first_of = [&](const std::vector<std::string>& names) {
    Zip zip;
    for (std::size_t i = 0; i < names.size(); ++i)
      zip.members.push_back({names[i], one(static_cast<float>(i)), "", 0, 0});
    return read_numpy(put("keys.npz", zip.whole())).item<float>();
  };
  EXPECT_EQ(first_of({"a.npy", "arr_0.npy", "arr0.npy"}), 2);
  EXPECT_EQ(first_of({"a.npy", "arr_0.npy"}), 1);
  EXPECT_EQ(first_of({"a.npy", "b.npy"}), 0);
}

TEST_F(NumpyReading, KnowsBothOrdersOfAxesAndOfBytes) {
  const auto numbers = [](bool big, std::vector<int32_t> values) {
    std::string bytes;
    for (const int32_t value : values) bytes += published(value, big);
    return bytes;
  };
  const at::Tensor expected = at::arange(6, at::kFloat).view({2, 3});
  EXPECT_TRUE(
      read_numpy(put("c.npy", npy_of("<i4", "(2, 3)", numbers(false, {0, 1, 2, 3, 4, 5})))).equal(expected));
  EXPECT_TRUE(
      read_numpy(put("b.npy", npy_of(">i4", "(2, 3)", numbers(true, {0, 1, 2, 3, 4, 5})))).equal(expected));
  EXPECT_TRUE(read_numpy(put("f.npy", npy_of(">i4", "(2,3)", numbers(true, {0, 3, 1, 4, 2, 5}), "True")))
                  .equal(expected));
  EXPECT_EQ(read_volume(put("c.npy", npy_of("<i4", "(2, 3)", std::string(24, '\0')))).voxels.sizes(),
            (std::vector<int64_t>{1, 2, 3, 1}));
}

TEST_F(NumpyReading, KnowsHalvesAndTruthValues) {
  EXPECT_EQ(read_numpy(put("h.npy", npy_of("<f2", "(1, 1)", published(uint16_t{0x3e00})))).item<float>(),
            1.5F);
  EXPECT_EQ(read_numpy(put("b.npy", npy_of("|b1", "(1, 1)", "\x01"))).item<float>(), 1);
}

TEST_F(NumpyReading, RefusesWhatIsNotNumbers) {
  expect_refused(npy_of("|O", "(1,)", "a pickle"), "Python objects (a pickle)");
  expect_refused(npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }", "abcd"),
                 "named fields");
  expect_refused(npy_of("<c8", "(1,)", "abcdefgh"), "type <c8");
  expect_refused(npy_of("<U3", "(1,)", "abcdefghabcd"), "type <U3");
}

TEST_F(NumpyReading, RefusesDamagedHeaders) {
  const std::string good = npy_of("<f4", "(2, 3)", std::string(24, '\0'));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(read_numpy(put("short.npy", good.substr(0, size))), Error) << size;
  }
  expect_refused(npy_of("<f4", "(2, 4)", std::string(24, '\0')), "claims 32 bytes");
  expect_refused(npy_of("<f4", "(-1,)", ""), "not possible");
  expect_refused(npy_of("<f4", "(0,)", ""), "not possible");
  expect_refused(npy_of("<f4", "(1152921504606846976, 16)", ""), "more than the 2 GiB");
  expect_refused(npy_of("<f4", "(99999999999999999999,)", ""), "damaged");
  expect_refused(npy("{'descr': '<f4', 'shape': (1,), }", "abcd"), "damaged");
  expect_refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}", "abcd"),
                 "damaged");
  expect_refused(npy("__import__('os')", "abcd"), "damaged");
}

TEST_F(NumpyReading, RefusesArchivesWhoseNamesLeadElsewhere) {
  for (const std::string& name :
       {std::string("../a.npy"), std::string("/a.npy"), std::string("C:a.npy"), std::string("a\\b.npy"),
        std::string("a/../../b.npy"), std::string("a\0.npy", 6), std::string()}) {
    expect_refused(Zip{{{name, "x", "", 0, 0}}}.whole(),
                   name.empty() ? "leads elsewhere" : "leads elsewhere");
  }
}

TEST_F(NumpyReading, RefusesArchivesThatContradictThemselves) {
  expect_refused(Zip{{{"a.npy", "x", "", 0, 0}, {"a.npy", "y", "", 0, 0}}}.whole(), "twice");
  expect_refused(Zip{{{"a.npy", "x", "b.npy", 0, 0}}}.whole(), "disagree");
  expect_refused(Zip{{{"a.npy", "x", "", 0120777, 0}}}.whole(), "link");
  expect_refused(Zip{{{"a.npy", "x", "", 0, 1}}}.whole(), "encrypted");
  expect_refused(Zip{}.whole(), "without arrays");
  const std::string good =
      Zip{{{"a.npy", npy_of("<f4", "(1,)", "abcd"), "", 0, 0}, {"b.npy", "x", "", 0, 0}}}.whole();
  ASSERT_NO_THROW(read_numpy(put("good.npz", good)));
  std::string spoilt = good;
  spoilt[60] = static_cast<char>(spoilt[60] ^ 1);
  expect_refused(spoilt, "checksum");
  std::string overlapping = good;  // the second entry points to the first
  const std::size_t second = good.rfind("PK\x01\x02");
  overlapping.replace(second + 42, 4, std::string(4, '\0')).replace(second + 46, 5, "a.npy");
  EXPECT_THROW(read_numpy(put("overlap.npz", overlapping)), Error);
  for (std::size_t size = 4; size < good.size(); ++size) {
    EXPECT_THROW(read_numpy(put("short.npz", good.substr(0, size))), Error) << size;
  }
}

TEST_F(NumpyReading, RefusesAnEntryThatClaimsMoreThanItCanUnpackTo) {
  std::string bytes = by_numpy;
  const std::size_t second = bytes.rfind("PK\x01\x02");
  bytes.replace(second + 24, 4, published(uint32_t{0xfffffff0}));
  expect_refused(bytes, "more than is read");
}

TEST_F(NumpyReading, SurvivesEveryChangedByteOfAnArchive) {
  for (std::size_t place = 0; place < by_numpy.size(); ++place) {
    for (const int change : {1, 0x80, 0xff}) {
      std::string bytes = by_numpy;
      bytes[place] = static_cast<char>(bytes[place] ^ change);
      try {
        read_numpy(put("changed.npz", bytes));
      } catch (const Error& error) {
        EXPECT_EQ(error.exit(), Exit::data);
      }
    }
  }
}

}  // namespace
}  // namespace larmor

#include "larmor/codec/unpacking.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libdeflate.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/codec/decoder_pool.h"
#include "larmor/codec/decoder_process.h"

#include "tests/support/cases.h"
#include "tests/support/image_files.h"
#include "tests/support/picture_files.h"

namespace larmor {
namespace {

using testing::as_bytes;
using End = Unpacked::End;
using Kind = DecodeOutcome::Kind;

std::string plain_text(std::size_t size) {
  std::string plain(size, '\0');
  for (std::size_t i = 0; i < size; ++i) plain[i] = static_cast<char>(i % 251 ^ i >> 15U);
  return plain;
}

std::string packed_as(Packing packing, const std::string& plain) {
  libdeflate_compressor* const compressor = libdeflate_alloc_compressor(1);
  std::string packed(plain.size() + 1000, '\0');
  packed.resize(packing == Packing::gzip ? libdeflate_gzip_compress(compressor, plain.data(), plain.size(),
                                                                    packed.data(), packed.size())
                                         : libdeflate_deflate_compress(compressor, plain.data(), plain.size(),
                                                                       packed.data(), packed.size()));
  libdeflate_free_compressor(compressor);
  return packed;
}

struct UnpackAnswer {
  Unpacked unpacked;
  std::string out;
  bool operator==(const UnpackAnswer& other) const {
    const auto facts = [](const Unpacked& of) {
      return std::vector<uint64_t>{static_cast<uint64_t>(of.end),
                                   of.taken,
                                   of.given,
                                   static_cast<uint64_t>(of.columns),
                                   static_cast<uint64_t>(of.rows),
                                   static_cast<uint64_t>(of.samples),
                                   static_cast<uint64_t>(of.sample_bytes)};
    };
    const auto known = [](const UnpackAnswer& of) { return of.out.substr(0, of.unpacked.given); };
    return facts(unpacked) == facts(other.unpacked) && known(*this) == known(other);
  }
};

UnpackAnswer unpacked_here(Packing packing, const std::string& packed, std::size_t room) {
  UnpackAnswer answer{.unpacked = {}, .out = std::string(room, 'x')};
  answer.unpacked =
      unpack_here(packing, as_bytes(packed), std::as_writable_bytes(std::span(answer.out.data(), room)));
  return answer;
}

UnpackAnswer unpacked_by(DecoderProcess& decoder, Packing packing, const std::string& packed,
                         std::size_t room) {
  UnpackAnswer answer{.unpacked = {}, .out = std::string(room, 'x')};
  const DecodeOutcome outcome =
      decoder.unpack(packing, as_bytes(packed), std::as_writable_bytes(std::span(answer.out.data(), room)));
  EXPECT_EQ(outcome.kind, Kind::decoded) << outcome.message;
  answer.unpacked = outcome.unpacked;
  return answer;
}

DecoderOptions unpacking_program() { return {.program = std::getenv("LARMOR_DECODER"), .arguments = {}}; }

TEST(Unpacking, GivesAllMembersAndStopsBeforeWhatIsNone) {
  const std::string first = plain_text(1000), second = plain_text(70);
  const std::string file = packed_as(Packing::gzip, first) + packed_as(Packing::gzip, second);
  const UnpackAnswer answer = unpacked_here(Packing::gzip, file + "what follows", 5000);
  EXPECT_EQ(answer.unpacked.end, End::whole);
  EXPECT_EQ(answer.unpacked.taken, file.size());
  EXPECT_EQ(answer.out.substr(0, answer.unpacked.given), first + second);
}

TEST(Unpacking, SaysHowFarItCameWhereThereIsTooLittleRoomOrDamage) {
  const std::string first = packed_as(Packing::gzip, plain_text(1000));
  const std::string second = packed_as(Packing::gzip, plain_text(70));
  const UnpackAnswer full = unpacked_here(Packing::gzip, first + second, 1001);
  EXPECT_EQ(full.unpacked.end, End::full);
  EXPECT_EQ(full.unpacked.taken, first.size());
  EXPECT_EQ(full.unpacked.given, 1000U);
  const UnpackAnswer damaged = unpacked_here(Packing::gzip, first + second.substr(0, 30), 5000);
  EXPECT_EQ(damaged.unpacked.end, End::damaged);
  EXPECT_EQ(damaged.unpacked.given, 1000U);
}

// Whoever is told that there is too little room makes as much as the header claims.
TEST(Unpacking, RefusesAPictureThatItsBytesCannotHoldBeforeRoomIsMadeForIt) {
  std::string picture = testing::png_of(1, 1, testing::PngKind::grey, 8, {1});
  picture[16] = 0x10;  // a width of 268 million pixels
  picture = testing::with_check_sums(picture);
  EXPECT_THROW(unpack_here(Packing::png, testing::as_bytes(picture), {}), Error);
}

TEST(Unpacking, LeavesZerosWhereABeginningHasNotCome) {
  const std::string plain = plain_text(1 << 17);
  const UnpackAnswer answer =
      unpacked_here(Packing::deflate_beginning, packed_as(Packing::deflate, plain), 1 << 16);
  EXPECT_EQ(answer.unpacked.end, End::full);
  const std::size_t same = static_cast<std::size_t>(
      std::mismatch(answer.out.begin(), answer.out.end(), plain.begin()).first - answer.out.begin());
  EXPECT_EQ(answer.out.find_first_not_of('\0', same), std::string::npos);
}

struct PackedCase {
  Packing packing;
  std::string packed;
  std::size_t size;
};

std::vector<PackedCase> packed_cases() {
  std::vector<PackedCase> all;
  // Small, larger than what both sides keep, and small again in memory that is anew.
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{3} << 20, std::size_t{70} << 20,
                                 std::size_t{4000}, std::size_t{40} << 20}) {
    for (const Packing packing : {Packing::gzip, Packing::deflate, Packing::deflate_beginning})
      all.push_back({packing, packed_as(packing, plain_text(size)), size});
  }
  const std::vector<uint16_t> pixels(6, 77);
  all.push_back({Packing::png, testing::png_of(3, 2, testing::PngKind::grey, 8, pixels), 6});
  all.push_back({Packing::png, testing::png_of(3, 2, testing::PngKind::grey, 16, pixels), 12});
  all.push_back({Packing::jpeg, testing::jpeg_of(24, 16, 3, 100), 24 * 16 * 3});
  all.push_back({Packing::jpeg_in_grey, testing::jpeg_of(24, 16, 3, 100), 24 * 16});
  return all;
}

TEST(Unpacking, GivesTheSameInAProcessApart) {
  DecoderProcess decoder(unpacking_program());
  for (const PackedCase& each : packed_cases()) {
    for (const std::size_t room : {each.size, each.size + 1000, each.size / 2}) {
      const UnpackAnswer here = unpacked_here(each.packing, each.packed, room);
      if (room >= each.size) {
        EXPECT_EQ(here.unpacked.given, each.size);
      }
      EXPECT_TRUE(unpacked_by(decoder, each.packing, each.packed, room) == here)
          << static_cast<int>(each.packing) << ' ' << each.size << ' ' << room;
    }
  }
}

TEST(Unpacking, BringsTheBeginningOfWhatDoesNotFit) {
  DecoderProcess decoder(unpacking_program());
  const std::string plain = plain_text(1 << 20);
  for (const Packing packing : {Packing::gzip, Packing::deflate_beginning}) {
    const UnpackAnswer answer = unpacked_by(decoder, packing, packed_as(packing, plain), 1 << 19);
    EXPECT_EQ(answer.unpacked.end, End::full);
    EXPECT_EQ(answer.out.substr(0, 1 << 18), plain.substr(0, 1 << 18));
  }
}

TEST(Unpacking, RefusesInAProcessApartInTheSameWords) {
  DecoderProcess decoder(unpacking_program());
  const std::string picture = testing::jpeg_of(24, 16, 3, 100);
  const std::string cut = picture.substr(0, picture.size() / 2);
  std::vector<std::byte> out(24 * 16 * 3);
  const auto here = testing::error_of([&] { unpack_here(Packing::jpeg, as_bytes(cut), out); });
  const DecodeOutcome apart = decoder.unpack(Packing::jpeg, as_bytes(cut), out);
  ASSERT_TRUE(here);
  EXPECT_EQ(apart.kind, Kind::refused);
  EXPECT_EQ(apart.message, here->message());
  EXPECT_EQ(apart.hint, here->hint());
  EXPECT_EQ(unpacked_by(decoder, Packing::jpeg, picture, out.size()).unpacked.given, out.size())
      << "it goes on";
}

TEST(Unpacking, GoesOnAfterAFileThatTookTooMuchMemory) {
  DecoderOptions options = unpacking_program();
  options.memory = 0;
  DecoderProcess decoder(options);
  if (decoder.greeting().address_space > uint64_t{1} << 40) GTEST_SKIP() << "sanitizers have no limit";
  // A progressive picture is decoded by way of its 18 MB of coefficients.
  const std::string picture = testing::jpeg_of(3000, 3000, 1, 1, true);
  std::vector<std::byte> out(9'000'000);
  const DecodeOutcome outcome = decoder.unpack(Packing::jpeg, as_bytes(picture), out);
  EXPECT_EQ(outcome.kind, Kind::refused);
  const std::string good = packed_as(Packing::gzip, plain_text(5000));
  EXPECT_TRUE(unpacked_by(decoder, Packing::gzip, good, 5000) == unpacked_here(Packing::gzip, good, 5000));
}

/// The exit status, or 0 where it unpacks, of a process that has only this to unpack by.
int status_of_unpacking_by(const char* decoder, const PackedCase& each) {
  ::setenv("LARMOR_DECODER", decoder, 1);
  std::vector<std::byte> out(each.size);
  const auto error = testing::error_of([&] { unpack_apart(each.packing, as_bytes(each.packed), out); });
  if (error) std::fputs(error->message().c_str(), stderr);
  return error ? static_cast<int>(error->exit()) : 0;
}

TEST(Unpacking, IsDoneInTheReadingProcessByThePersonsWishAlone) {
  for (const PackedCase& each : packed_cases()) {
    if (each.size == 0 || each.size == 4000 || each.size > 5000) continue;
    EXPECT_EXIT(std::_Exit(status_of_unpacking_by("/bin/true", each)),
                ::testing::ExitedWithCode(static_cast<int>(Exit::data)),
                "its compressed data have no decoder");
    EXPECT_EXIT(std::_Exit(status_of_unpacking_by("none", each)), ::testing::ExitedWithCode(0), "");
  }
}

}  // namespace
}  // namespace larmor

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "signpost/metadata/hessian2/codec.h"
#include "signpost/tests/metadata/hessian2/show_value.h"

namespace signpost::hessian2 {
namespace {

std::string FromHex(absl::string_view hex) {
  return absl::HexStringToBytes(absl::StrReplaceAll(hex, {{" ", ""}}));
}

// One value after the other, without line ends.
std::string ShowHex(absl::string_view hex) {
  return absl::StrReplaceAll(ShowMessage(FromHex(hex)), {{"\n", ";"}});
}

absl::Status DecodeOne(absl::string_view bytes, const DecodeLimits& limits = {}) {
  return Decoder(bytes, limits).Next().status();
}

void ExpectRefused(const std::string& bytes, absl::string_view why,
                   const DecodeLimits& limits = {}) {
  Decoder decoder(bytes, limits);
  for (;;) {
    const auto value = decoder.Next();
    if (value.ok()) continue;
    EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(value.status().message(), why)) << value.status();
    EXPECT_TRUE(absl::StartsWith(value.status().message(), "Hessian 2, byte "));
    return;
  }
}

using Cases = std::vector<std::pair<const char*, const char*>>;

void ExpectAll(const Cases& cases) {
  for (const auto& [hex, shown] : cases) EXPECT_EQ(ShowHex(hex), absl::StrCat(shown, ";")) << hex;
}

TEST(DecoderTest, NullAndBooleans) { ExpectAll({{"4e", "null"}, {"54", "true"}, {"46", "false"}}); }

TEST(DecoderTest, IntInEveryForm) {
  ExpectAll({{"90", "0"},
             {"80", "-16"},
             {"bf", "47"},
             {"c800", "0"},
             {"c000", "-2048"},
             {"c700", "-256"},
             {"cfff", "2047"},
             {"d40000", "0"},
             {"d00000", "-262144"},
             {"d7ffff", "262143"},
             {"4900000000", "0"},
             {"490000012c", "300"},
             {"4980000000", "-2147483648"},
             {"497fffffff", "2147483647"}});
}

TEST(DecoderTest, LongInEveryForm) {
  ExpectAll({{"e0", "0L"},
             {"d8", "-8L"},
             {"ef", "15L"},
             {"f800", "0L"},
             {"f000", "-2048L"},
             {"f700", "-256L"},
             {"ffff", "2047L"},
             {"3c0000", "0L"},
             {"380000", "-262144L"},
             {"3fffff", "262143L"},
             {"5900000000", "0L"},
             {"5980000000", "-2147483648L"},
             {"4c000000000000012c", "300L"},
             {"4c8000000000000000", "-9223372036854775808L"}});
}

TEST(DecoderTest, DoubleInEveryForm) {
  ExpectAll({{"5b", "0d"},
             {"5c", "1d"},
             {"5d00", "0d"},
             {"5d80", "-128d"},
             {"5d7f", "127d"},
             {"5e8000", "-32768d"},
             {"5e7fff", "32767d"},
             // Dubbo's thousandths; the specification has a 32-bit float here.
             {"5f00002fda", "12.25d"},
             {"444028800000000000", "12.25d"},
             {"447ff0000000000000", "infd"}});
}

TEST(DecoderTest, DateInBothForms) {
  ExpectAll({{"4a000000d04b9284b8", "date 894621091000"},
             {"4b00e3838f", "date 894621060000"},
             {"4bffffffff", "date -60000"},
             {"4affffffffffffffff", "date -1"}});
}

TEST(DecoderTest, StringInEveryForm) {
  ExpectAll({{"00", "\"\""},
             {"0568656c6c6f", "\"hello\""},
             {"01c383", "\"\xc3\x83\""},
             {"300568656c6c6f", "\"hello\""},
             {"53000568656c6c6f", "\"hello\""},
             {"52000768656c6c6f2c2005776f726c64", "\"hello, world\""},
             {"52000161520000520001623001 63", "\"abc\""}});
}

TEST(DecoderTest, LengthsCountUtf16Units) {
  ExpectAll({// Java and Go: a pair is twice three bytes.
             {"02eda0bdedb880", "\"\xf0\x9f\x98\x80\""},
             {"05 61 eda0bdedb880 c3a9 62",
              "\"a\xf0\x9f\x98\x80\xc3\xa9"
              "b\""},
             {"02eda080edb080", "\"\xf0\x90\x80\x80\""},
             {"02edafbfedbfbf", "\"\xf4\x8f\xbf\xbf\""},
             // Split over two chunks.
             {"520001eda0bd01edb880", "\"\xf0\x9f\x98\x80\""}});
}

TEST(DecoderTest, BinaryInEveryForm) {
  ExpectAll({{"20", "binary \"\""},
             {"23010203", "binary \"\\x01\\x02\\x03\""},
             {"3403010203", "binary \"\\x01\\x02\\x03\""},
             {"420003010203", "binary \"\\x01\\x02\\x03\""},
             {"410002010241000022 0304", "binary \"\\x01\\x02\\x03\\x04\""}});
}

TEST(DecoderTest, ListInEveryForm) {
  ExpectAll({{"78", "[]"},
             {"7a9091", "[0, 1]"},
             {"58929091", "[0, 1]"},
             {"5790915a", "[0, 1]"},
             {"72045b696e749091", "[int[0, 1]"},
             {"56045b696e74929091", "[int[0, 1]"},
             {"55045b696e7490915a", "[int[0, 1]"},
             {"7f4e4e4e4e4e4e4e", "[null, null, null, null, null, null, null]"}});
}

TEST(DecoderTest, TypesAreSharedByListsAndMaps) {
  EXPECT_EQ(ShowHex("7a 7101 61 90 4d90 5a"), "[a[0], a{}];");
  EXPECT_EQ(ShowHex("4d0161 5a 4d0162 5a 7091 7090"), "a{};b{};b[];a[];");
}

TEST(DecoderTest, MapInBothForms) {
  ExpectAll({{"485a", "{}"},
             {"48 01 61 91 92 4e 5a", "{\"a\": 1, 2: null}"},
             {"4d 03 436172 01 61 91 5a", "Car{\"a\": 1}"},
             {"4d 00 5a", "{}"}});
}

TEST(DecoderTest, ObjectsOfASharedClass) {
  const std::string car = "43 03 436172 92 01 61 01 62";
  EXPECT_EQ(ShowHex(car + "60 91 92 60 93 94"),
            "object Car{\"a\": 1, \"b\": 2};object Car{\"a\": 3, \"b\": 4};");
  EXPECT_EQ(ShowHex(car + "4f 90 91 92"), "object Car{\"a\": 1, \"b\": 2};");
  // The second class is defined inside the first object.
  EXPECT_EQ(ShowHex(car + "60 43 01 58 91 01 78 61 90 61 91"),
            "object Car{\"a\": object X{\"x\": 0}, \"b\": object X{\"x\": 1}};");
  EXPECT_EQ(ShowHex("43 01 41 90 43 01 42 90 61 60"), "object B{};object A{};");
}

TEST(DecoderTest, References) {
  EXPECT_EQ(ShowHex("7a 79 91 5191"), "[[1], [1]];");
  EXPECT_EQ(ShowHex("485a 5190"), "{};{};");
  const std::string bytes = FromHex("7a 79 91 5191");
  const auto list = Decoder(bytes, {}).Next();
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ((*list)->items[0], (*list)->items[1]);
}

TEST(DecoderTest, AnExceptionThatIsItsOwnCauseHasNone) {
  const std::string its_class = "43 01 45 92 05 6361757365 01 6d";
  EXPECT_EQ(ShowHex(its_class + "60 5190 01 78"), "object E{\"cause\": null, \"m\": \"x\"};");
  EXPECT_EQ(ShowHex(its_class + "60 60 5191 4e 01 78"),
            "object E{\"cause\": object E{\"cause\": null, \"m\": null}, \"m\": \"x\"};");
  // Only so: no other field, nothing further out.
  ExpectRefused(FromHex(its_class + "60 4e 5190"), "not finished");
  ExpectRefused(FromHex(its_class + "60 60 5190 4e 4e"), "not finished");
}

TEST(DecoderTest, WhatIsNotFinishedOrNotThereIsNotReferredTo) {
  ExpectRefused(FromHex("79 5190"), "not finished");
  ExpectRefused(FromHex("48 01 61 5190 5a"), "not finished");
  ExpectRefused(FromHex("5190"), "reference 0: there are 0");
  ExpectRefused(FromHex("78 5191"), "reference 1: there are 1");
  ExpectRefused(FromHex("78 518f"), "reference -1: there are 1");
  ExpectRefused(FromHex("78 51e0"), "reference: no int");
  ExpectRefused(FromHex("7190 4e"), "type 0: there are 0");
  ExpectRefused(FromHex("7001 61 7091"), "type 1: there are 1");
  ExpectRefused(FromHex("60"), "class 0: there are 0");
  ExpectRefused(FromHex("4f90"), "class 0: there are 0");
  ExpectRefused(FromHex("43 01 41 90 61"), "class 1: there are 1");
  ExpectRefused(FromHex("43 01 41 90 4f91"), "class 1: there are 1");
}

TEST(DecoderTest, TagsThatBeginNothing) {
  for (const char* hex : {"40", "45", "47", "4a", "50", "5a"}) {
    EXPECT_FALSE(DecodeOne(FromHex(hex)).ok()) << hex;
  }
  ExpectRefused("G", "tag 0x47 begins no value");
  ExpectRefused("\x79Z", "byte 1: tag 0x5a");
  // A class alone is no value.
  ExpectRefused(FromHex("43 01 41 90"), "ends too early");
}

TEST(DecoderTest, TextThatIsNotUtf8) {
  for (const char* hex : {"01ff", "0180", "01c0", "01c080", "01c1bf", "01e08080", "01e09fbf",
                          "01c341", "01e38141", "01f09f9880", "04f09f9880", "01f8"}) {
    EXPECT_FALSE(DecodeOne(FromHex(hex)).ok()) << hex;
  }
  ExpectRefused(FromHex("01f09f9880"), "not UTF-8");
}

TEST(DecoderTest, HalfAPairIsRefused) {
  for (const char* hex : {"01eda0bd", "01edb880", "02eda0bd61", "02eda0bdeda0bd", "02edb880eda0bd",
                          "520001eda0bd00", "520001eda0bd0161", "02eda0bdc3a9"}) {
    ExpectRefused(FromHex(hex), "half of a surrogate pair");
  }
}

TEST(DecoderTest, LengthsThatAreNotThere) {
  for (const char* hex :
       {"0161 05 61", "53ffff61", "33ff61",    "52ffff",     "2f01",     "42ffff01",   "37ff01",
        "41ffff01",   "5300",     "5200",      "30",         "34",       "42",         "410001",
        "41000101",   "52000161", "49000000",  "4c00",       "c8",       "d400",       "3c00",
        "f8",         "59",       "5d",        "5e00",       "5f000000", "44",         "4a",
        "4b",         "51",       "4d",        "4d0161",     "4801 61",  "48",         "55",
        "57",         "5790",     "58",        "70",         "79",       "7990 48 91", "4f",
        "43",         "4301 41",  "430141 91", "43014191 01"}) {
    std::string bytes = FromHex(hex);
    Decoder decoder(bytes, {});
    absl::Status status;
    while (status.ok() && !decoder.done()) status = decoder.Next().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << hex;
  }
}

TEST(DecoderTest, CountsThatCannotBeAreRefusedAtOnce) {
  ExpectRefused(FromHex("58 497fffffff 4e"), "items of a list: 2147483647, and 1 bytes are left");
  ExpectRefused(FromHex("58 4980000000 4e"), "items of a list: -2147483648");
  ExpectRefused(FromHex("56 0161 497fffffff"), "items of a list");
  ExpectRefused(FromHex("43 0141 497fffffff"), "fields of a class");
  ExpectRefused(FromHex("43 0141 8f"), "fields of a class: -1");
  ExpectRefused(FromHex("58 e1 4e"), "items of a list: no int");
  ExpectRefused(FromHex("43 90 90"), "a string is expected");
  ExpectRefused(FromHex("5200014190"), "a string is expected");
  ExpectRefused(FromHex("4100014190"), "binary is expected");
}

TEST(DecoderTest, DepthIsBounded) {
  const DecodeLimits limits{1 << 20, 3};
  EXPECT_TRUE(DecodeOne("\x79\x79\x79N", limits).ok());
  ExpectRefused("\x79\x79\x79\x79N", "deeper than 3", limits);
  ExpectRefused(std::string(1000000, '\x79'), "deeper than 32");
  ExpectRefused(std::string(1000000, 'H'), "deeper than 32");
  ExpectRefused(std::string(1000000, 'W'), "deeper than 32");
  ExpectRefused(FromHex("43 0141 91 0162") + std::string(1000000, '\x60'), "deeper than 32");
}

TEST(DecoderTest, DepthCountsThroughReferences) {
  // Each list has the one before it inside.
  std::string bytes = "W\x78";
  for (int i = 0; i < 31; ++i) absl::StrAppend(&bytes, "\x79\x51", std::string(1, '\x91' + i));
  ExpectRefused(bytes, "deeper than 32");
  // Over several values of a message too.
  bytes = "\x78";
  for (int i = 0; i < 40; ++i) absl::StrAppend(&bytes, "\x79\x51", std::string(1, '\x90' + i));
  ExpectRefused(bytes, "deeper than 32");
}

TEST(DecoderTest, AReferenceBombStaysSmall) {
  // 2^20 nulls, if somebody copied it.
  std::string bytes = "W\x7aNN";
  for (int i = 0; i < 20; ++i) {
    const std::string refer = absl::StrCat("\x51", std::string(1, '\x91' + i));
    absl::StrAppend(&bytes, "\x7a", refer, refer);
  }
  bytes += 'Z';
  EXPECT_TRUE(DecodeOne(bytes, {10000, 32}).ok());
}

TEST(DecoderTest, MemoryIsBounded) {
  const DecodeLimits limits{10000, 32};
  ExpectRefused("W" + std::string(1000, '\xe1'), "more than 10000 bytes", limits);
  ExpectRefused("W" + std::string(1000, 'N'), "more than 10000 bytes", limits);
  ExpectRefused("W" + std::string(1000, '\x78'), "more than 10000 bytes", limits);
  ExpectRefused("H" + std::string(1000, 'N'), "more than 10000 bytes", limits);
  ExpectRefused(absl::StrCat("S\x40", std::string(1, '\0'), std::string(0x4000, 'x')),
                "more than 10000 bytes", limits);
  ExpectRefused(absl::StrCat("B\x40", std::string(1, '\0'), std::string(0x4000, 'x')),
                "more than 10000 bytes", limits);
  // Of all values together.
  ExpectRefused(std::string(1000, '\xe1'), "more than 10000 bytes", limits);
}

TEST(DecoderTest, EachCopyOfATypeIsCounted) {
  const std::string name = absl::StrCat("\x33\xe8", std::string(1000, 'c'));
  const DecodeLimits limits{100000, 32};
  std::string types = absl::StrCat("W\x70", name);
  std::string objects = absl::StrCat("W\x43", name, "\x90");
  for (int i = 0; i < 200; ++i) {
    types += "\x70\x90";
    objects += "\x60";
  }
  ExpectRefused(types + "Z", "more than 100000 bytes", limits);
  ExpectRefused(objects + "Z", "more than 100000 bytes", limits);
  EXPECT_TRUE(DecodeOne(types + "Z").ok());
  EXPECT_TRUE(DecodeOne(objects + "Z").ok());
}

TEST(DecoderTest, ClassesThatNobodyUsesAreCounted) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += FromHex("43 0141 90");
  ExpectRefused(bytes + "N", "more than 10000 bytes", {10000, 32});
  EXPECT_TRUE(DecodeOne(bytes + "N").ok());
  ExpectRefused(FromHex("43 0141 c9ff") + std::string(600, '\0'), "more than 10000 bytes",
                {10000, 32});
}

TEST(DecoderTest, AFailureStays) {
  const std::string bytes = "G\x90\x90";
  Decoder decoder(bytes, {});
  const absl::Status first = decoder.Next().status();
  EXPECT_FALSE(first.ok());
  EXPECT_EQ(decoder.Next().status(), first);
}

TEST(DecoderTest, NothingIsNoValue) {
  Decoder decoder("", {});
  EXPECT_TRUE(decoder.done());
  EXPECT_EQ(decoder.Next().status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace signpost::hessian2

#include "signpost/metadata/triple/metadata_info_v2.h"

#include <gtest/gtest.h>

#include <string>

#include "signpost/metadata/triple/metadata_service_v2.pb.h"

namespace signpost::metadata_triple_internal {
namespace {

namespace v2 = org::apache::dubbo::metadata;

MetadataInfo Sample() {
  MetadataInfo info;
  info.app = "shop";
  info.revision = "r1";
  ServiceInfo service;
  service.name = "a.A";
  service.group = "g";
  service.version = "1.0";
  service.protocol = "tri";
  service.port = 50051;
  service.path = "a.A";
  service.params = {{"timeout", "10"}, {"empty", ""}};
  info.services[service.match_key()] = service;
  service.group = service.version = "";
  service.port = 0;
  info.services[service.match_key()] = service;
  return info;
}

TEST(MetadataInfoV2Test, ThereAndBack) {
  const auto back = ParseMetadataInfoV2(ToWire(Sample()).SerializeAsString());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->app, "shop");
  EXPECT_EQ(back->revision, "r1");
  EXPECT_EQ(back->services, Sample().services);
}

TEST(MetadataInfoV2Test, FieldsAreWhereDubboHasThem) {
  MetadataInfo info;
  info.app = "s";
  info.revision = "r";
  ServiceInfo service;
  service.name = "A";
  service.group = "g";
  service.version = "v";
  service.protocol = "tri";
  service.port = 80;
  service.path = "p";
  service.params = {{"k", "x"}};
  info.services[service.match_key()] = service;
  const std::string params("\x3a\x06\x0a\x01k\x12\x01x", 8);
  const std::string value =
      "\x0a\x01"
      "A\x12\x01g\x1a\x01v\x22\x03tri\x28\x50\x32\x01p" +
      params;
  const std::string key = "g/A:v:tri";
  const std::string entry = std::string("\x0a\x09") + key + "\x12" +
                            std::string(1, static_cast<char>(value.size())) + value;
  EXPECT_EQ(ToWire(info).SerializeAsString(),
            "\x0a\x01s\x12\x01r\x1a" + std::string(1, static_cast<char>(entry.size())) + entry);
}

TEST(MetadataInfoV2Test, VersionCarriesTheRevision) { EXPECT_EQ(ToWire(Sample()).version(), "r1"); }

TEST(MetadataInfoV2Test, KeysAreMatchKeys) {
  const v2::MetadataInfoV2 wire = ToWire(Sample());
  EXPECT_EQ(wire.services_size(), 2);
  EXPECT_EQ(wire.services().count("g/a.A:1.0:tri"), 1u);
  EXPECT_EQ(wire.services().count("a.A:tri"), 1u);
}

TEST(MetadataInfoV2Test, WhatCannotBeUsedIsLeftOut) {
  v2::MetadataInfoV2 wire;
  (*wire.mutable_services())["x"].set_name("a.A");  // no protocol
  (*wire.mutable_services())["y"].set_protocol("tri");
  v2::ServiceInfoV2& service = (*wire.mutable_services())["any text"];
  service.set_name("a.B");
  service.set_protocol("tri");
  const MetadataInfo info = FromWire(wire);
  ASSERT_EQ(info.services.size(), 1u);
  EXPECT_EQ(info.services.begin()->first, "a.B:tri");
  EXPECT_EQ(info.services.begin()->second.path, "a.B");
}

TEST(MetadataInfoV2Test, PortsThatAreNoneAreLeftToTheEndpoints) {
  for (const int32_t port : {0, -1, 65536, INT32_MAX, INT32_MIN}) {
    v2::MetadataInfoV2 wire;
    v2::ServiceInfoV2& service = (*wire.mutable_services())["a.A:tri"];
    service.set_name("a.A");
    service.set_protocol("tri");
    service.set_port(port);
    EXPECT_EQ(FromWire(wire).services.at("a.A:tri").port, 0) << port;
  }
  MetadataInfo info = Sample();
  info.services.begin()->second.port = -1;
  EXPECT_EQ(ToWire(info).services().at(info.services.begin()->second.match_key()).port(), 0);
}

// Peers refuse a message with such a string as a whole.
TEST(MetadataInfoV2Test, WhatIsNotUtf8IsNotSent) {
  MetadataInfo info = Sample();
  info.services.at("a.A:tri").params["bad"] = "\xff";
  info.services.at("a.A:tri").params["\xff"] = "bad";
  ServiceInfo bad = info.services.at("a.A:tri");
  bad.name = "a.\xc3";
  info.services[bad.match_key()] = bad;
  const auto back = ParseMetadataInfoV2(ToWire(info).SerializeAsString());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->services, Sample().services);
}

TEST(MetadataInfoV2Test, DubboGosTagIsPassedOver) {
  const std::string tag("\x22\x03red", 5);
  const auto info = ParseMetadataInfoV2(ToWire(Sample()).SerializeAsString() + tag);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->services.size(), 2u);
}

TEST(MetadataInfoV2Test, NothingIsAMessage) {
  const auto info = ParseMetadataInfoV2("");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_TRUE(info->revision.empty());
}

TEST(MetadataInfoV2Test, GarbageIsAnError) {
  const std::string good = ToWire(Sample()).SerializeAsString();
  for (const std::string& bytes :
       {good.substr(0, good.size() - 1), std::string("\x0a\xff\xff\xff\xff\x7f", 6),
        std::string("\x0a\x01\xff", 3), std::string(11, '\x80'), std::string("{}")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseMetadataInfoV2(bytes).status()))
        << testing::PrintToString(bytes);
  }
}

}  // namespace
}  // namespace signpost::metadata_triple_internal

#include "signpost/metadata/thrift/wire.h"

#include <gtest/gtest.h>

namespace signpost::metadata_thrift_internal {
namespace {

TEST(WireTest, ThereAndBack) {
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
  service.params = {{"timeout", "10"}};
  info.services[service.match_key()] = service;
  service.group = service.version = "";
  service.port = 0;
  info.services[service.match_key()] = service;
  const MetadataInfo back = FromWire(ToWire(info));
  EXPECT_EQ(back.app, "shop");
  EXPECT_EQ(back.revision, "r1");
  EXPECT_EQ(back.services, info.services);
}

TEST(WireTest, WhatCannotBeUsedIsLeftOut) {
  metadata_wire::MetadataInfo wire;
  wire.services["x"].name = "a.A";  // no protocol
  wire.services["y"].protocol = "tri";
  wire.services["any text"].name = "a.B";
  wire.services["any text"].protocol = "tri";
  const MetadataInfo info = FromWire(wire);
  ASSERT_EQ(info.services.size(), 1u);
  EXPECT_EQ(info.services.begin()->first, "a.B:tri");
  EXPECT_EQ(info.services.begin()->second.path, "a.B");
}

}  // namespace
}  // namespace signpost::metadata_thrift_internal

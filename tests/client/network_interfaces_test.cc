#include "signpost/client/network_interfaces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace signpost {
namespace {

TEST(NetworkInterfacesTest, TheLoopbackIsThere) {
  auto addresses = SystemNetworkInterfaces()->Addresses();
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  const auto loopback =
      std::find_if(addresses->begin(), addresses->end(),
                   [](const InterfaceAddress& address) { return address.ip == "127.0.0.1"; });
  ASSERT_NE(loopback, addresses->end());
  EXPECT_TRUE(loopback->loopback);
  EXPECT_TRUE(loopback->up);
  EXPECT_FALSE(loopback->alias);
  EXPECT_FALSE(loopback->interface.empty());
  for (const InterfaceAddress& address : *addresses) {
    EXPECT_EQ(address.ip.find_first_not_of("0123456789abcdef:."), std::string::npos) << address.ip;
  }
}

TEST(NetworkInterfacesTest, RouteToTheLoopback) {
  auto route = SystemNetworkInterfaces()->RouteTo("127.0.0.1", 2181);
  ASSERT_TRUE(route.ok()) << route.status();
  EXPECT_EQ(*route, "127.0.0.1");
  // Any port will do: nothing is sent.
  EXPECT_EQ(*SystemNetworkInterfaces()->RouteTo("127.0.0.7", 0), "127.0.0.1");
}

// The broadcast address may not be connected to.
TEST(NetworkInterfacesTest, NoRoute) {
  auto route = SystemNetworkInterfaces()->RouteTo("255.255.255.255", 2181);
  EXPECT_EQ(route.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(route.status().message().find("255.255.255.255"), absl::string_view::npos);
}

}  // namespace
}  // namespace signpost

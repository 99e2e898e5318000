#include "signpost/common/address_pattern.h"

#include <gtest/gtest.h>
#include <netdb.h>

#include <string>

// TC-05: matching looks up no name.
extern "C" int getaddrinfo(const char*, const char*, const addrinfo*, addrinfo**) {
  ADD_FAILURE() << "a name was looked up";
  return EAI_FAIL;
}
extern "C" hostent* gethostbyname(const char*) {
  ADD_FAILURE() << "a name was looked up";
  return nullptr;
}

namespace signpost {
namespace {

bool Match(absl::string_view pattern) { return MatchesAddressPattern(pattern, "192.0.2.63", 90); }

// TC-05
TEST(AddressPatternTest, Case05) {
  EXPECT_TRUE(Match("192.0.2.*:90"));
  EXPECT_TRUE(Match("*.*.*.*:90"));
  EXPECT_FALSE(Match("192.0.2.*:80"));
  EXPECT_TRUE(Match("192.0.2.60-70"));
  EXPECT_TRUE(Match("192.0.2.0/24"));
  EXPECT_FALSE(Match("2001:db8:*"));
  EXPECT_FALSE(Match("192.0.2.999"));
  EXPECT_FALSE(Match("shop.example.org"));
}

TEST(AddressPatternTest, Exact) {
  EXPECT_TRUE(Match("192.0.2.63"));
  EXPECT_TRUE(Match("192.0.2.63:90"));
  EXPECT_FALSE(Match("192.0.2.6"));
  EXPECT_FALSE(Match("192.0.2.63:9"));
  EXPECT_TRUE(Match("*"));
  EXPECT_TRUE(Match("0.0.0.0"));
  EXPECT_TRUE(Match("0.0.0.0:90"));
  EXPECT_FALSE(Match("0.0.0.0:91"));
}

TEST(AddressPatternTest, Ranges) {
  EXPECT_FALSE(Match("192.0.2.64-70"));
  EXPECT_FALSE(Match("192.0.2.70-60"));
  EXPECT_FALSE(Match("192.0.2.60-999"));
  EXPECT_TRUE(Match("190-200.*.2.63"));
}

TEST(AddressPatternTest, Networks) {
  EXPECT_TRUE(Match("0.0.0.0/0"));
  EXPECT_TRUE(Match("192.0.2.63/32"));
  EXPECT_FALSE(Match("192.0.2.62/32"));
  EXPECT_TRUE(Match("192.0.2.62/31"));
  EXPECT_FALSE(Match("192.0.2.0/33"));
  EXPECT_FALSE(Match("192.0.2.0/"));
  EXPECT_FALSE(Match("::/0"));
  EXPECT_TRUE(MatchesAddressPattern("2001:db8::/33", "[2001:db8:7fff::1]", 1));
  EXPECT_FALSE(MatchesAddressPattern("2001:db8::/33", "2001:db8:8000::1", 1));
}

TEST(AddressPatternTest, Version6) {
  EXPECT_TRUE(MatchesAddressPattern("2001:db8:*", "2001:db8::1", 1));
  EXPECT_FALSE(MatchesAddressPattern("2001:db9:*", "2001:db8::1", 1));
  EXPECT_TRUE(MatchesAddressPattern("[2001:db8::1]:7", "2001:DB8:0::1", 7));
  EXPECT_FALSE(MatchesAddressPattern("[2001:db8::1]:7", "2001:db8::1", 8));
  EXPECT_TRUE(MatchesAddressPattern("2001:db8:0:0:0:0:0:0-f", "[2001:db8::a]", 8));
}

TEST(AddressPatternTest, NamesMatchOnlyThemselves) {
  EXPECT_TRUE(MatchesAddressPattern("node-1.example", "node-1.example", 1));
  EXPECT_FALSE(MatchesAddressPattern("node-*.example", "node-1.example", 1));
  EXPECT_FALSE(MatchesAddressPattern("127.0.0.1", "localhost", 1));
}

TEST(AddressPatternTest, MalformedMatchesNothing) {
  for (absl::string_view pattern :
       {"", ":", ":90", "[", "[]", "[]:90", "192.0.2", "192.0.2.63.1", "192.0.2.", "-", "*.*.*.-",
        "192.0.2.63:", "192.0.2.63:x", "192.0.2.63:99999", "/", "*/*", "999.*.*.*", "*.*.*.999"}) {
    EXPECT_FALSE(Match(pattern)) << pattern;
  }
  EXPECT_FALSE(Match(std::string(1 << 20, '*')));
  EXPECT_FALSE(MatchesAddressPattern("*", "", 1));
}

}  // namespace
}  // namespace signpost

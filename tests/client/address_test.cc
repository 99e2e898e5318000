#include "signpost/client/address.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/log.h"
#include "tests/support/fake_network_interfaces.h"
#include "tests/support/kept_log.h"

namespace signpost {
namespace {

InterfaceAddress On(std::string interface, std::string ip) {
  InterfaceAddress address;
  address.interface = std::move(interface);
  address.ip = std::move(ip);
  return address;
}

InterfaceAddress Loopback(std::string ip) {
  InterfaceAddress address = On("lo", std::move(ip));
  address.loopback = true;
  return address;
}

InterfaceAddress Down(std::string interface, std::string ip) {
  InterfaceAddress address = On(std::move(interface), std::move(ip));
  address.up = false;
  return address;
}

InterfaceAddress Alias(std::string interface, std::string ip) {
  InterfaceAddress address = On(std::move(interface), std::move(ip));
  address.alias = true;
  return address;
}

// A machine with several networks; the registry 203.0.113.9 is reached through eth1.
std::vector<InterfaceAddress> Machine() {
  return {Loopback("127.0.0.1"),
          Down("eth9", "192.0.2.90"),
          Alias("eth0:1", "192.0.2.11"),
          On("docker0", "172.17.0.1"),
          On("eth0", "192.0.2.10"),
          On("eth1", "198.51.100.10"),
          Loopback("::1"),
          On("eth0", "fe80::1"),
          On("eth0", "2001:db8::10"),
          On("eth6", "2001:db8::60")};
}

const char kRegistry[] = "zookeeper://203.0.113.9:2181";
const char kAny[] = "tri://0.0.0.0:50051/org.example.Greeter";

class AddressTest : public testing::Test {
 protected:
  AddressTest() {
    interfaces_->addresses = Machine();
    interfaces_->routes["203.0.113.9"] = "198.51.100.10";
    interfaces_->routes["2001:db8::99"] = "2001:db8::10";
    interfaces_->routes["127.0.0.1"] = "127.0.0.1";
    SetLogThreshold(LogLevel::kError);
  }
  ~AddressTest() override { SetLogThreshold(LogLevel::kInfo); }

  // The address that is registered, or the error.
  std::string Registered(const std::string& exported, AddressOptions options = {},
                         const std::string& registry = kRegistry) {
    EXPECT_TRUE(CheckAddressOptions(options).ok());
    const Url url = registry.empty() ? Url() : *Url::Parse(registry);
    AddressSelector selector(std::move(options), url, interfaces_);
    absl::StatusOr<Url> parsed = Url::Parse(exported);
    EXPECT_TRUE(parsed.ok()) << exported;
    absl::StatusOr<Url> complete = selector.Complete(*parsed);
    return complete.ok() ? complete->address() : std::string(complete.status().message());
  }

  std::shared_ptr<FakeNetworkInterfaces> interfaces_ = std::make_shared<FakeNetworkInterfaces>();
};

// The table of docs/options.md from its last line to its first: each row sets one thing more, which
// wins over all that were set before.
TEST_F(AddressTest, TheOrder) {
  AddressOptions options;
  interfaces_->addresses = {Loopback("127.0.0.1")};
  EXPECT_EQ(Registered(kAny, options, ""), "127.0.0.1:50051") << "loopback, at last";

  interfaces_->addresses = Machine();
  EXPECT_EQ(Registered(kAny, options, ""), "172.17.0.1:50051") << "first usable";

  EXPECT_EQ(Registered(kAny, options), "198.51.100.10:50051") << "route to the registry";

  options.preferred_interfaces = "eth0";
  EXPECT_EQ(Registered(kAny, options), "192.0.2.10:50051") << "preferred interface";

  options.host = "192.0.2.200";
  EXPECT_EQ(Registered(kAny, options), "192.0.2.200:50051") << "host option";

  const std::string explicit_host = "tri://192.0.2.201:50051/org.example.Greeter";
  EXPECT_EQ(Registered(explicit_host, options), "192.0.2.201:50051") << "host in the URL";

  options.advertised.host = "192.0.2.202";
  options.advertised.port = 30001;
  EXPECT_EQ(Registered(explicit_host, options), "192.0.2.202:30001") << "advertised";

  options.advertised_by_protocol["tri"].host = "192.0.2.203";
  options.advertised_by_protocol["tri"].port = 30002;
  EXPECT_EQ(Registered(explicit_host, options), "192.0.2.203:30002") << "advertised, protocol's";
  EXPECT_EQ(Registered("dubbo://192.0.2.201:20880/org.example.Greeter", options),
            "192.0.2.202:30001");
}

TEST_F(AddressTest, Wildcards) {
  AddressOptions options;
  options.preferred_interfaces = "eth0";
  for (const char* host : {"0.0.0.0", "[::]", "[0:0:0:0:0:0:0:0]"}) {
    EXPECT_EQ(Registered(absl::StrCat("tri://", host, ":1/a.B"), options), "192.0.2.10:1") << host;
  }
  Url::Parts parts;
  parts.protocol = "tri";
  parts.port = 1;
  parts.path = "a.B";
  AddressSelector selector(options, Url(), interfaces_);
  EXPECT_EQ(selector.Complete(Url(parts))->address(), "192.0.2.10:1");
  // Names and other addresses stay as they are, the loopback too.
  for (const char* host : {"127.0.0.1", "localhost", "[2001:db8::1]", "shop.example.org"}) {
    EXPECT_EQ(Registered(absl::StrCat("tri://", host, ":1/a.B"), options),
              absl::StrCat(host, ":1"));
  }
}

TEST_F(AddressTest, Ipv6StandsInBrackets) {
  AddressOptions options;
  options.preferred_interfaces = "eth6";
  EXPECT_EQ(Registered("tri://[::]:1/a.B", options), "[2001:db8::60]:1");
  // Who listens on 0.0.0.0 does not answer on IPv6.
  EXPECT_EQ(Registered("tri://0.0.0.0:1/a.B", options), "198.51.100.10:1");
  EXPECT_EQ(Registered("tri://[::]:1/a.B", {}, "zookeeper://[2001:db8::99]:2181"),
            "[2001:db8::10]:1");
  EXPECT_EQ(Registered("tri://0.0.0.0:1/a.B", {}, "zookeeper://[2001:db8::99]:2181"),
            "172.17.0.1:1");
  for (const char* host : {"2001:db8::7", "[2001:db8::7]"}) {
    options = AddressOptions();
    options.advertised.host = host;
    EXPECT_EQ(Registered(kAny, options), "[2001:db8::7]:50051");
    options = AddressOptions();
    options.host = host;
    EXPECT_EQ(Registered(kAny, options), "[2001:db8::7]:50051");
  }
}

TEST_F(AddressTest, AHostWithAZoneIsRefused) {
  for (const char* host : {"[fe80::1%eth0]", "[fe80::1%25eth0]", "[::%eth0]"}) {
    const std::string said = Registered(absl::StrCat("tri://", host, ":1/a.B"));
    EXPECT_TRUE(absl::StrContains(said, "an address with a zone")) << said;
  }
  // Another one is told.
  AddressOptions options;
  options.advertised.host = "192.0.2.50";
  EXPECT_EQ(Registered("tri://[fe80::1%eth0]:1/a.B", options), "192.0.2.50:1");
}

TEST_F(AddressTest, PreferredAndIgnoredInterfaces) {
  const struct {
    const char* preferred;
    const char* ignored;
    const char* registered;
  } cases[] = {
      {"eth0", "", "192.0.2.10"},
      {"eth.*", "", "192.0.2.10"},
      {"eth7, eth1", "", "198.51.100.10"},
      // Names of a list in its order, not in the kernel's.
      {"eth1,eth0", "", "198.51.100.10"},
      // A pattern is one of the whole name.
      {"eth", "", "198.51.100.10"},
      // Down, an alias, the loopback, what is not there: as if nothing were preferred.
      {"eth9", "", "198.51.100.10"},
      {"eth0:1", "", "198.51.100.10"},
      {"lo", "", "198.51.100.10"},
      {"wlan0", "", "198.51.100.10"},
      {"", "docker0", "198.51.100.10"},
      // Also the route's.
      {"", "eth1", "172.17.0.1"},
      {"", "eth1,docker.*", "192.0.2.10"},
      {"", "eth1 , docker0", "192.0.2.10"},
      // Ignored goes before preferred.
      {"eth0", "eth0", "198.51.100.10"},
  };
  for (const auto& c : cases) {
    AddressOptions options;
    options.preferred_interfaces = c.preferred;
    options.ignored_interfaces = c.ignored;
    EXPECT_EQ(Registered(kAny, options), absl::StrCat(c.registered, ":50051"))
        << "preferred " << c.preferred << ", ignored " << c.ignored;
  }
}

TEST_F(AddressTest, TheRouteOfTheFirstServerThatHasOne) {
  EXPECT_EQ(Registered(kAny, {}, "zookeeper://203.0.113.77:2181,203.0.113.9:2181"),
            "198.51.100.10:50051");
  // A registry on this machine says nothing of how others come here.
  EXPECT_EQ(Registered(kAny, {}, "zookeeper://127.0.0.1:2181"), "172.17.0.1:50051");
  EXPECT_EQ(Registered(kAny, {}, "zookeeper://203.0.113.77:2181"), "172.17.0.1:50051");
}

TEST_F(AddressTest, AddressesOfALinkAreNotRegistered) {
  interfaces_->addresses = {On("eth0", "169.254.7.7"), On("eth0", "fe80::7"),
                            On("eth1", "192.0.2.3")};
  interfaces_->routes["203.0.113.9"] = "169.254.7.7";
  EXPECT_EQ(Registered("tri://[::]:1/a.B"), "192.0.2.3:1");
}

TEST_F(AddressTest, NoAddressAtAllIsAnErrorThatSaysWhatToDo) {
  interfaces_->addresses = {Down("eth0", "192.0.2.1"), On("eth1", "fe80::1")};
  interfaces_->routes.clear();
  EXPECT_TRUE(absl::StrContains(Registered(kAny), "set DUBBO_IP_TO_REGISTRY")) << Registered(kAny);
  AddressSelector selector({}, Url(), interfaces_);
  EXPECT_EQ(selector.Complete(*Url::Parse(kAny)).status().code(),
            absl::StatusCode::kFailedPrecondition);
  // Nothing is remembered: an interface may come up.
  interfaces_->addresses = Machine();
  EXPECT_EQ(selector.Complete(*Url::Parse(kAny))->address(), "172.17.0.1:50051");
}

TEST_F(AddressTest, WhatWasChosenStays) {
  AddressSelector selector({}, Url(), interfaces_);
  EXPECT_EQ(selector.Complete(*Url::Parse(kAny))->host(), "172.17.0.1");
  interfaces_->addresses = {On("eth5", "192.0.2.50")};
  EXPECT_EQ(selector.Complete(*Url::Parse("tri://0.0.0.0:2/a.C"))->address(), "172.17.0.1:2");
  EXPECT_EQ(interfaces_->asked, 1);
}

TEST_F(AddressTest, AConsumerIsSeenAtTheHostOfExports) {
  AddressSelector selector({}, Url(), interfaces_);
  EXPECT_EQ(selector.ConsumerHost(), "172.17.0.1");
  interfaces_->addresses = {On("eth5", "192.0.2.50")};
  EXPECT_EQ(selector.ConsumerHost(), "172.17.0.1");
  EXPECT_EQ(selector.Complete(*Url::Parse(kAny))->host(), "172.17.0.1");
  EXPECT_EQ(interfaces_->asked, 1);

  AddressOptions options;
  options.host = "2001:db8::7";
  EXPECT_EQ(AddressSelector(options, Url(), interfaces_).ConsumerHost(), "[2001:db8::7]");
  options.advertised.host = "2001:db8::8";
  options.advertised.port = 7;
  EXPECT_EQ(AddressSelector(options, Url(), interfaces_).ConsumerHost(), "[2001:db8::8]");
}

TEST_F(AddressTest, AConsumerWithoutAnAddressDoesNotLookAgain) {
  interfaces_->addresses = {Down("eth0", "192.0.2.1")};
  AddressSelector selector({}, Url(), interfaces_);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(selector.ConsumerHost(), "");
  EXPECT_EQ(interfaces_->asked, 1);
  // An export does, and then consumers have it too.
  EXPECT_FALSE(selector.Complete(*Url::Parse(kAny)).ok());
  EXPECT_EQ(interfaces_->asked, 2);
  interfaces_->addresses = Machine();
  EXPECT_EQ(selector.ConsumerHost(), "");
  EXPECT_EQ(selector.Complete(*Url::Parse(kAny))->host(), "172.17.0.1");
  EXPECT_EQ(selector.ConsumerHost(), "172.17.0.1");
  EXPECT_EQ(interfaces_->asked, 3);
}

TEST_F(AddressTest, OnlyExportsWarnAndOnce) {
  KeptLog log(LogLevel::kWarning);
  interfaces_->addresses = {Loopback("127.0.0.1")};
  AddressOptions options;
  options.preferred_interfaces = "eth0";
  AddressSelector selector(options, Url(), interfaces_);
  EXPECT_EQ(selector.ConsumerHost(), "127.0.0.1");
  EXPECT_EQ(log.text(), "");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(selector.Complete(*Url::Parse(kAny))->host(), "127.0.0.1");
    ASSERT_EQ(log.lines().size(), 2u) << log.text();
    EXPECT_TRUE(absl::StrContains(log.lines()[0], "preferred interfaces eth0"));
    EXPECT_TRUE(absl::StrContains(log.lines()[1], "127.0.0.1 is registered"));
  }
  EXPECT_EQ(interfaces_->asked, 2);
}

TEST_F(AddressTest, AnExportDoesNotTakeALoopbackThatSufficedForAConsumer) {
  KeptLog log(LogLevel::kWarning);
  interfaces_->addresses = {Loopback("127.0.0.1")};
  AddressSelector selector({}, Url(), interfaces_);
  EXPECT_EQ(selector.ConsumerHost(), "127.0.0.1");
  interfaces_->addresses = Machine();
  EXPECT_EQ(selector.Complete(*Url::Parse(kAny))->host(), "172.17.0.1");
  EXPECT_EQ(log.text(), "");
}

TEST_F(AddressTest, InterfacesAreNotAskedWithoutNeed) {
  AddressOptions options;
  options.advertised.host = "192.0.2.1";
  Registered(kAny, options);
  options = AddressOptions();
  options.host = "192.0.2.1";
  Registered(kAny, options);
  Registered("tri://192.0.2.1:1/a.B");
  EXPECT_EQ(interfaces_->asked, 0);
}

TEST_F(AddressTest, ThePortAloneMayBeAnother) {
  AddressOptions options;
  options.advertised.port = 31000;
  EXPECT_EQ(Registered("tri://192.0.2.1:50051/a.B", options), "192.0.2.1:31000");
  // Also one that was not known: port 0.
  EXPECT_EQ(Registered("tri://192.0.2.1/a.B", options), "192.0.2.1:31000");
  options = AddressOptions();
  options.advertised_by_protocol["tri"].port = 31001;
  options.advertised.host = "192.0.2.9";
  EXPECT_EQ(Registered("tri://192.0.2.1:50051/a.B", options), "192.0.2.9:31001");
  EXPECT_EQ(Registered("dubbo://192.0.2.1:20880/a.B", options), "192.0.2.9:20880");
}

TEST_F(AddressTest, UsableHosts) {
  for (const char* host : {"192.0.2.1", "127.0.0.1", "2001:db8::1", "[2001:db8::1]", "shop",
                           "shop-1.example.org", "a_b", "::1"}) {
    EXPECT_TRUE(IsUsableHost(host)) << host;
  }
  for (const char* host : {"",      "0.0.0.0", "::",           "[::]",        "300.1.2.3",
                           "1.2.3", "12",      "fe80::1%eth0", "[192.0.2.1]", "a b",
                           "a/b",   "a:1",     "192.0.2.1:80", "[",           "[]",
                           "a\nb",  "-a",      ".a",           "u@h",         "a,b"}) {
    EXPECT_FALSE(IsUsableHost(host)) << host;
  }
  EXPECT_FALSE(IsUsableHost(std::string(254, 'a')));
}

TEST_F(AddressTest, OptionsAreChecked) {
  const auto fault = [](AddressOptions options) {
    const absl::Status status = CheckAddressOptions(options);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_TRUE(CheckAddressOptions(AddressOptions()).ok());
  AddressOptions options;
  options.advertised.host = "not a host";
  EXPECT_TRUE(absl::StrContains(fault(options), "advertised host 'not a host'"));
  options = AddressOptions();
  options.advertised_by_protocol["tri"].host = "0.0.0.0";
  EXPECT_TRUE(absl::StrContains(fault(options), "of tri"));
  options = AddressOptions();
  options.host = "a/b";
  EXPECT_TRUE(absl::StrContains(fault(options), "host 'a/b'"));
  options.host = "0.0.0.0";
  EXPECT_TRUE(CheckAddressOptions(options).ok());
  options.ignored_interfaces = "eth0,br-(";
  EXPECT_TRUE(absl::StrContains(fault(options), "'br-('"));
  options = AddressOptions();
  options.preferred_interfaces = std::string(5000, 'a');
  EXPECT_TRUE(absl::StrContains(fault(options), "longer"));
}

}  // namespace
}  // namespace signpost

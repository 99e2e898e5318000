// Which address is registered, with real network interfaces: in a network of the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/client/address.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/memory.h"
#include "signpost/common/clock.h"
#include "signpost/common/log.h"
#include "tests/support/child_process.h"

namespace signpost {
namespace {

using testing::Contains;

bool Ip(const std::string& words) {
  return std::system(absl::StrCat("ip ", words, " >&2").c_str()) == 0;
}

// A pair is up as soon as both of its ends are.
bool AddInterface(const std::string& name, const std::string& address, bool up = true) {
  return Ip(absl::StrCat("link add ", name, " type veth peer name p-", name)) &&
         Ip(absl::StrCat("addr add ", address, " dev ", name)) &&
         (!up || Ip(absl::StrCat("link set p-", name, " up"))) &&
         Ip(absl::StrCat("link set ", name, " up"));
}

bool IsUp(const std::string& ip) {
  const auto addresses = SystemNetworkInterfaces()->Addresses();
  return addresses.ok() &&
         std::any_of(addresses->begin(), addresses->end(), [&ip](const InterfaceAddress& address) {
           return address.ip == ip && address.up;
         });
}

// The kernel tells a moment later that there is a carrier.
bool WaitForUp(const std::string& ip) {
  const absl::Duration end = Clock::Real().MonotonicNow() + absl::Seconds(10);
  while (!IsUp(ip)) {
    if (Clock::Real().MonotonicNow() > end || !Ip("link show lo")) return false;
  }
  return true;
}

// Made once for all tests of this process, which never leaves it.
std::string MakeNetwork() {
  if (std::system("command -v ip >/dev/null 2>&1") != 0) return "no command `ip` (iproute2)";
  if (unshare(CLONE_NEWNET) != 0) {
    return absl::StrCat("no network name space may be made here: ", strerror(errno));
  }
  if (!Ip("link set lo up") || !AddInterface("down0", "192.0.2.90/24", /*up=*/false)) {
    return "no veth interface may be made here";
  }
  EXPECT_TRUE(AddInterface("sub0", "192.0.2.91/32 label sub0:1"));
  EXPECT_TRUE(AddInterface("docker0", "172.17.0.1/16"));
  EXPECT_TRUE(AddInterface("eth0", "192.0.2.10/24"));
  EXPECT_TRUE(AddInterface("eth1", "198.51.100.10/24"));
  for (const char* ip : {"172.17.0.1", "192.0.2.10", "198.51.100.10"}) EXPECT_TRUE(WaitForUp(ip));
  EXPECT_TRUE(Ip("route add 203.0.113.0/24 dev eth1"));
  return "";
}

class RegisteredAddressTest : public testing::Test {
 protected:
  void SetUp() override {
    static const auto* const hindrance = new std::string(MakeNetwork());
    if (!hindrance->empty()) GTEST_SKIP() << *hindrance;
  }

  static std::string Registered(const AddressOptions& options, const std::string& exported,
                                const std::string& registry = "") {
    AddressSelector selector(options, registry.empty() ? Url() : *Url::Parse(registry), nullptr);
    const absl::StatusOr<Url> complete = selector.Complete(*Url::Parse(exported));
    return complete.ok() ? complete->address() : std::string(complete.status().message());
  }

  // What `signpost provide` says that it registered for the instance.
  static std::string Provided(std::vector<std::string> environment,
                              std::vector<std::string> arguments) {
    std::vector<std::string> words = {"/usr/bin/env", "-i"};
    words.insert(words.end(), environment.begin(), environment.end());
    words.insert(words.end(), {"tools/signpost", "provide", "--service=org.example.Greeter"});
    words.insert(words.end(), arguments.begin(), arguments.end());
    ChildProcess process(words);
    const std::string line = "registered /services/";
    EXPECT_TRUE(process.WaitForOutput(line, absl::Seconds(60))) << process.output();
    process.Signal(SIGTERM);
    EXPECT_EQ(process.Wait(absl::Seconds(60)), 0) << process.output();
    const std::string output = process.output();
    const size_t begin = output.find(line);
    if (begin == std::string::npos) return output;
    return output.substr(begin + line.size(), output.find('\n', begin) - begin - line.size());
  }
};

TEST_F(RegisteredAddressTest, TheOrderOverRealInterfaces) {
  const std::string any = "tri://0.0.0.0:50051/org.example.Greeter";
  const std::string far = "zookeeper://203.0.113.9:2181";
  AddressOptions options;
  EXPECT_EQ(Registered(options, any), "172.17.0.1:50051") << "neither down0 nor the alias of sub0";
  EXPECT_EQ(Registered(options, any, far), "198.51.100.10:50051") << "the route";
  EXPECT_EQ(Registered(options, any, "zookeeper://192.0.2.10:2181"), "192.0.2.10:50051")
      << "a registry on this machine";
  EXPECT_EQ(Registered(options, any, "zookeeper://127.0.0.1:2181"), "172.17.0.1:50051");
  EXPECT_EQ(Registered(options, any, "zookeeper://100.64.0.1:2181"), "172.17.0.1:50051")
      << "no route";
  options.ignored_interfaces = "docker.*,eth1";
  EXPECT_EQ(Registered(options, any, far), "192.0.2.10:50051");
  options.ignored_interfaces = "";
  options.preferred_interfaces = "down0,sub0,eth0";
  EXPECT_EQ(Registered(options, any, far), "192.0.2.10:50051");
  options.ignored_interfaces = "docker0,eth.*";
  EXPECT_EQ(Registered(options, any, far), "127.0.0.1:50051") << "the loopback is better than none";
}

TEST_F(RegisteredAddressTest, AClientRegistersTheAddressOfItsRoute) {
  RegistryFactories registries("registry");
  ASSERT_TRUE(AddMemory(registries).ok());
  const RegistryFactory memory = **registries.Find("memory");
  ASSERT_TRUE(registries
                  .Add("far",
                       [memory](const Url&, const CentreOptions& options) {
                         return memory(*Url::Parse("memory://far"), options);
                       })
                  .ok());
  ClientOptions options;
  options.app = "shop";
  options.registry = "far://203.0.113.9:2181";
  auto client = Client::Create(options, registries);
  ASSERT_TRUE(client.ok()) << client.status();
  ASSERT_TRUE((*client)->provider().Export("tri://:50051/org.example.Greeter").ok());
  ASSERT_TRUE((*client)->Start(absl::Seconds(10)).ok());
  EXPECT_THAT((*client)->provider().registered().paths,
              Contains("/services/shop/198.51.100.10:50051"));
}

TEST_F(RegisteredAddressTest, SignpostProvideChoosesInTheSameOrder) {
  const std::string app = "--app=shop";
  const std::string registry = "--registry=embedded://" + testing::TempDir() + "/provide";
  EXPECT_EQ(Provided({}, {app, registry, "--address=0.0.0.0:50051"}), "shop/172.17.0.1:50051");
  EXPECT_EQ(Provided({"DUBBO_NETWORK_INTERFACE_IGNORED=docker.*"}, {app, registry, "--address=:1"}),
            "shop/192.0.2.10:1");
  EXPECT_EQ(
      Provided({"DUBBO_NETWORK_INTERFACE_PREFERRED=eth1"}, {app, registry, "--address=[::]:50051"}),
      "shop/198.51.100.10:50051");
  EXPECT_EQ(Provided({"DUBBO_NETWORK_INTERFACE_PREFERRED=eth1"},
                     {app, registry, "--address=192.0.2.77:50051"}),
            "shop/192.0.2.77:50051");
  EXPECT_EQ(Provided({"DUBBO_IP_TO_REGISTRY=203.0.113.50", "DUBBO_PORT_TO_REGISTRY=31000"},
                     {app, registry, "--address=192.0.2.10:50051"}),
            "shop/203.0.113.50:31000");
}

TEST_F(RegisteredAddressTest, SignpostProvideReadsAFile) {
  const std::string file = testing::TempDir() + "/shop.yaml";
  std::ofstream(file)
      << "dubbo:\n  application: {name: filed}\n  registry:\n    address: embedded://"
      << testing::TempDir() << "/filed\n  network.interface.preferred: eth1\n";
  EXPECT_EQ(Provided({"SIGNPOST_CONFIG=" + file}, {"--address=:50051"}),
            "filed/198.51.100.10:50051");
  EXPECT_EQ(Provided({"SIGNPOST_CONFIG=" + file, "DUBBO_NETWORK_INTERFACE_PREFERRED=eth0"},
                     {"--address=:50051", "--app=flagged"}),
            "flagged/192.0.2.10:50051");
}

TEST_F(RegisteredAddressTest, Ipv6) {
  if (!AddInterface("six0", "2001:db8::60/64 nodad") || !WaitForUp("2001:db8::60")) {
    GTEST_SKIP() << "no IPv6 here";
  }
  EXPECT_TRUE(Ip("-6 route add 2001:db8:9::/64 dev six0"));
  const std::string far = "zookeeper://[2001:db8:9::1]:2181";
  EXPECT_EQ(Registered({}, "tri://[::]:50051/a.B", far), "[2001:db8::60]:50051");
  EXPECT_EQ(Registered({}, "tri://0.0.0.0:50051/a.B", far), "172.17.0.1:50051");
  EXPECT_EQ(Provided({"DUBBO_NETWORK_INTERFACE_PREFERRED=six0"},
                     {"--app=shop", "--registry=embedded://" + testing::TempDir() + "/six",
                      "--address=[::]:50051"}),
            "shop/[2001:db8::60]:50051");
}

}  // namespace
}  // namespace signpost

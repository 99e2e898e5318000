// Both levels over a real ZooKeeper: what lies there, who finds whom, what a migration rule
// changes, and what one process does with several centres.
#include "tests/integration/dual_mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/client/client.h"
#include "signpost/common/url.h"
#include "tests/support/zookeeper_server.h"

namespace signpost {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

constexpr char kMigration[] =
    "/dubbo/config/DUBBO_SERVICEDISCOVERY_MIGRATION/demo-consumer.migration";

TEST_F(DualModeTest, WhatLiesThereAndWhoFindsWhom) {
  const struct {
    const char* mode;
    const char* interface;
    int port;
    bool application_level;
    bool interface_level;
  } kTable[] = {{"all", "a.All", 24001, true, true},
                {"instance", "a.Instance", 24002, true, false},
                {"interface", "a.Interface", 24003, false, true}};
  for (const auto& row : kTable) {
    SCOPED_TRACE(row.mode);
    const std::string app = absl::StrCat("app-", row.mode);
    const std::string address = absl::StrCat("127.0.0.1:", row.port);
    auto provider = Provide(app, absl::StrCat("tri://", address, "/", row.interface, "?methods=x"),
                            Registry(absl::StrCat("&register-mode=", row.mode)));
    const std::string folder = absl::StrCat("/dubbo/", row.interface);
    EXPECT_THAT(Children(*provider, "/services/" + app), SizeIs(row.application_level ? 1 : 0));
    const auto urls = Children(*provider, folder + "/providers");
    ASSERT_THAT(urls, SizeIs(row.interface_level ? 1 : 0));
    for (const std::string& name : urls) {
      const auto url = Url::ParseEncoded(name);
      ASSERT_TRUE(url.ok()) << name;
      EXPECT_EQ(url->protocol(), "tri");
      EXPECT_EQ(url->address(), address);
      EXPECT_EQ(url->Get("application"), app);
      EXPECT_EQ(url->Get("side"), "provider");
      EXPECT_TRUE(Node(*provider, absl::StrCat(folder, "/providers/", name)).session_bound);
    }
    for (const std::string mode : {"application", "interface", "dual"}) {
      SCOPED_TRACE(mode);
      const bool finds =
          mode == "dual" || (mode == "application" ? row.application_level : row.interface_level);
      {
        auto consumer = Open("demo-consumer", Registry("&mode=" + mode));
        auto directory = consumer->consumer().Refer(row.interface);
        ASSERT_TRUE(directory.ok());
        EXPECT_TRUE(Poll(kBound, [&] { return (*directory)->complete(); }));
        const absl::Status ready = (*directory)->WaitReady(finds ? kBound : absl::ZeroDuration());
        EXPECT_EQ(ready.ok(), finds) << ready;
        if (finds && ready.ok()) {
          auto pick = (*directory)->Pick(Request());
          ASSERT_TRUE(pick.ok()) << pick.status();
          EXPECT_EQ(pick->endpoint.address(), address);
          EXPECT_EQ(pick->endpoint->service->app, app);
          (*directory)->Done(*pick, CallOutcome());
        }
        const size_t seen = mode == "application" ? 0 : 1;
        EXPECT_TRUE(Poll(
            kBound, [&] { return Children(*provider, folder + "/consumers").size() == seen; }));
      }
      EXPECT_TRUE(Poll(kBound, [&] { return Children(*provider, folder + "/consumers").empty(); }));
    }
    provider->Shutdown(absl::ZeroDuration());
  }
  auto looks = Open("", Registry());
  for (const auto& row : kTable) {
    EXPECT_THAT(Children(*looks, absl::StrCat("/dubbo/", row.interface, "/providers")), IsEmpty());
    EXPECT_THAT(Children(*looks, absl::StrCat("/services/app-", row.mode)), IsEmpty());
  }
}

TEST_F(DualModeTest, ARuleSwitchesALiveConsumer) {
  auto provider =
      Provide("demo-java", "tri://127.0.0.1:24011/demo.GreetingService?methods=x", Registry());
  auto consumer = Open("demo-consumer", Registry());
  auto directory = *consumer->consumer().Refer("demo.GreetingService");
  ASSERT_TRUE(directory->WaitReady(kBound).ok());
  ASSERT_TRUE(HasLevel(*directory, "APPLICATION_FIRST: both levels serve"));
  Caller caller(*directory);
  const struct {
    const char* file;
    const char* why;
  } kTable[] = {{"migration-interface.yaml", "FORCE_INTERFACE: only"},
                {"migration-application.yaml", "FORCE_APPLICATION: only"},
                {"migration-one-service.yaml", "FORCE_INTERFACE: only"}};
  for (int round = 0; round < 3; ++round) {
    for (const auto& row : kTable) {
      SCOPED_TRACE(row.file);
      Write(*provider, kMigration, Captured(row.file));
      EXPECT_TRUE(HasLevel(*directory, row.why)) << directory->levels().front();
      // Interface-level addresses know no revision of an application's metadata.
      const bool by_interface = absl::StartsWith(row.why, "FORCE_INTERFACE");
      auto pick = directory->Pick(Request());
      ASSERT_TRUE(pick.ok()) << pick.status();
      EXPECT_EQ(pick->endpoint->service->revision.empty(), by_interface);
      directory->Done(*pick, CallOutcome());
    }
    Delete(*provider, kMigration);
    EXPECT_TRUE(HasLevel(*directory, "APPLICATION_FIRST")) << directory->levels().front();
  }
  caller.Stop();
  EXPECT_GT(caller.calls(), 0);
  EXPECT_EQ(caller.failures(), 0);
}
// TC-12. Metadata type remote; the document is written 3 s after the instance, as no provider of
// ours would do it.
TEST_F(DualModeTest, TheInterfaceLevelServesUntilMetadataAppears) {
  auto by_interface =
      Provide("old", "tri://127.0.0.1:24081/a.G?methods=x", Registry("&register-mode=interface"));
  auto writer = Open("", Registry());
  // What an application-level provider writes, taken from one of another registry.
  ZookeeperServer elsewhere;
  ASSERT_TRUE(elsewhere.Start().ok());
  auto sample =
      Provide("shop", "tri://127.0.0.1:24082/a.G?methods=x",
              absl::StrCat("zookeeper://", elsewhere.address(), "?register-mode=instance"));
  const std::string revision = sample->provider().registered().revision;
  ASSERT_FALSE(revision.empty());
  const std::string node = Node(*sample, "/services/shop/127.0.0.1:24082").value;
  const std::string document = Node(*sample, absl::StrCat("/dubbo/metadata/shop/", revision)).value;
  ASSERT_FALSE(node.empty());
  ASSERT_FALSE(document.empty());
  Write(*writer, "/dubbo/mapping/a.G", "shop");
  Write(*writer, "/services/shop/127.0.0.1:24082", node);
  auto consumer = Open("web", Registry());
  auto directory = *consumer->consumer().Refer("a.G");
  ASSERT_TRUE(directory->WaitReady(kBound).ok());
  const auto served_by = [&] {
    auto pick = directory->Pick(Request());
    if (!pick.ok()) return std::string(pick.status().message());
    const std::string address = pick->endpoint.address();
    directory->Done(*pick, CallOutcome());
    return address;
  };
  EXPECT_EQ(served_by(), "127.0.0.1:24081");
  Caller caller(*directory);
  // The consumer has looked for it in vain.
  EXPECT_TRUE(Poll(kBound, [&] {
    const auto levels = directory->levels();
    return !levels.empty() && absl::StrContains(levels.front(), revision);
  }));
  EXPECT_EQ(served_by(), "127.0.0.1:24081");
  Write(*writer, absl::StrCat("/dubbo/metadata/shop/", revision), document);
  EXPECT_TRUE(Poll(kBound, [&] { return served_by() == "127.0.0.1:24082"; })) << served_by();
  caller.Stop();
  EXPECT_EQ(caller.failures(), 0);
}

TEST_F(DualModeTest, OfflineAndOnlineAreOfBothLevels) {
  auto provider = Provide("shop", "tri://127.0.0.1:24041/a.C?methods=x", Registry());
  auto by_interface = Open("web", Registry("&mode=interface"));
  auto by_application = Open("web", Registry("&mode=application"));
  std::vector<std::shared_ptr<Directory>> directories;
  for (Client* client : {by_interface.get(), by_application.get()}) {
    directories.push_back(*client->consumer().Refer("a.C"));
    ASSERT_TRUE(directories.back()->WaitReady(kBound).ok());
  }
  CallOptions options;
  options.timeout = kBound;
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(provider->provider().Offline(options).ok());
    EXPECT_THAT(Children(*provider, "/dubbo/a.C/providers"), IsEmpty());
    for (const auto& directory : directories) {
      EXPECT_TRUE(Poll(kBound, [&] { return directory->addresses()->empty(); }));
      EXPECT_FALSE(directory->Pick(Request()).ok());
    }
    ASSERT_TRUE(provider->provider().Online(options).ok());
    EXPECT_THAT(Children(*provider, "/dubbo/a.C/providers"), SizeIs(1));
    for (const auto& directory : directories) EXPECT_TRUE(directory->WaitReady(kBound).ok());
  }
}

TEST_F(DualModeTest, OneCentreAskedTwiceIsOneSessionAndOneRegistration) {
  auto provider = Provide("shop", "tri://127.0.0.1:24051/a.D?methods=x",
                          absl::StrCat(Registry(), "|", Registry("&mode=application")));
  EXPECT_TRUE(Poll(kBound, [&] { return server_.Sessions() == 1; })) << server_.Sessions();
  EXPECT_THAT(Children(*provider, "/services/shop"), ElementsAre("127.0.0.1:24051"));
  EXPECT_THAT(Children(*provider, "/dubbo/a.D/providers"), SizeIs(1));
  auto directory = *provider->consumer().Refer("a.D");
  ASSERT_TRUE(directory->WaitReady(kBound).ok());
  EXPECT_THAT(directory->levels(), SizeIs(1));
}

// TC-52.
TEST_F(DualModeTest, CentresOfOneProcess) {
  ZookeeperServer second;
  ASSERT_TRUE(second.Start().ok());
  auto first_group = Provide("one", "tri://127.0.0.1:24061/a.E?methods=x", Registry());
  auto other_group = Provide("two", "tri://127.0.0.1:24062/a.E?methods=x", Registry("&group=g2"));
  // Each of the two is at most one of its sessions.
  const int before = 2;
  ASSERT_TRUE(Poll(kBound, [&] { return server_.Sessions() == before; })) << server_.Sessions();
  auto client =
      Open("web", absl::StrCat(Registry(), "|", Registry("&backup=" + second.address()), "|",
                               Registry("&group=g2"), "|", Registry("&timestamp=2")));
  auto directory = *client->consumer().Refer("a.E");
  ASSERT_TRUE(directory->WaitReady(kBound).ok());
  // The first and the fourth share one.
  EXPECT_TRUE(Poll(kBound, [&] { return server_.Sessions() + second.Sessions() == before + 3; }))
      << server_.Sessions() << " and " << second.Sessions();
  // Who asks one group alone never sees the other one.
  for (const auto& [more, address] : std::vector<std::pair<std::string, std::string>>{
           {"", "127.0.0.1:24061"}, {"&group=g2", "127.0.0.1:24062"}}) {
    auto alone = Open("web", Registry(more));
    auto found = *alone->consumer().Refer("a.E");
    ASSERT_TRUE(found->WaitReady(kBound).ok());
    ASSERT_TRUE(Poll(kBound, [&] { return found->complete(); }));
    for (int i = 0; i < 20; ++i) {
      auto pick = found->Pick(Request());
      ASSERT_TRUE(pick.ok()) << pick.status();
      EXPECT_EQ(pick->endpoint.address(), address);
      found->Done(*pick, CallOutcome());
    }
  }
  // The first node goes: the second URL's session moves to the other node, and only that one.
  const int at_second = second.Sessions();
  server_.Kill();
  EXPECT_TRUE(Poll(2 * kBound, [&] { return second.Sessions() == 1; }))
      << second.Sessions() << ", before " << at_second;
  // The lists of those that are gone stay, so calls go on to what they had.
  std::set<std::string> addresses;
  directory->addresses()->ForEach(
      [&](const Endpoint& endpoint) { addresses.insert(endpoint.address()); });
  EXPECT_THAT(addresses, UnorderedElementsAre("127.0.0.1:24061", "127.0.0.1:24062"));
}

TEST_F(DualModeTest, ABackupTakesOver) {
  ZookeeperServer second;
  ASSERT_TRUE(second.Start().ok());
  auto provider = Provide("shop", "tri://127.0.0.1:24071/a.F?methods=x",
                          Registry("&backup=" + second.address()));
  server_.Kill();
  // TC-52: another server that knows nothing: everything is written anew, at both levels.
  auto looks = Open("", absl::StrCat("zookeeper://", second.address(), "?session=4000"));
  EXPECT_TRUE(Poll(2 * kBound, [&] {
    return Children(*looks, "/services/shop").size() == 1 &&
           Children(*looks, "/dubbo/a.F/providers").size() == 1;
  }));
}

}  // namespace
}  // namespace signpost

// The application level on a real ZooKeeper server: one instance, whatever happened meanwhile.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/await.h"
#include "signpost/metadata/metadata_resolver.h"
#include "signpost/registry/application/application_registry.h"
#include "signpost/registry/store/store_centre.h"
#include "signpost/registry/zookeeper/zookeeper_store.h"
#include "tests/registry/zookeeper/zookeeper_test.h"
#include "tests/support/tcp_proxy.h"

namespace signpost {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(40);

class ZookeeperApplicationTest : public ZookeeperTest {
 protected:
  struct Process {
    std::unique_ptr<RegistryCentre> centre;
    EndpointTable table;
    std::unique_ptr<MetadataResolver> resolver;
    std::unique_ptr<ApplicationRegistry> registry;
  };
  std::unique_ptr<Process> Start(const std::string& address) {
    auto process = std::make_unique<Process>();
    CentreOptions centre_options;
    centre_options.executor = executor_;
    auto centre = OpenZookeeperCentre(
        *Url::Parse(absl::StrCat("zookeeper://", address, "?session=4000&group=", Root())),
        centre_options);
    EXPECT_TRUE(centre.ok()) << centre.status();
    process->centre = *std::move(centre);
    process->resolver = std::make_unique<MetadataResolver>(
        *executor_, &process->centre->metadata_report(),
        std::vector<std::unique_ptr<MetadataFetcher>>(), MetadataResolver::Options());
    ApplicationRegistryOptions options;
    options.app = "shop";
    process->registry = std::make_unique<ApplicationRegistry>(
        *executor_, *process->centre, process->table, *process->resolver, options);
    return process;
  }

  // TC-47: cut off, an override makes U2 of U1; `new_session`: for longer than the session lives.
  void ChangeWhileCutOff(bool new_session) {
    const std::string u1 = "tri://192.0.2.1:1/a.A?side=provider&weight=1";
    const std::string u2 = "tri://192.0.2.1:1/a.A?side=provider&weight=2";
    TcpProxy proxy(g_server->port());
    auto provider = Start(proxy.address());
    CallOptions options;
    options.timeout = kPatience;
    ASSERT_TRUE(Await(kPatience, [&](auto done) {
                  provider->registry->Register(*Url::Parse(u1), options, std::move(done));
                }).ok());
    Seen gap(provider->centre->store(), Root() + "/shop");
    const std::string session = g_server->SessionOf(proxy.upstream_port());
    proxy.Break();
    ASSERT_EQ(gap.WaitForEvent(SessionEvent::kDisconnected).back(), SessionEvent::kDisconnected);
    Waiter<absl::Status> added;
    Waiter<absl::Status> removed;
    provider->registry->Register(*Url::Parse(u2), options, added.Callback());
    provider->registry->Unregister(*Url::Parse(u1), options, removed.Callback());
    if (new_session) {
      ASSERT_TRUE(g_server->WaitForEndOf(session, kPatience));
    }
    proxy.Restore();
    EXPECT_TRUE(added.Wait(kPatience).ok());
    EXPECT_TRUE(removed.Wait(kPatience).ok());
    bool is_new = false;
    for (const SessionEvent event : gap.events()) {
      is_new = is_new || event == SessionEvent::kNewSession;
    }
    EXPECT_EQ(is_new, new_session);

    Store& store = Open();
    const auto instance = Get(store, Root() + "/shop/192.0.2.1:1");
    ASSERT_TRUE(instance.ok()) << instance.status();
    EXPECT_TRUE(instance->session_bound);
    Seen seen(store, Root() + "/shop");
    EXPECT_EQ(seen.WaitFor({{"192.0.2.1:1", instance->value}}).size(), 1u);
    const std::string revision = provider->registry->registered().revision;
    EXPECT_TRUE(absl::StrContains(instance->value, revision)) << instance->value;
    const auto document = Get(store, absl::StrCat(Root(), "/metadata/shop/", revision));
    ASSERT_TRUE(document.ok()) << document.status();
    EXPECT_TRUE(absl::StrContains(document->value, "\"weight\":\"2\"")) << document->value;
  }
};

// TC-47
TEST_F(ZookeeperApplicationTest, AChangeInAGapOfTheSameSessionEndsInOneInstance) {
  ChangeWhileCutOff(/*new_session=*/false);
}

// TC-47
TEST_F(ZookeeperApplicationTest, AChangeWhileTheSessionEndsEndsInOneInstance) {
  ChangeWhileCutOff(/*new_session=*/true);
}

}  // namespace
}  // namespace signpost

// The conformance suite of Store on a real ZooKeeper server.
#include "signpost/registry/zookeeper/zookeeper_store.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/conformance/store_suite.h"
#include "tests/registry/zookeeper/zookeeper_test.h"
#include "tests/support/tcp_proxy.h"

namespace signpost {
namespace {

class ZookeeperFixture final : public StoreFixture {
 public:
  ZookeeperFixture() {
    static std::atomic<int> count{0};
    root_ = absl::StrCat("/suite", ++count);
  }

  std::unique_ptr<Store> Open(std::shared_ptr<Executor> executor) override {
    auto proxy = std::make_unique<TcpProxy>(g_server->port());
    auto url = Url::Parse(absl::StrCat("zookeeper://", proxy->address(), "?session=4000"));
    EXPECT_TRUE(url.ok()) << url.status();
    auto store = OpenZookeeperStore(*url, std::move(executor));
    EXPECT_TRUE(store.ok()) << store.status();
    proxies_[store->get()] = std::move(proxy);
    return *std::move(store);
  }

  std::string root() override { return root_; }

  // Nothing of the handle reaches the server until that has ended the session.
  bool ExpireSession(Store& store) override {
    TcpProxy& proxy = *proxies_[&store];
    // Handles connect by themselves.
    std::string session;
    for (int i = 0; i < 200 && session.empty(); ++i) {
      session = g_server->SessionOf(proxy.upstream_port());
      if (session.empty()) poll(nullptr, 0, 50);
    }
    EXPECT_FALSE(session.empty());
    proxy.Break();
    const bool ended = !session.empty() && g_server->WaitForEndOf(session, absl::Seconds(30));
    proxy.Restore();
    EXPECT_TRUE(ended);
    return ended;
  }

  bool Restart() override { return g_server->Stop().ok() && g_server->Start().ok(); }

  // When it has come to rest: what was cancelled is taken back a little later.
  int WatchCount() override {
    return AtRest([] { return g_server->Watches(); });
  }

 private:
  // What `count` says once it has said it six times in a row.
  static int AtRest(const std::function<int()>& count) {
    int last = -1;
    for (int i = 0, same = 0; i < 200 && same < 5; ++i) {
      const int now = count();
      same = now == last ? same + 1 : 0;
      last = now;
      poll(nullptr, 0, 50);
    }
    return last;
  }

  std::string root_;
  std::map<const Store*, std::unique_ptr<TcpProxy>> proxies_;
};

StoreSuiteParam Param() {
  StoreSuiteParam param;
  param.name = "zookeeper";
  param.make = [] { return std::make_unique<ZookeeperFixture>(); };
  param.parents_are_keys = true;
  param.too_large = 1100000;
  return param;
}

INSTANTIATE_TEST_SUITE_P(Zookeeper, StoreSuite, testing::Values(Param()));

}  // namespace
}  // namespace signpost

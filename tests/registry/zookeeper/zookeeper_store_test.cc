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

  // Nothing reaches the server until it has ended the session.
  bool ExpireSession(Store& store) override {
    // Handles connect by themselves: first all of them have to be there.
    const int before = AtRest([] { return g_server->Sessions(); });
    proxies_[&store]->Break();
    // Longer than the session of 4 s lives: fewer sessions alone may mean that another one ended.
    for (int i = 0; i < 60; ++i) poll(nullptr, 0, 100);
    const bool ended = g_server->WaitForSessions(before - 1, absl::Seconds(30));
    proxies_[&store]->Restore();
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

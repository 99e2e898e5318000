// What the tests of the registry server share: a server in this process on a centre in memory,
// calls that wait.
#ifndef SIGNPOST_TESTS_REGISTRY_SERVER_SERVER_TEST_H_
#define SIGNPOST_TESTS_REGISTRY_SERVER_SERVER_TEST_H_

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "signpost/common/executor.h"
#include "signpost/common/url.h"
#include "signpost/registry/server/registry_server.h"
#include "signpost/registry/server/server_store.h"
#include "signpost/registry/store/key_value.h"
#include "signpost/registry/store/local_centre.h"
#include "tests/conformance/store_handle.h"
#include "tests/support/loopback.h"
#include "tests/support/raw_connection.h"

namespace signpost {

inline std::shared_ptr<LocalCentre> NewCentre() {
  LocalCentre::Options options;
  options.name = "test";
  return std::make_shared<LocalCentre>(std::make_unique<MapKeyValue>(), std::move(options));
}

inline std::unique_ptr<RegistryServer> StartServer(std::shared_ptr<LocalCentre> centre,
                                                   RegistryServerOptions options = {},
                                                   uint16_t port = 0) {
  options.port = port;
  auto server = RegistryServer::Start(std::move(centre), std::move(options));
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? *std::move(server) : nullptr;
}

// Opens `signpost://<address>?<parameters>`, as the Handles of the suite want it.
class AddressFixture final : public StoreFixture {
 public:
  explicit AddressFixture(std::string address, std::string parameters = "session=20000")
      : url_(absl::StrCat("signpost://", address, "?", parameters)) {}
  std::unique_ptr<Store> Open(std::shared_ptr<Executor> executor) override {
    const auto url = Url::Parse(url_);
    EXPECT_TRUE(url.ok()) << url.status();
    auto store = OpenServerStore(*url, std::move(executor));
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  bool ExpireSession(Store&) override { return false; }

 private:
  const std::string url_;
};

// Until `good()`; at most 20 s.
inline bool WaitUntil(const std::function<bool()>& good) {
  const absl::Duration end = Clock::Real().MonotonicNow() + absl::Seconds(20);
  while (!good()) {
    if (Clock::Real().MonotonicNow() > end) return false;
    poll(nullptr, 0, 10);
  }
  return true;
}

inline bool Has(const std::vector<SessionEvent>& events, SessionEvent event) {
  return std::find(events.begin(), events.end(), event) != events.end();
}

}  // namespace signpost

#endif  // SIGNPOST_TESTS_REGISTRY_SERVER_SERVER_TEST_H_

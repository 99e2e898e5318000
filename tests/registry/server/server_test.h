// What the tests of the registry server share: a server in this process on a centre in memory,
// calls that wait, and raw connections to its port.
#ifndef SIGNPOST_TESTS_REGISTRY_SERVER_SERVER_TEST_H_
#define SIGNPOST_TESTS_REGISTRY_SERVER_SERVER_TEST_H_

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

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
#include "tests/conformance/store_suite.h"
#include "tests/support/loopback.h"

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

// Bytes to and from a port of the loopback.
class RawConnection {
 public:
  explicit RawConnection(uint16_t port) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = Loopback(port);
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~RawConnection() { close(fd_); }

  bool connected() const { return connected_; }
  bool Send(const std::string& bytes) {
    return send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  // Whether the other end closes within `timeout`, whatever it says before.
  bool Closed(absl::Duration timeout = absl::Seconds(20)) {
    const absl::Duration end = Clock::Real().MonotonicNow() + timeout;
    for (;;) {
      const absl::Duration left = end - Clock::Real().MonotonicNow();
      if (left <= absl::ZeroDuration()) return false;
      pollfd waiting{fd_, POLLIN, 0};
      if (poll(&waiting, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1) <= 0) continue;
      char buffer[4096];
      if (read(fd_, buffer, sizeof(buffer)) <= 0) return true;
    }
  }

 private:
  int fd_ = -1;
  bool connected_ = false;
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_REGISTRY_SERVER_SERVER_TEST_H_

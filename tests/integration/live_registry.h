// A real registry server that a test kills, starts again and empties: ZooKeeper or `signpost
// serve`, the same for both.
//
// Threads: the test's thread.
#ifndef SIGNPOST_TESTS_INTEGRATION_LIVE_REGISTRY_H_
#define SIGNPOST_TESTS_INTEGRATION_LIVE_REGISTRY_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace signpost {

// Sanitizers make everything slow; the bounds of a test have this room for it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kSlowness = 3;
#else
inline constexpr int kSlowness = 1;
#endif

// Counted things by name.
using Usage = std::map<std::string, int>;

// Threads and descriptors of a process.
Usage UsageOf(pid_t process);

// Whether `good` holds within `timeout`; looks every 20 ms.
bool Poll(absl::Duration timeout, const std::function<bool()>& good);

class LiveRegistry {
 public:
  // `kind`: zookeeper or signpost.
  static std::unique_ptr<LiveRegistry> Make(const std::string& kind);
  virtual ~LiveRegistry() = default;  // stops it

  // Returns when it serves; after Kill at the same port, with the same data.
  virtual absl::Status Start() = 0;
  // SIGKILL; returns when the process has gone.
  virtual void Kill() = 0;
  // Removes all data. REQUIRES: killed.
  virtual void Wipe() = 0;
  virtual uint16_t port() const = 0;
  // What its clients cost it now.
  virtual Usage ClientUsage() = 0;

  // A registry URL with sessions of `session`; by `port` in place of its own if not 0.
  std::string Url(absl::Duration session, uint16_t port = 0) const;

 protected:
  explicit LiveRegistry(std::string scheme) : scheme_(std::move(scheme)) {}

 private:
  const std::string scheme_;
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_INTEGRATION_LIVE_REGISTRY_H_

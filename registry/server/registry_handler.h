// What the registry server answers. Private to this folder.
//
// Threads: any, as Thrift calls it. Errors: as registry.thrift; only declared exceptions leave it.
#ifndef SIGNPOST_REGISTRY_SERVER_REGISTRY_HANDLER_H_
#define SIGNPOST_REGISTRY_SERVER_REGISTRY_HANDLER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "signpost/common/executor.h"
#include "signpost/common/mutex.h"
#include "signpost/registry/server/lease.h"
#include "signpost/registry/server/registry_server.h"
#include "signpost/registry/server/wire.h"
#include "signpost/registry/store/local_centre.h"

namespace signpost::server_internal {

class RegistryHandler final : public server_wire::RegistryServiceIf,
                              public std::enable_shared_from_this<RegistryHandler> {
 public:
  RegistryHandler(std::shared_ptr<LocalCentre> centre, const RegistryServerOptions& options,
                  std::shared_ptr<Executor> timers);
  ~RegistryHandler() override;

  void open(server_wire::Opened& opened, int32_t version, int64_t ttl_ms) override;
  void close(int64_t session) override;
  void get(server_wire::Value& value, int64_t session, const std::string& key) override;
  int64_t put(int64_t session, const std::string& key, const std::string& value) override;
  int64_t bind(int64_t session, const std::string& key, const std::string& value) override;
  int64_t compareAndSet(int64_t session, const std::string& key, const std::string& value,
                        int64_t expected) override;
  void remove(int64_t session, const std::string& key, int64_t expected) override;
  bool exists(int64_t session, const std::string& key) override;
  void children(std::vector<server_wire::Child>& children, int64_t session,
                const std::string& prefix) override;
  void watch(int64_t session, int64_t watch, bool tree, const std::string& key) override;
  void unwatch(int64_t session, int64_t watch) override;
  void poll(std::vector<server_wire::Event>& events, int64_t session, int64_t acknowledged,
            int64_t wait_ms, bool fetch) override;

  // Every few seconds while this lives: keys of ended sessions that a full disk kept go, though
  // nobody writes.
  void DropEndedLater();

  size_t session_count() const;
  // All sessions end, what they have bound is left behind; no new ones.
  void Stop();

 private:
  class Place;
  struct Leases {
    Mutex mutex;
    bool stopped ABSL_GUARDED_BY(mutex) = false;
    size_t opening ABSL_GUARDED_BY(mutex) = 0;  // on their way into by_session
    std::map<int64_t, std::shared_ptr<Lease>> by_session ABSL_GUARDED_BY(mutex);
  };

  std::shared_ptr<Lease> Find(int64_t session) const;

  const std::shared_ptr<LocalCentre> centre_;
  const RegistryServerOptions options_;
  const std::shared_ptr<Executor> timers_;
  const std::shared_ptr<Leases> leases_ = std::make_shared<Leases>();
};

}  // namespace signpost::server_internal

#endif  // SIGNPOST_REGISTRY_SERVER_REGISTRY_HANDLER_H_

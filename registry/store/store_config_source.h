// ConfigSource on a Store: /<config root>/<group>/<key>.
//
// Threads, ownership, errors: as ConfigSource.
#ifndef SIGNPOST_REGISTRY_STORE_STORE_CONFIG_SOURCE_H_
#define SIGNPOST_REGISTRY_STORE_STORE_CONFIG_SOURCE_H_

#include <memory>
#include <string>
#include <utility>

#include "signpost/common/config_source.h"
#include "signpost/registry/store/store.h"

namespace signpost {

class StoreConfigSource final : public ConfigSource {
 public:
  // `root`: without a slash at its end.
  StoreConfigSource(std::shared_ptr<Store> store, std::string root)
      : store_(std::move(store)), root_(std::move(root)) {}

  void Get(const ConfigKey& key, const CallOptions& options, ItemCallback done) override;
  Subscription Watch(const ConfigKey& key, WatchCallback on_change) override;
  void Put(const ConfigKey& key, std::string text, int64_t expected_version,
           const CallOptions& options, DoneCallback done) override;
  void Delete(const ConfigKey& key, int64_t expected_version, const CallOptions& options,
              DoneCallback done) override;
  std::string PathOf(const ConfigKey& key) const override;

 private:
  const std::shared_ptr<Store> store_;
  const std::string root_;
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_STORE_STORE_CONFIG_SOURCE_H_
